"""Opening of files, decompressed according to their content rather than their name."""

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

#: Extensions of compressed files, ignored when the format is inferred.
COMPRESSED = frozenset({".gz", ".bz2", ".xz"})

_OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_UNSUPPORTED = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "compressed with zstd"}


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressing gzip, bzip2 and xz. Failures raise :class:`DataError`."""
    try:
        opener = _opener(path)
        with opener(path, "rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file{_similar(path)}") from error
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: cannot be decompressed ({error}): the file is truncated or damaged") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def is_compressed(path: Path) -> bool:
    """Whether :func:`opened` decompresses the file."""
    with path.open("rb") as stream:
        return _magic(stream.read(6), _OPENERS) is not None


def format_suffix(path: Path) -> str:
    """Extension in lower case, without that of the compression.

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
        raise DataError(f"{path}: is {found}; give a regular file")
    with path.open("rb") as stream:
        head = stream.read(6)
    unsupported = _magic(head, _UNSUPPORTED)
    if unsupported is not None:
        raise DataError(f"{path}: is {unsupported}: decompress it first (only gzip, bzip2 and xz are supported)")
    return _magic(head, _OPENERS) or open


def _magic(head: bytes, known: dict[bytes, Any]) -> Any:
    return next((value for start, value in known.items() if head.startswith(start)), None)


def _similar(path: Path) -> str:
    if not path.parent.is_dir():
        return f" (the folder {path.parent} does not exist)"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else ""
