"""Wright's omega of a real number: the w with w + log w = t."""

import math

from sgdone.kernels.jit import inlined

_MAX_ITERATIONS = 4
_CLOSE = 1e-4
#: Below this, w = eᵗ to the last digit.
_TINY = -40.0
_SMALLEST = 1e-18


@inlined
def omega(t: float) -> float:
    """The solution w > 0 of w + log w = t, to a few units in the last place.

    The start and the fourth-order iteration are those of Lawrence, Corless & Jeffrey (2012), Algorithm 917.
    """
    if t < _TINY:
        return math.exp(t)
    if t < -2.0:
        w = math.exp(t)
    elif t < 1.0:
        w = math.exp(2.0 * (t - 1.0) / 3.0)
    else:
        w = t - math.log(t)
    for _ in range(_MAX_ITERATIONS):
        before = w
        w = refined(t, w)
        if abs(w - before) < _CLOSE * w:
            break
    return w


@inlined
def refined(t: float, w: float) -> float:
    """One iteration from a w > 0 near the solution: the fourth power of the error is left."""
    if w < _SMALLEST:
        return math.exp(t)
    residual = t - w - math.log(w)
    above = w + 1.0
    square = 2.0 * above * (above + 2.0 * residual / 3.0)
    return w * (1.0 + residual / above * (square - residual) / (square - 2.0 * residual))
