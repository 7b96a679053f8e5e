"""Arrays of numbers, texts and mixed labels as tensors of a safetensors file."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBERS = re.compile(r"[<>|](b1|[iu][1248]|f[248])")
_TEXTS = re.compile(r"[<>]U[1-9]\d{0,8}")
_OBJECTS = "|O"


def can_hold(array: NDArray[Any]) -> bool:
    """Whether arrays of this type can be stored."""
    text = array.dtype.str
    return bool(_NUMBERS.fullmatch(text) or _TEXTS.fullmatch(text)) or (text == _OBJECTS and array.ndim == 1)


def to_tensor(array: NDArray[Any], encode: Callable[[Any], Any]) -> NDArray[Any]:
    """Numbers as they are, texts as their code points, objects as JSON in bytes."""
    if array.dtype.kind == "O":
        text = json.dumps([encode(item) for item in array.tolist()], allow_nan=False)
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    if array.dtype.kind == "U":
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return plain.reshape(*array.shape, 1).view("<u4")
    return array


def from_tensor(tensor: NDArray[Any], dtype: str, decode: Callable[[Any], Any]) -> NDArray[Any]:
    """The array that was stored: writable, and of the type it had."""
    if dtype == _OBJECTS:
        items = [decode(item) for item in json.loads(tensor.tobytes())]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array
    if _TEXTS.fullmatch(dtype):
        if tensor.dtype != np.uint32 or tensor.max(initial=0) > 0x10FFFF:
            raise ValueError("a text holds what is not a character")
        texts = np.ascontiguousarray(tensor).view(f"<U{tensor.shape[-1]}")[..., 0]
        return np.array(texts, dtype=_same_size(dtype, texts.dtype))
    if not _NUMBERS.fullmatch(dtype):
        raise ValueError(f"no array is of type {dtype!r}")
    # A tensor is used once, so that it need not be copied.
    return np.require(tensor, _same_size(dtype, tensor.dtype), ["W", "A"])


def _same_size(wanted: str, found: np.dtype[Any]) -> np.dtype[Any]:
    dtype = np.dtype(wanted)
    if (dtype.kind, dtype.itemsize) != (found.kind, found.itemsize):
        raise ValueError(f"an array said to be {dtype} is stored as {found}")
    return dtype
