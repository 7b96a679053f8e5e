"""Values as JSON and back: numbers, texts, containers, arrays, and sgdone's own classes; never code.

A JSON object always names its ``kind``; everything else in JSON stands for itself.

The state of a running fit is stored with all that a later stretch of rows may depend on: what it keeps during one run
only, the memory order of arrays, in which NumPy sums them, whether they are read-only, for which loops are compiled,
and which objects are the same: one that appears again is stored as a reference to the first.
"""

import json
import math
import re
import types
import typing
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, Union, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop_rule import Status
from sgdone.kernels import rows
from sgdone.kernels.rows import RowAccess
from sgdone.losses.loss import Loss
from sgdone.state_file.plain_forms import form_of, plain_forms
from sgdone.state_file.registered_names import name_of, registered, stored_fields

_ACCESSES = {name: thing for name, thing in vars(rows).items() if isinstance(thing, RowAccess)}
_NUMBERS = (*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float32", "float64")
#: Types of NumPy for numbers and texts.
_SCALARS = {f"numpy.{name}": np.dtype(name).type for name in (*_NUMBERS, "bool", "str")}


class NotStorable(TypeError):  # noqa: N818
    """A value that a file cannot hold."""


@final
class Encoder:
    """Encodes values, of a ``running`` fit or not, as JSON, and collects their arrays, which are not copied."""

    def __init__(self, *, running: bool = False) -> None:
        self.tensors: dict[str, NDArray[Any]] = {}
        #: The loss that the reader must bring along, if there is one.
        self.custom_loss: Loss | None = None
        self._running = running
        #: Values by ``id``, with their JSON. They are kept, so that no other value gets the same ``id``.
        self._known: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._n_shared = 0

    def encode(self, value: Any, place: str) -> Any:
        """The value as JSON; ``place`` names it in errors, and its tensors."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        if kind is list:
            return self._items(value, place)
        if kind is tuple:
            return {"kind": "tuple", "items": self._items(value, place)}
        if id(value) in self._known:
            return self._reference(self._known[id(value)][1])
        code = self._encode_object(value, place)
        if self._running:
            self._known[id(value)] = value, code
        return code

    def _encode_object(self, value: Any, place: str) -> dict[str, Any]:
        kind = type(value)
        if kind is dict:
            pairs = [self._items(pair, f"{place}.{i}") for i, pair in enumerate(value.items())]
            return {"kind": "dict", "items": pairs}
        if kind is set:
            return {"kind": "set", "items": self._items(sorted(value, key=repr), place)}
        if kind is Status:
            return {"kind": "status", "value": str(value)}
        if isinstance(value, np.ndarray) and can_hold(value):
            return self._encode_array(value, place)
        if isinstance(value, np.generic):
            name = "numpy.str" if value.dtype.kind == "U" else f"numpy.{value.dtype.name}"
            if name in _SCALARS:
                return {"kind": name, "value": self.encode(value.item(), place)}
        if isinstance(value, np.dtype):
            return {"kind": "dtype", "value": value.str}
        if isinstance(value, RowAccess):
            return {"kind": "rows", "value": next(name for name, it in _ACCESSES.items() if it == value)}
        form = form_of(value)
        if form is not None:
            return {"kind": form.kind, form.part: self.encode(form.pack(value), place)}
        registered_as = name_of(kind)
        if registered_as is not None:
            given = {name: getattr(value, name) for name in stored_fields(registered_as, running=self._running)}
            return {"kind": registered_as, "fields": {k: self.encode(v, f"{place}.{k}") for k, v in given.items()}}
        if isinstance(value, Loss):
            self.custom_loss = value
            return {"kind": "custom loss"}
        raise NotStorable(f"{place} is {value!r}, which a file cannot hold")

    def _encode_array(self, array: NDArray[Any], place: str) -> dict[str, Any]:
        code: dict[str, Any] = {"kind": "array", "dtype": array.dtype.str, "tensor": place}
        if self._running:
            if array.ndim > 1 and array.strides[0] < array.strides[-1]:
                code["by_columns"], array = True, array.T
            if not array.flags.writeable:
                code["read_only"] = True
        self.tensors[place] = to_tensor(array, lambda item: self.encode(item, f"{place}[]"))
        return code

    def _reference(self, first: dict[str, Any]) -> dict[str, Any]:
        """A reference to a value that was encoded before, whose JSON gets a number."""
        if "id" not in first:
            first["id"] = self._n_shared
            self._n_shared += 1
        return {"kind": "same", "as": first["id"]}

    def _items(self, values: Any, place: str) -> list[Any]:
        return [self.encode(value, f"{place}.{i}") for i, value in enumerate(values)]


#: The numbers that JSON cannot express.
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@final
class Decoder:
    """Decodes untrusted JSON and tensors; unsuitable content raises a ValueError, TypeError or the like.

    A value is of the type that was stored, each tensor is used once, and an object has the fields of its class, of the
    types that the class declares. Whether the values suit each other is for others to check. Arrays share the memory of
    the ``tensors`` where possible; ``custom_loss`` is the loss that the file needs and cannot hold.
    """

    def __init__(self, tensors: dict[str, NDArray[Any]], custom_loss: Loss | None, *, running: bool = False) -> None:
        self._tensors, self._custom_loss, self._running = dict(tensors), custom_loss, running
        self._shared: dict[int, Any] = {}
        self._decoders: dict[str, Callable[..., Any]] = {
            "float": lambda value: _NOT_FINITE[value],
            "tuple": lambda items: tuple(self._list(items)),
            "dict": self._dict,
            "set": self._set,
            "status": lambda value: Status(value),
            "array": self._array,
            "dtype": lambda value: np.dtype({"<f4": np.float32, "<f8": np.float64}[value]),
            "rows": lambda value: _ACCESSES[value],
            "custom loss": self._own_loss,
        }

    def decode(self, code: Any) -> Any:
        """The value that was stored."""
        if isinstance(code, list):
            return self._list(code)
        if not isinstance(code, dict):
            return code
        parts = dict(code)
        kind = parts.pop("kind")
        if not self._running:
            return self._object(kind, parts)
        if kind == "same":
            return self._shared[parts["as"]]
        number = parts.pop("id", None)
        made = self._object(kind, parts)
        if number in self._shared:
            raise ValueError(f"two values have the number {number}")
        if number is not None:
            self._shared[number] = made
        return made

    def check_all_used(self) -> None:
        """Raise a ValueError if there are tensors that nothing refers to."""
        if self._tensors:
            raise ValueError(f"nothing refers to its tensor {next(iter(self._tensors))!r}")

    def _object(self, kind: Any, parts: dict[str, Any]) -> Any:
        if kind in _SCALARS:
            return _scalar(kind, **{name: self.decode(value) for name, value in parts.items()})
        if kind in self._decoders:
            return self._decoders[kind](**parts)
        if kind in plain_forms():
            form = plain_forms()[kind]
            if list(parts) != [form.part]:
                raise ValueError(f"a {kind} has the parts {', '.join(parts)}")
            return form.unpack(self.decode(parts[form.part]))
        if kind not in registered():
            raise ValueError(f"it contains {kind!r}, which this version does not know")
        return self._dataclass(kind, **parts)

    def _list(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise TypeError("the items of a list are no list")
        return [self.decode(item) for item in items]

    def _dict(self, items: Any) -> dict[Any, Any]:
        pairs = [(key, value) for key, value in self._list(items)]
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a dict has a key twice")
        return made

    def _set(self, items: Any) -> set[Any]:
        made = set(self._list(items))
        if len(made) != len(items):
            raise ValueError("a set has an item twice")
        return made

    def _array(self, dtype: Any, tensor: Any, **memory: Any) -> NDArray[Any]:
        if not memory.keys() <= ({"by_columns", "read_only"} if self._running else set()):
            raise ValueError(f"an array has the parts {', '.join(memory)}")
        made = from_tensor(self._tensors.pop(tensor), dtype, self.decode)
        made = made.T if memory.get("by_columns") else made
        made.flags.writeable = not memory.get("read_only")
        return made

    def _own_loss(self) -> Loss:
        if self._custom_loss is None:
            raise ValueError("it needs a loss of your own, and does not say which")
        return self._custom_loss

    def _dataclass(self, name: str, fields: Any) -> Any:
        kind, names = registered()[name], stored_fields(name, running=self._running)
        if sorted(fields) != sorted(names):
            raise ValueError(f"a {kind.__name__} has the fields {', '.join(fields)}, not {', '.join(names)}")
        values = {one: self.decode(value) for one, value in fields.items()}
        own = {one: values.pop(one) for one in names if one not in stored_fields(name, running=False)}
        made = kind(**values)
        for one, value in own.items():
            setattr(made, one, value)
        check_fields(made, names)
        return made


def _scalar(kind: str, value: Any) -> Any:
    """A number or text of a NumPy type."""
    wanted: Any = {"b": bool, "U": str, "f": float}.get(np.dtype(_SCALARS[kind]).kind, int)
    if type(value) is not wanted:
        raise TypeError(f"a {kind} is stored as {value!r}")
    with np.errstate(over="ignore"):
        made = _SCALARS[kind](value)
    if wanted is float and math.isfinite(value) and made != value:
        raise ValueError(f"{value!r} is no {kind}")
    return made


_type_hints = lru_cache(maxsize=256)(typing.get_type_hints)
_NUMBER_TYPES = re.compile(r"[<>|](b1|[iu][1248]|f[248])")
_TEXT_TYPES = re.compile(r"[<>]U[1-9]\d{0,8}")
_OBJECTS = "|O"


def can_hold(array: NDArray[Any]) -> bool:
    """Whether arrays of this type can be stored."""
    text = array.dtype.str
    return bool(_NUMBER_TYPES.fullmatch(text) or _TEXT_TYPES.fullmatch(text)) or (text == _OBJECTS and array.ndim == 1)


def to_tensor(array: NDArray[Any], encode: Callable[[Any], Any]) -> NDArray[Any]:
    """Numbers unchanged, texts as their code points, objects as JSON in bytes."""
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
    if _TEXT_TYPES.fullmatch(dtype):
        if tensor.dtype != np.uint32 or tensor.max(initial=0) > 0x10FFFF:
            raise ValueError("a text holds what is not a character")
        texts = np.ascontiguousarray(tensor).view(f"<U{tensor.shape[-1]}")[..., 0]
        return np.array(texts, dtype=_same_size(dtype, texts.dtype))
    if not _NUMBER_TYPES.fullmatch(dtype):
        raise ValueError(f"no array is of type {dtype!r}")
    # A tensor is used once, so that it need not be copied.
    return np.require(tensor, _same_size(dtype, tensor.dtype), ["W", "A"])


def _same_size(wanted: str, found: np.dtype[Any]) -> np.dtype[Any]:
    dtype = np.dtype(wanted)
    if (dtype.kind, dtype.itemsize) != (found.kind, found.itemsize):
        raise ValueError(f"an array said to be {dtype} is stored as {found}")
    return dtype


def check_fields(made: Any, names: Sequence[str]) -> None:
    """Raise a TypeError if one of some fields of a dataclass is not of its declared type.

    The declaration is the schema: a class that is new to files needs no further description.
    """
    kind: Any = type(made)
    hints = _type_hints(kind)
    for name in names:
        value, hint = getattr(made, name), hints[name]
        if not _fits(value, hint):
            raise TypeError(f"{name} of {type(made).__name__} is {_shown(value)}, not {_named(hint)}")


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return isinstance(hint, type) and isinstance(value, hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(isinstance(value, type(one)) and value == one for one in inner)
    return _fits_container(value, origin, inner)


def _fits_container(value: Any, origin: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, origin):
        return False
    if origin is np.ndarray:
        (dtype,) = typing.get_args(inner[1])
        return dtype is Any or bool(value.dtype == dtype)
    if origin is np.dtype:
        return True
    if origin is dict:
        return all(_fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items())
    if origin is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    return origin in (list, tuple, set, Sequence) and all(_fits(item, inner[0]) for item in value)


def _named(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    text = repr(value)
    return text if len(text) < 80 else f"{text[:70]}…"
