"""The file: tensors and a text in the safetensors format, written atomically and checked completely."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from sgdone._version import __version__
from sgdone.machine.atomic import write_atomically
from sgdone.readers.table import shortened
from sgdone.state_file.file_format import FileFormat

#: Eight bytes of length and an empty header; and what safetensors allows a header to be.
_SMALLEST, LONGEST_HEADER = 10, 100_000_000


def read_bytes(name: str | os.PathLike[str], form: FileFormat) -> bytes:
    """All bytes of a regular file; others are refused: reading a pipe may wait for ever, and a device never ends."""
    path = Path(name)
    try:
        # Without waiting for the other end of a pipe; what was opened is examined, so that it cannot be exchanged.
        flag = getattr(os, "O_NONBLOCK", 0)
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flag)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise form.error(f"{path}: is a pipe, socket or device: give a regular file")
            data = _bytes_announced(file, status.st_size)
    except form.error:
        raise
    except FileNotFoundError:
        raise form.error(f"{path}: there is no such file: give one {form.made_by}") from None
    except OSError as error:
        if isinstance(error, (IsADirectoryError, PermissionError)) and path.is_dir():
            raise form.error(f"{path}: is a folder, not a {form.what}: give the name of a file in it") from error
        raise form.error(f"{path}: cannot be read ({error.strerror}): check its name and its permissions") from error
    except ValueError as error:
        raise form.error(f"{str(path)!r}: is no name of a file ({error})") from error
    except MemoryError as error:
        size = path.stat().st_size
        raise form.error(f"{path}: has {size:,} bytes, more than fit into memory: use a larger machine") from error
    if not data:
        raise form.error(f"{path}: is empty, not a {form.what}: {form.again}")
    return data


def header_of(data: bytes) -> bytes:
    """The JSON header, after the eight bytes with its length."""
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def refuse_broken(path: str | os.PathLike[str], data: bytes, form: FileFormat, error: Exception) -> NoReturn:
    """Raise an error that distinguishes truncated files from files of another format."""
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


def _bytes_announced(file: BinaryIO, size: int) -> bytes:
    """The bytes of a file; only the beginning if its size differs from that in its header."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if length > LONGEST_HEADER:
        return start + file.read(_SMALLEST)
    start += file.read(length)
    expected = _expected_size(start, len(start))
    wanted = max(_SMALLEST, min(expected, size) - len(start) + 1)
    file.seek(0)  # joining two parts would copy a large file
    return file.read(len(start) + wanted)


def _expected_size(data: bytes, start: int) -> int:
    """Size of the file according to its header, which ends at ``start``."""
    try:
        header = json.loads(header_of(data))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        return start + max(map(int, ends), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return start


Tensors = dict[str, NDArray[Any]]

#: Formats of sgdone, for a file that is given in place of one of another format.
_FORMATS = {"sgdone-model": "a model file", "sgdone-checkpoint": "a checkpoint"}


def write(
    path: str | os.PathLike[str],
    form: FileFormat,
    content: dict[str, Any],
    tensors: Tensors,
    *,
    fixed_name: bool = False,
) -> None:
    """Write a header and its tensors atomically: the file is complete or absent.

    Nothing is copied but arrays that are not contiguous, one at a time. The library would write to a name of its own
    and report a full disk without its error number.
    ``fixed_name`` is that of `sgdone.machine.atomic.write_atomically`.
    """
    text = json.dumps(content, allow_nan=False)
    metadata = {"format": form.name, "version": str(form.version), "content": text}
    metadata["sha256"] = digest(form, text, tensors)
    # The largest numbers first, so that all are aligned.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in order:
        start, end = end, end + tensors[name].nbytes
        dtype = tensors[name].dtype
        kind = "BOOL" if dtype.kind == "b" else f"{dtype.kind.upper()}{8 * dtype.itemsize}"
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    if len(head) > LONGEST_HEADER:
        raise ValueError(f"{path}: the description of the {form.holds} is too long for a file ({len(head):,} bytes)")
    with write_atomically(path, fixed_name=fixed_name) as temporary, temporary.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in order:
            file.write(_bytes_of(tensors[name]))


def read(path: str | os.PathLike[str], form: FileFormat) -> tuple[dict[str, Any], Tensors]:
    """Read a header and its tensors, or raise an error that states the cause."""
    data = read_bytes(path, form)
    try:
        tensors = safetensors.load(data)
        metadata = json.loads(header_of(data)).get("__metadata__")
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, MemoryError) as error:
        refuse_broken(path, data, form, error)
    del data  # its tensors are copies
    metadata = metadata if isinstance(metadata, dict) else {}
    _check_format(path, form, metadata, tensors)
    text = str(metadata.get("content", ""))
    if metadata.get("version") != str(form.version) or metadata.get("sha256") != digest(form, text, tensors):
        raise form.error(f"{path}: was altered after it was written (its SHA-256 differs): {form.again}")
    try:
        content: dict[str, Any] = dict(json.loads(text))
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        raise form.error(
            f"{path}: has a header that cannot be read ({shortened(str(error), 300)}): {form.again}"
        ) from error
    return content, tensors


def digest(form: FileFormat, text: str, tensors: Tensors) -> str:
    """SHA-256 of the header's text and of each tensor's name, type, shape and bytes."""
    sha256 = hashlib.sha256()
    for part in (form.name, str(form.version), text):
        sha256.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    for name, tensor in sorted(tensors.items()):
        sha256.update(f"{len(name)}:{name}:{tensor.dtype.name}:{tensor.shape}:".encode("utf-8", "surrogatepass"))
        sha256.update(_bytes_of(tensor))
    return sha256.hexdigest()


def _check_format(path: str | os.PathLike[str], form: FileFormat, metadata: dict[str, Any], tensors: Tensors) -> None:
    """Raise for a file of another format, and for versions that cannot be read."""
    name = metadata.get("format")
    if isinstance(name, str) and name != form.name and name in _FORMATS:
        raise form.error(f"{path}: is {_FORMATS[name]}, not a {form.what}: give one {form.made_by}")
    if name != form.name:
        shown = ", ".join(shortened(tensor, 30) for tensor in sorted(tensors)[:3]) or "nothing"
        raise form.error(
            f"{path}: is a safetensors file, but not a {form.holds} of sgdone (it holds {shown}): "
            f"give a file {form.made_by}"
        )
    version = str(metadata.get("version"))
    if version.isdecimal() and version != str(form.version):
        newer = int(version[:9]) > form.version
        raise form.error(
            f"{path}: is a {form.what} of version {shortened(version, 9)}, and sgdone {__version__} reads version "
            f"{form.version}: {'upgrade it (pip install -U sgdone)' if newer else form.start_again}"
        )


def _bytes_of(tensor: NDArray[Any]) -> memoryview:
    """The little-endian bytes of an array; not copied if it is stored like this."""
    little = np.ascontiguousarray(tensor, dtype=tensor.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data
