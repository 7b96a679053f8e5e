"""Places of data files, and of rows in them, as messages name them.

A file is in a folder, on standard input, or at an address of a remote file system. A row is at a line or number of a
file: "clicks.csv, line 18".
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

#: The name of standard input.
STANDARD_INPUT = Path("-")


@final
@dataclass(frozen=True)
class RemoteFile:
    """A file of a remote file system, by its address and options: ``s3://clicks/day-1.csv?region=eu-west-1``."""

    address: str

    @property
    def name(self) -> str:
        """The last part of the address, without options."""
        return PurePosixPath(self.without_options()[0]).name

    def without_options(self) -> tuple[str, str]:
        """The address, and what follows it: a question mark and options, or nothing."""
        plain, _, options = self.address.rpartition("?")
        return (plain, f"?{options}") if plain and "=" in options else (self.address, "")

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
    """A place as messages name it."""
    return "standard input" if place == STANDARD_INPUT else str(place)


#: Maps a row, counted from 0, to its place: "line 18" or "row 17", or with the file before it. Those of tables that are
#: read in parts can be sent to other processes.
Place = Callable[[int], str]
#: Numbers of rows: consecutive, or one a row.
Numbers = range | NDArray[np.int64]


def numbered(unit: str, numbers: Numbers) -> Place:
    """Places of rows by their numbers: "line 1,002"."""
    return partial(_numbered, unit, numbers)


def in_file(path: Location, place: Place) -> Place:
    """Places with the name of the file."""
    return partial(_in_file, shown(path), place)


def places_among(place: Place, rows: NDArray[Any] | range) -> Place:
    """Places of some of the rows."""
    return partial(_among, place, rows)


def joined_places(places: Sequence[Place | None], sizes: Sequence[int]) -> Place | None:
    """Places of the rows of several tables, one table after the other; None if one has none."""
    known = [place for place in places if place is not None]
    return partial(_joined, known, [0, *accumulate(sizes)]) if len(known) == len(places) else None


def _numbered(unit: str, numbers: Numbers, row: int) -> str:
    return f"{unit} {numbers[row]:,}"


def _in_file(name: str, place: Place, row: int) -> str:
    return f"{name}, {place(row)}"


def _among(place: Place, rows: NDArray[Any] | range, row: int) -> str:
    return place(int(rows[row]))


def _joined(places: Sequence[Place], firsts: Sequence[int], row: int) -> str:
    part = bisect_right(firsts, row) - 1
    return places[part](row - firsts[part])
