"""Catoni's location of margins, weighted or not, and the scale for it."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sgdone.diagnose.catoni import catoni_location

Array = NDArray[np.float64]

_ROOT2 = math.sqrt(2.0)
_DELTA = 0.05


def scale_for(variance: float, n: int) -> float:
    """The s with which the bound on the location's error is least: Holland (2018), after eq. (6), with δ = 0.05.

    Examples
    --------
    >>> round(scale_for(1.0, 1000), 3)
    11.642
    """
    return math.sqrt(n * variance / (2.0 * math.log(2.0 / _DELTA)))


def location_of(values: Array, weights: Array | None, scale: float) -> float:
    """The θ at which the influences ψ((θ − value)/s), times their weights, add up to 0: Holland (2018), eq. (2)."""
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
