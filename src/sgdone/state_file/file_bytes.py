"""The bytes of a file in the safetensors format, read only as far as its header says; and what is wrong with others."""

import json
import os
import stat
from pathlib import Path
from typing import BinaryIO, NoReturn

from sgdone.readers.table import shortened
from sgdone.state_file.file_format import FileFormat

#: Eight bytes of length and an empty header; and what safetensors allows a header to be.
_SMALLEST, LONGEST_HEADER = 10, 100_000_000


def read_bytes(name: str | os.PathLike[str], form: FileFormat) -> bytes:
    """All bytes of a regular file: a pipe would be waited for, and a device read to the end of memory."""
    path = Path(name)
    try:
        # Without waiting for the other end of a pipe; what was opened is examined, so that it cannot be exchanged.
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise form.error(f"{path}: is a pipe, socket or device: give a regular file")
            data = _bytes_announced(file, status.st_size)
    except form.error:
        raise
    except FileNotFoundError:
        raise form.error(f"{path}: there is no such file: give one {form.made_by}") from None
    except OSError as error:
        raise form.error(_unreadable(path, form, error)) from error
    except ValueError as error:
        raise form.error(f"{str(path)!r}: is no name of a file ({error})") from error
    except MemoryError as error:
        size = path.stat().st_size
        raise form.error(f"{path}: has {size:,} bytes, more than fit into memory: use a larger machine") from error
    if not data:
        raise form.error(f"{path}: is empty, not a {form.what}: {form.again}")
    return data


def header_of(data: bytes) -> bytes:
    """The JSON after the eight bytes that tell its length."""
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def refuse_broken(path: str | os.PathLike[str], data: bytes, form: FileFormat, error: Exception) -> NoReturn:
    """Tell a file cut short from one that never was of the format."""
    if len(data) < _SMALLEST:
        raise form.error(f"{path}: holds {len(data)} bytes only, too few for a {form.holds}: {form.again}") from error
    start = 8 + int.from_bytes(data[:8], "little")
    if data[8:9] != b"{" or start > LONGEST_HEADER:
        found = f"it begins with {data[:12]!r}"
        raise form.error(f"{path}: is not a {form.what} ({found}): give one {form.made_by}") from error
    expected = _expected_size(data, start)
    if len(data) < expected:
        raise form.error(f"{path}: is cut short, {len(data):,} bytes of {expected:,} or more: {form.again}") from error
    raise form.error(f"{path}: is damaged ({shortened(str(error), 300)}): {form.again}") from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _bytes_announced(file: BinaryIO, size: int) -> bytes:
    """The bytes of a file, but only its beginning if its size is not the one that its header announces."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if length > LONGEST_HEADER:
        return start + file.read(_SMALLEST)
    start += file.read(length)
    expected = _expected_size(start, len(start))
    wanted = max(_SMALLEST, min(expected, size) - len(start) + 1)
    file.seek(0)  # joining two parts would copy a large file
    return file.read(len(start) + wanted)


def _unreadable(path: Path, form: FileFormat, error: OSError) -> str:
    if isinstance(error, (IsADirectoryError, PermissionError)) and path.is_dir():
        return f"{path}: is a folder, not a {form.what}: give the name of a file in it"
    return f"{path}: cannot be read ({error.strerror}): check its name and its permissions"


def _expected_size(data: bytes, start: int) -> int:
    """Size of the file according to its header, which ends at ``start``."""
    try:
        header = json.loads(header_of(data))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        return start + max(map(int, ends), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return start
