"""Values as JSON and back: numbers, texts, containers, arrays, and sgdone's own dataclasses; never code.

A JSON object always names its ``kind``; everything else in JSON stands for itself.
"""

import math
from dataclasses import fields
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop import Status
from sgdone.kernels import rows
from sgdone.kernels.rows import RowAccess
from sgdone.losses.loss import Loss
from sgdone.model_file import arrays
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
            given = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            return {"kind": kind, "fields": {k: self.encode(v, f"{place}.{k}") for k, v in given.items()}}
        if isinstance(value, Loss):
            self.custom_loss = value
            return {"kind": "custom loss"}
        raise NotStorable(f"{place} is {value!r}, which a model file cannot hold")

    def _items(self, values: Any, place: str) -> list[Any]:
        return [self.encode(value, f"{place}.{i}") for i, value in enumerate(values)]


@final
class Decoder:
    """Makes values of untrusted JSON and tensors; what does not fit is a ValueError or the like."""

    def __init__(self, tensors: dict[str, NDArray[Any]], custom_loss: Loss | None) -> None:
        self._tensors, self._custom_loss = tensors, custom_loss

    def decode(self, code: Any) -> Any:
        """The value that was stored."""
        if isinstance(code, list):
            return [self.decode(item) for item in code]
        if not isinstance(code, dict):
            return code
        kind = code["kind"]
        if kind == "float":
            return float(code["value"])
        if kind == "tuple":
            return tuple(self.decode(code["items"]))
        if kind == "dict":
            return {self.decode(key): self.decode(value) for key, value in code["items"]}
        if kind == "status":
            return Status(code["value"])
        if kind == "array":
            return arrays.from_tensor(self._tensors[code["tensor"]], code["dtype"], self.decode)
        if kind in _SCALARS:
            return _SCALARS[kind](self.decode(code["value"]))
        return self._decode_rare(kind, code)

    def _decode_rare(self, kind: str, code: dict[str, Any]) -> Any:
        if kind == "dtype":
            return np.dtype({"<f4": np.float32, "<f8": np.float64}[code["value"]])
        if kind == "RandomState":
            return unpack(self.decode(code["state"]))
        if kind == "trace":
            return from_columns(self.decode(code["table"]))
        if kind == "rows":
            return _ACCESSES[code["value"]]
        if kind == "custom loss" and self._custom_loss is not None:
            return self._custom_loss
        if kind not in registered():
            raise ValueError(f"it contains {kind!r}, which this version does not know")
        return registered()[kind](**{name: self.decode(value) for name, value in code["fields"].items()})
