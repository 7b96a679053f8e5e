"""Values as JSON and back: numbers, texts, containers, arrays, and sgdone's own dataclasses; never code.

A JSON object always names its ``kind``; everything else in JSON stands for itself.
"""

import math
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop import Status
from sgdone.kernels import rows
from sgdone.kernels.rows import RowAccess
from sgdone.losses.loss import Loss
from sgdone.model_file import arrays
from sgdone.model_file.field_types import check_fields
from sgdone.model_file.random_states import pack, unpack
from sgdone.model_file.registered_names import name_of, registered
from sgdone.model_file.traces import from_columns, to_columns
from sgdone.run.trace import Trace

_ACCESSES = {name: thing for name, thing in vars(rows).items() if isinstance(thing, RowAccess)}
_NUMBERS = (*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float32", "float64")
#: Numbers and texts that NumPy has a type of its own for.
_SCALARS = {f"numpy.{name}": np.dtype(name).type for name in (*_NUMBERS, "bool", "str")}


class NotStorable(TypeError):  # noqa: N818
    """A value that a model file cannot hold."""


@final
class Encoder:
    """Makes JSON of values, and gathers their arrays."""

    def __init__(self) -> None:
        self.tensors: dict[str, NDArray[Any]] = {}
        #: The loss that the reader must bring along, if there is one.
        self.custom_loss: Loss | None = None

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
        if kind is dict:
            pairs = [self._items(pair, f"{place}.{i}") for i, pair in enumerate(value.items())]
            return {"kind": "dict", "items": pairs}
        if kind is Status:
            return {"kind": "status", "value": str(value)}
        if isinstance(value, np.ndarray) and arrays.can_hold(value):
            self.tensors[place] = arrays.to_tensor(value, lambda item: self.encode(item, f"{place}[]"))
            return {"kind": "array", "dtype": value.dtype.str, "tensor": place}
        return self._encode_rare(value, place)

    def _encode_rare(self, value: Any, place: str) -> Any:
        if isinstance(value, np.generic):
            name = "numpy.str" if value.dtype.kind == "U" else f"numpy.{value.dtype.name}"
            if name in _SCALARS:
                return {"kind": name, "value": self.encode(value.item(), place)}
        if isinstance(value, np.dtype):
            return {"kind": "dtype", "value": value.str}
        if isinstance(value, np.random.RandomState):
            return {"kind": "RandomState", "state": self.encode(pack(value), place)}
        if isinstance(value, RowAccess):
            return {"kind": "rows", "value": next(name for name, it in _ACCESSES.items() if it == value)}
        if isinstance(value, Trace):
            return {"kind": "trace", "table": self.encode(to_columns(value), place)}
        kind = name_of(type(value))
        if kind is not None:
            given = {field.name: getattr(value, field.name) for field in dataclass_fields(value) if field.init}
            return {"kind": kind, "fields": {k: self.encode(v, f"{place}.{k}") for k, v in given.items()}}
        if isinstance(value, Loss):
            self.custom_loss = value
            return {"kind": "custom loss"}
        raise NotStorable(f"{place} is {value!r}, which a model file cannot hold")

    def _items(self, values: Any, place: str) -> list[Any]:
        return [self.encode(value, f"{place}.{i}") for i, value in enumerate(values)]


#: The numbers that JSON cannot express.
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@final
class Decoder:
    """Makes values of untrusted JSON and tensors; what does not fit is a ValueError or the like.

    A value is of the type that was stored, each tensor is used once, and an object has the fields of its class, of the
    types that the class declares. Whether the values suit each other is for others to check.
    """

    def __init__(self, tensors: dict[str, NDArray[Any]], custom_loss: Loss | None) -> None:
        self._tensors, self._custom_loss = dict(tensors), custom_loss
        self._decoders: dict[str, Callable[..., Any]] = {
            "float": lambda value: _NOT_FINITE[value],
            "tuple": lambda items: tuple(self._list(items)),
            "dict": self._dict,
            "status": lambda value: Status(value),
            "array": self._array,
            "dtype": lambda value: np.dtype({"<f4": np.float32, "<f8": np.float64}[value]),
            "RandomState": lambda state: unpack(self.decode(state)),
            "trace": lambda table: from_columns(self.decode(table)),
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
        if kind in _SCALARS:
            return _scalar(kind, **{name: self.decode(value) for name, value in parts.items()})
        if kind in self._decoders:
            return self._decoders[kind](**parts)
        if kind not in registered():
            raise ValueError(f"it contains {kind!r}, which this version does not know")
        return self._object(registered()[kind], **parts)

    def check_all_used(self) -> None:
        """Raise a ValueError if there are tensors that nothing refers to."""
        if self._tensors:
            raise ValueError(f"nothing refers to its tensor {next(iter(self._tensors))!r}")

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

    def _array(self, dtype: Any, tensor: Any) -> NDArray[Any]:
        return arrays.from_tensor(self._tensors.pop(tensor), dtype, self.decode)

    def _own_loss(self) -> Loss:
        if self._custom_loss is None:
            raise ValueError("it needs a loss of your own, and does not say which")
        return self._custom_loss

    def _object(self, kind: type, fields: Any) -> Any:
        names = [field.name for field in dataclass_fields(kind) if field.init]
        if sorted(fields) != sorted(names):
            raise ValueError(f"a {kind.__name__} has the fields {', '.join(fields)}, not {', '.join(names)}")
        made = kind(**{name: self.decode(value) for name, value in fields.items()})
        check_fields(made)
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
