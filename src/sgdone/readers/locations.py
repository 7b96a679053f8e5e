"""Where a data file is: in a folder, on standard input, or at an address of a remote file system."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, final

import pyarrow as pa

#: The name of standard input.
STANDARD_INPUT = Path("-")


@final
@dataclass(frozen=True)
class RemoteFile:
    """A file of a remote file system, by its address; options may follow a question mark.

    Examples
    --------
    >>> file = RemoteFile("s3://clicks/2026/day-1.csv.gz?region=eu-west-1")
    >>> file.name, file.suffix, str(file)
    ('day-1.csv.gz', '.gz', 's3://clicks/2026/day-1.csv.gz?region=eu-west-1')
    """

    address: str

    @property
    def name(self) -> str:
        """The last part of the address, without options."""
        return PurePosixPath(self.without_options()[0]).name

    def without_options(self) -> tuple[str, str]:
        """The address, and what follows it: a question mark and options, or nothing."""
        plain, _, options = self.address.rpartition("?")
        return (plain, f"?{options}") if plain and "=" in options else (self.address, "")

    @property
    def suffix(self) -> str:
        """The extension."""
        return PurePosixPath(self.name).suffix

    def with_suffix(self, suffix: str) -> PurePosixPath:
        """The name with another extension."""
        return PurePosixPath(self.name).with_suffix(suffix)

    def file_system(self) -> tuple[Any, str]:
        """The file system of pyarrow that has the file, and the path of the file there; failures are OSErrors."""
        from pyarrow import fs

        try:
            found: tuple[Any, str] = fs.FileSystem.from_uri(self.address)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise OSError(str(error)) from error
        return found

    def __str__(self) -> str:
        return self.address


Location = Path | RemoteFile


def shown(place: Location) -> str:
    """A place as messages name it.

    Examples
    --------
    >>> shown(Path("-")), shown(Path("t.csv"))
    ('standard input', 't.csv')
    """
    return "standard input" if place == STANDARD_INPUT else str(place)
