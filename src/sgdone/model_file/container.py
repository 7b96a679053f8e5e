"""The file itself: tensors and a text in the safetensors format, written whole and checked whole."""

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
from sgdone.data.atomic import write_atomically
from sgdone.data.table import shortened
from sgdone.model_file.errors import ModelFileError

FORMAT = "sgdone-model"
VERSION = 5

#: Eight bytes of length and an empty header; and what safetensors allows a header to be.
_SMALLEST, _LONGEST_HEADER = 10, 100_000_000

Tensors = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], content: dict[str, Any], tensors: Tensors) -> None:
    """Write a header and its tensors; the file is there whole or not at all."""
    little = {name: _little_endian(tensor) for name, tensor in tensors.items()}
    text = json.dumps(content, allow_nan=False)
    metadata = {"format": FORMAT, "version": str(VERSION), "content": text, "sha256": _digest(text, little)}
    data = safetensors.save(little, metadata)
    with write_atomically(path) as temporary:
        temporary.write_bytes(data)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Read a header and its tensors, or say why not."""
    data = _bytes(Path(path))
    try:
        tensors = safetensors.load(data)
        metadata = json.loads(_header(data)).get("__metadata__")
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, MemoryError) as error:
        _refuse_broken(path, data, error)
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("format") != FORMAT:
        shown = ", ".join(shortened(name, 30) for name in sorted(tensors)[:3]) or "nothing"
        raise ModelFileError(
            f"{path}: is a safetensors file, but not a model of sgdone (it holds {shown}): "
            "give a file that sgdone.save wrote"
        )
    version = str(metadata.get("version"))
    if version.isdecimal() and int(version[:9]) > VERSION:
        raise ModelFileError(
            f"{path}: is a model file of version {shortened(version, 9)}, and sgdone {__version__} reads version "
            f"{VERSION}: upgrade it (pip install -U sgdone)"
        )
    if version in ("1", "2", "3", "4"):
        raise ModelFileError(
            f"{path}: has the format of a version before the first release, {version}: fit the model again"
        )
    text = str(metadata.get("content", ""))
    if version != str(VERSION) or metadata.get("sha256") != _digest(text, tensors):
        raise ModelFileError(
            f"{path}: was altered after it was written (its SHA-256 differs): copy it again, or save the model again"
        )
    try:
        content: dict[str, Any] = dict(json.loads(text))
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(
            f"{path}: has a header that cannot be read ({shortened(str(error), 300)}): save the model again"
        ) from error
    return content, tensors


def _bytes(path: Path) -> bytes:
    """All bytes of a regular file: a pipe would be waited for, and a device read to the end of memory."""
    try:
        # Without waiting for the other end of a pipe; what was opened is examined, so that it cannot be exchanged.
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError(f"{path}: is a pipe, socket or device: give a regular file")
            data = _bytes_of_model(path, file, status.st_size)
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file: give one that sgdone.save wrote") from None
    except OSError as error:
        raise ModelFileError(_unreadable(path, error)) from error
    except ValueError as error:
        raise ModelFileError(f"{str(path)!r}: is no name of a file ({error})") from error
    except MemoryError as error:
        size = path.stat().st_size
        raise ModelFileError(f"{path}: has {size:,} bytes, more than fit into memory: use a larger machine") from error
    if not data:
        raise ModelFileError(f"{path}: is empty, not a model file: copy it again, or save the model again")
    return data


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _bytes_of_model(path: Path, file: BinaryIO, size: int) -> bytes:
    """The bytes of a file, but only its beginning if its size is not the one that its header announces."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if length > _LONGEST_HEADER:
        return start + file.read(_SMALLEST)
    start += file.read(length)
    expected = _expected_size(start, len(start))
    return start + file.read(max(_SMALLEST, min(expected, size) - len(start) + 1))


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, (IsADirectoryError, PermissionError)) and path.is_dir():
        return f"{path}: is a folder, not a model file: give the name of a file in it"
    return f"{path}: cannot be read ({error.strerror}): check its name and its permissions"


def _header(data: bytes) -> bytes:
    """The JSON after the eight bytes that tell its length."""
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def _refuse_broken(path: str | os.PathLike[str], data: bytes, error: Exception) -> NoReturn:
    """Tell a file cut short from one that never was a model."""
    again = "copy it again, or save the model again"
    if len(data) < _SMALLEST:
        raise ModelFileError(f"{path}: holds {len(data)} bytes only, too few for a model: {again}") from error
    start = 8 + int.from_bytes(data[:8], "little")
    if data[8:9] != b"{" or start > _LONGEST_HEADER:
        found = f"it begins with {data[:12]!r}"
        raise ModelFileError(f"{path}: is not a model file ({found}): give one that sgdone.save wrote") from error
    expected = _expected_size(data, start)
    if len(data) < expected:
        raise ModelFileError(f"{path}: is cut short, {len(data):,} bytes of {expected:,} or more: {again}") from error
    raise ModelFileError(f"{path}: is damaged ({shortened(str(error), 300)}): {again}") from error


def _expected_size(data: bytes, start: int) -> int:
    """Size of the file according to its header, which ends at ``start``."""
    try:
        header = json.loads(_header(data))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        return start + max(map(int, ends), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return start


def _little_endian(tensor: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(tensor, dtype=tensor.dtype.newbyteorder("<")).reshape(tensor.shape)


def _digest(text: str, tensors: Tensors) -> str:
    """SHA-256 of the header's text and of each tensor's name, type, shape and bytes."""
    digest = hashlib.sha256()
    for part in (FORMAT, str(VERSION), text):
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{len(name)}:{name}:{tensor.dtype.name}:{tensor.shape}:".encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()
