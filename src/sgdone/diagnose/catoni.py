"""Catoni's location estimate: robust to outliers, between the median and the mean."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

_ROOT2 = math.sqrt(2.0)
_STEEPEST = 2.0 * _ROOT2 / 3.0
#: If the scale exceeds the spread by this factor, the cubic term is below rounding: the location is the mean.
_LINEAR = 1e8
#: Values beyond this could overflow when subtracted.
_LARGE = 1e307
_MAX_ITERATIONS = 200
#: δ of `optimal_scale`.
_DELTA = 0.05

Array = NDArray[np.float64]


def catoni_location(values: ArrayLike, scale: float) -> float:
    """Catoni's location: the θ at which the sum of the influences ψ((θ − value)/s) is 0.

    Holland (2018), eq. (2) and (3), after Catoni (2012): ψ(u) = u − u³/6, constant beyond ±√2. The distance from a
    median is at most √2·s. If the sum is 0 on an interval (an even number of values with a gap of 2√2·s or more in the
    middle), the median is returned.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers, for example margins; at least one, all finite.
    scale : float
        s > 0, in units of the values. The location tends to the median as s → 0 and to the mean as s → ∞.

    Returns
    -------
    float
        θ, accurate to 1e-12 relative to the larger of |θ| and s. Cost: a few passes over the values.

    Examples
    --------
    >>> margins = [0.8, 0.9, 1.0, 1.2, -40.0]
    >>> [round(catoni_location(margins, scale), 4) for scale in (0.01, 1.0, 100.0)]
    [0.9, 0.7341, -7.1084]
    >>> round(float(np.mean(margins)), 4)
    -7.22
    """
    numbers, scale = _checked(values, scale)
    if max(float(numbers.max()), -float(numbers.min())) > _LARGE:
        return 4.0 * catoni_location(numbers / 4.0, max(scale / 4.0, 5e-324))
    n = len(numbers)
    middle = np.partition(numbers, [(n - 1) // 2, n // 2])[[(n - 1) // 2, n // 2]]
    gap = float(middle[1] - middle[0])
    center = float(middle[0]) + 0.5 * gap
    if gap >= 2.0 * _ROOT2 * scale:
        return center
    away = numbers - center
    spread = float(np.abs(away).max())
    if spread == 0.0:
        return center
    if scale > _LINEAR * spread:
        return center + spread * float(np.mean(away / spread))
    with np.errstate(over="ignore"):  # ψ is constant there, so an infinite distance is harmless
        away = away / scale
    found = center + scale * _root(away, 0.5 * gap / scale + _ROOT2)
    return min(max(found, float(numbers.min())), float(numbers.max()))


def _root(away: Array, reach: float) -> float:
    """Root of the sum of influences in [−reach, reach], by Newton's method within a bracket.

    More than half of the values are below ``reach`` by √2 or more, so the sum is positive there.
    """
    near = away[np.abs(away) <= reach + _ROOT2]
    surplus = int(np.count_nonzero(away < -reach - _ROOT2)) - int(np.count_nonzero(away > reach + _ROOT2))
    rounding = 2.0**-52 * float(np.abs(near).max(initial=0.0))
    low, high, t = -reach, reach, 0.0
    for _ in range(_MAX_ITERATIONS):
        total, rise = _influences(t, near, surplus)
        if total == 0.0:
            break
        if total > 0.0:
            high = t
        else:
            low = t
        new = t - total / rise if rise > 0.0 else math.inf
        if not low < new < high:
            new = 0.5 * (low + high)
        step, t = abs(new - t), new
        if step <= rounding + 2.0**-52 * abs(t):
            break
    return t


def _influences(t: float, near: Array, surplus: int) -> tuple[float, float]:
    """Sum of ψ(t − u) over all values, and its derivative in t.

    Near u = √2, ψ(u) = 2√2/3 − e²(2√2 + u)/6 with e = √2 − u. Saturated influences are counted as integers and only the
    remainders are added, to avoid rounding errors.
    """
    u = t - near
    size = np.abs(u)
    edge = np.maximum(_ROOT2 - size, 0.0)
    outer = size > 0.5 * _ROOT2
    sides = np.sign(u)
    counted = surplus + int(np.sum(sides, where=outer))
    parts = np.where(outer, -sides * edge * edge * (2.0 * _ROOT2 + size) / 6.0, u * (1.0 - size * size / 6.0))
    return counted * _STEEPEST + float(np.sum(parts)), 0.5 * float(np.sum(edge * (_ROOT2 + size)))


def _checked(values: ArrayLike, scale: float) -> tuple[Array, float]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"values has the shape {numbers.shape}: give a one-dimensional array")
    if numbers.size == 0:
        raise ValueError("values is empty: give at least one value")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise ValueError(
            f"values[{wrong[0]}] is {numbers[wrong[0]]}; {wrong.size} of {numbers.size} values are NaN or infinite: "
            "remove them"
        )
    if isinstance(scale, (bool, str)) or not 0.0 < float(scale) < math.inf:
        raise ValueError(f"scale={scale!r} is not a positive finite number: give s in units of the values")
    return numbers, float(scale)


def optimal_scale(variance: float, n: int) -> float:
    """The s that minimises the bound on the error of the location: Holland (2018), after eq. (6), with δ = 0.05.

    Examples
    --------
    >>> round(optimal_scale(1.0, 1000), 3)
    11.642
    """
    return math.sqrt(n * variance / (2.0 * math.log(2.0 / _DELTA)))


def weighted_location(values: Array, weights: Array | None, scale: float) -> float:
    """The θ at which the weighted sum of the influences ψ((θ − value)/s) is 0: Holland (2018), eq. (2)."""
    if weights is None:
        return catoni_location(values, scale)
    used = weights > 0
    values, weights = values[used], weights[used] / weights[used].sum()
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low

    def influence(location: float) -> float:
        u = np.clip((location - values) / scale, -_ROOT2, _ROOT2)
        return float(weights @ (u - u * u * u / 6.0))

    return float(brentq(influence, low, high, xtol=1e-13 * max(high - low, abs(low), abs(high)), rtol=1e-14))
