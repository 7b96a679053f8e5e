"""Whether two values are the same to the last bit, and the same objects appear again in both."""

import math
from dataclasses import fields, is_dataclass

import numpy as np

from sgdone.rows.rows import Order

#: Work arrays, which are made again when they are needed.
MADE_AGAIN = {("BankState", "in_units"), ("RunState", "folds"), ("_Held", "rows")}


def assert_same(one, other):
    """Raise unless both are the same, and objects that are identical in one are so in the other."""
    _compare(one, other, "value", {}, {})


def _compare(one, other, place, there, back):
    assert type(one) is type(other), f"{place}: {type(one)} and {type(other)}"
    if is_dataclass(one) or isinstance(one, np.ndarray):
        assert there.setdefault(id(one), id(other)) == id(other), f"{place} was one object and is two"
        assert back.setdefault(id(other), id(one)) == id(one), f"{place} were two objects and are one"
    if is_dataclass(one):
        for field in fields(one):
            if (type(one).__name__, field.name) not in MADE_AGAIN:
                inner = f"{place}.{field.name}"
                _compare(getattr(one, field.name), getattr(other, field.name), inner, there, back)
    elif isinstance(one, Order):
        _compare((one.rows, one.upcoming), (other.rows, other.upcoming), place, there, back)
    elif isinstance(one, np.ndarray):
        _compare_arrays(one, other, place)
    elif isinstance(one, dict):
        _compare(list(one.items()), list(other.items()), place, there, back)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), place
        for k, (left, right) in enumerate(zip(one, other, strict=True)):
            _compare(left, right, f"{place}[{k}]", there, back)
    elif isinstance(one, float) and math.isnan(one):
        assert math.isnan(other), place
    else:
        assert one == other, f"{place}: {one!r} and {other!r}"


def _compare_arrays(one, other, place):
    assert (one.dtype, one.shape) == (other.dtype, other.shape), place
    assert one.flags.writeable == other.flags.writeable, place
    if one.ndim > 1:
        assert (one.strides[0] < one.strides[-1]) == (other.strides[0] < other.strides[-1]), place
    assert one.tobytes() == other.tobytes(), place
