"""Values of dataclass fields against the types that the classes declare."""

import types
import typing
from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, Union

import numpy as np


def check_fields(made: Any, names: Sequence[str]) -> None:
    """Raise a TypeError if one of some fields of a dataclass is not of its declared type.

    The declaration is the schema: a class that is new to files needs no further description.
    """
    kind: Any = type(made)
    hints = _hints(kind)
    for name in names:
        value, hint = getattr(made, name), hints[name]
        if not _fits(value, hint):
            raise TypeError(f"{name} of {type(made).__name__} is {_shown(value)}, not {_named(hint)}")


@lru_cache(maxsize=256)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


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
