"""Arguments that may be numbers or arrays of them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.theory._checks import Array


def numbers(name: str, value: ArrayLike, low: float = -np.inf, high: float = np.inf, *, above: bool = False) -> Array:
    """Finite numbers from ``low`` (or above it) to ``high``, of any shape."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r} is not a number or an array of them") from None
    if array.dtype == bool or np.asarray(value).dtype.kind in "bUS":
        raise ValueError(f"{name}={value!r} is not a number or an array of them")
    if array.size == 0:
        raise ValueError(f"{name} is empty: give one number at least")
    wrong = ~(np.isfinite(array) & ((array > low) if above else (array >= low)) & (array <= high))
    if wrong.any():
        raise ValueError(f"{name}={array[wrong].flat[0]:g} is not {_range(low, high, above)}")
    return array


def as_given(result: Array) -> Any:
    """A float where all arguments were numbers."""
    return float(result) if result.ndim == 0 else result


def _range(low: float, high: float, above: bool) -> str:
    if low == 0.0 and high == np.inf:
        return "a positive finite number" if above else "a finite number of 0 or more"
    return "a finite number" if low == -np.inf else f"a number from {low:g} to {high:g}"
