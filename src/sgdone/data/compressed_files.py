"""Files as streams of bytes, unpacked by what they hold rather than by what they are called."""

import bz2
import difflib
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sgdone.data.table import DataError

#: Suffixes that say nothing about the format inside.
COMPRESSED = frozenset({".gz", ".bz2", ".xz"})

_OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_UNSUPPORTED = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "compressed with zstd"}


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, unpacking gzip, bzip2 and xz; failures become :class:`DataError`."""
    try:
        opener = _opener(path)
        with opener(path, "rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file{_similar(path)}") from error
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: cannot be unpacked ({error}): the file is cut off or damaged") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def is_compressed(path: Path) -> bool:
    """Whether :func:`opened` unpacks the file."""
    with path.open("rb") as stream:
        return _magic(stream.read(6), _OPENERS) is not None


def format_suffix(path: Path) -> str:
    """Suffix in lower case, less that of a compression.

    Examples
    --------
    >>> format_suffix(Path("train.CSV.gz"))
    '.csv'
    """
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return inner.suffix.lower()


def _opener(path: Path) -> Callable[..., Any]:
    if path.exists() and not path.is_file():
        found = "a folder" if path.is_dir() else "a pipe or device, which cannot be read twice"
        raise DataError(f"{path}: is {found}; give a file")
    with path.open("rb") as stream:
        head = stream.read(6)
    unsupported = _magic(head, _UNSUPPORTED)
    if unsupported is not None:
        raise DataError(f"{path}: is {unsupported}: unpack it first (gzip, bzip2 and xz are read as is)")
    return _magic(head, _OPENERS) or open


def _magic(head: bytes, known: dict[bytes, Any]) -> Any:
    return next((value for start, value in known.items() if head.startswith(start)), None)


def _similar(path: Path) -> str:
    if not path.parent.is_dir():
        return f" (nor is there a folder {path.parent})"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else ""
