"""Arguments and assumptions, refused with the numbers that were found."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: How far rounding may take a matrix from being symmetric or non-negative, relative to its largest entry.
_ROUNDING = 1e-8

Array = NDArray[np.float64]


class AssumptionError(ValueError):
    """An assumption of a theorem does not hold for the numbers given, so that its bound says nothing of them."""


def assume(holds: bool, assumption: str, found: str) -> None:
    """Raise unless an assumption holds.

    Parameters
    ----------
    holds : bool
        Whether it does.
    assumption : str
        Whose it is and what it says, as "Theorem 5 assumes σ ≤ 0.33‖μ‖".
    found : str
        The numbers found.
    """
    if not holds:
        raise AssumptionError(f"{assumption}; found {found}")


def positive(name: str, value: Any) -> float:
    """A positive finite number."""
    if not 0 < _number(name, value) < float("inf"):
        raise ValueError(f"{name}={value!r} is not a positive finite number")
    return float(value)


def non_negative(name: str, value: Any) -> float:
    """A finite number, 0 or more."""
    if not 0 <= _number(name, value) < float("inf"):
        raise ValueError(f"{name}={value!r} is not a finite number of 0 or more")
    return float(value)


def finite(name: str, value: Any) -> float:
    """A finite number."""
    if not abs(_number(name, value)) < float("inf"):
        raise ValueError(f"{name}={value!r} is not a finite number")
    return float(value)


def whole(name: str, value: Any, least: int) -> int:
    """A whole number, ``least`` or more."""
    if not (_number(name, value) >= least and float(value).is_integer()):
        raise ValueError(f"{name}={value!r} is not a whole number of {least} or more")
    return int(value)


def _number(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name}={value!r} is not a number")
    return float(value)


def vector(name: str, value: ArrayLike, size: int | None = None) -> Array:
    """A vector of finite numbers, of ``size`` entries if that is given."""
    array = _array(name, value, 1)
    if size is not None and len(array) != size:
        raise ValueError(f"{name} has {len(array)} entries where {size} are wanted")
    return array


def matrix(name: str, value: ArrayLike) -> Array:
    """A matrix of finite numbers."""
    return _array(name, value, 2)


def symmetric(name: str, value: ArrayLike, size: int | None = None) -> Array:
    """A symmetric matrix, with ``size`` rows if that is given."""
    array = matrix(name, value)
    wanted = size or len(array)
    if array.shape != (wanted, wanted):
        raise ValueError(f"{name} has the shape {array.shape} where {(wanted, wanted)} is wanted")
    if not np.allclose(array, array.T, rtol=0.0, atol=_ROUNDING * float(np.abs(array).max())):
        raise ValueError(f"{name} is not symmetric: its largest |a_ij − a_ji| is {np.abs(array - array.T).max():.3g}")
    return array


def spectrum(name: str, value: ArrayLike, size: int | None = None) -> tuple[Array, Array]:
    """Eigenvalues (0 or more) and eigenvectors (columns) of a covariance matrix."""
    eigenvalues, axes = np.linalg.eigh(symmetric(name, value, size))
    if eigenvalues[0] < -_ROUNDING * max(float(eigenvalues[-1]), 0.0):
        raise ValueError(f"{name} is no covariance matrix: its smallest eigenvalue is {eigenvalues[0]:.3g}")
    return np.maximum(eigenvalues, 0.0), axes


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


def _array(name: str, value: ArrayLike, dimensions: int) -> Array:
    what = {1: "a vector", 2: "a matrix"}[dimensions]
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r} is not {what} of numbers") from None
    if array.ndim != dimensions or array.size == 0:
        raise ValueError(f"{name} has the shape {array.shape} where {what} is wanted")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite entries")
    return array
