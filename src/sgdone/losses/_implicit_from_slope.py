"""Implicit step and curvature computed from the slope alone: by root finding and by a finite difference."""

import math

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Parameters, ScalarFunction

_EPSILON = 2.0**-52
# Roots below the smallest count as 0; slopes are clipped to the largest.
_SMALLEST = 1e-305
_LARGEST = 1e300
_MAX_ITERATIONS = 300
# The cube root of ε balances rounding and truncation error of a central difference.
_DIFFERENCE = 6e-6


def implicit_from(slope: ScalarFunction) -> ScalarFunction:
    """Build ``implicit(z, y, q, p)`` from a nondecreasing ``slope(z, y, p)``, which may jump.

    With ``d`` the sign of the slope at ``z``, ``x = |s|`` solves ``f(x) = x − d·slope(z − q·d·x) = 0``;
    ``f`` increases, and ``f(0) < 0 ≤ f(|slope(z)|)``. Chandrupatla's method (1997) combines interpolation and
    bisection. It closes the bracket to a few units in the last place, so it finds jumps as well as roots.
    """

    @inlined
    def implicit(z: float, y: float, q: float, p: Parameters) -> float:
        first = slope(z, y, p)
        if q <= 0.0 or first == 0.0 or math.isnan(first):
            return first
        sign = 1.0 if first > 0.0 else -1.0
        high = min(abs(first), _LARGEST)
        far = sign * slope(z - q * sign * high, y, p)
        at_high = high - far
        if at_high <= 0.0:
            return sign * high
        low = 0.0
        at_low = -high
        # The slope decreases along the step, so the slope at the far end is a lower bound of the root.
        if far > 0.0:
            low = far
            at_low = low - sign * slope(z - q * sign * low, y, p)
            if at_low >= 0.0:
                return sign * low

        # a is the latest point, b the other end of the bracket, c the previous point.
        a, at_a = high, at_high
        b, at_b = low, at_low
        c, at_c = a, at_a
        shrink = 0.5
        new = _middle(low, high, shrink)
        for _ in range(_MAX_ITERATIONS):
            at_new = new - sign * slope(z - q * sign * new, y, p)
            if (at_new > 0.0) == (at_a > 0.0):
                c, at_c = a, at_a
            else:
                c, at_c = b, at_b
                b, at_b = a, at_a
            a, at_a = new, at_new
            width = abs(b - a)
            tolerance = 2.0 * _EPSILON * max(a, b) + _SMALLEST
            if at_a == 0.0 or width <= 2.0 * tolerance:
                break
            low = min(a, b)
            high = max(a, b)
            new = high
            xi = (a - b) / (c - b)
            phi = (at_a - at_b) / (at_c - at_b)
            if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
                inverse_quadratic = at_a / (at_b - at_a) * (at_c / (at_b - at_c))
                inverse_quadratic += (c - a) / (b - a) * (at_a / (at_c - at_a)) * (at_b / (at_c - at_b))
                limit = tolerance / width
                new = a + min(max(inverse_quadratic, limit), 1.0 - limit) * (b - a)
            # Also if the products above overflow; compiled code may reorder them.
            if not low < new < high:
                new = _middle(low, high, shrink)
                if low == 0.0:
                    shrink *= shrink
        return sign * (a if abs(at_a) < abs(at_b) else b)

    return implicit


def curvature_from(slope: ScalarFunction) -> ScalarFunction:
    """Build ``curvature(z, y, p)`` as a central difference of ``slope(z, y, p)``."""

    @inlined
    def curvature(z: float, y: float, p: Parameters) -> float:
        h = _DIFFERENCE * max(1.0, abs(z))
        above = z + h
        below = z - h
        return max((slope(above, y, p) - slope(below, y, p)) / (above - below), 0.0)

    return curvature


@inlined
def _middle(low: float, high: float, shrink: float) -> float:
    """Next point of a bisection: of the exponent while the bracket is wide, then of the value."""
    if low == 0.0:
        return high * shrink
    if high > 4.0 * low:
        return math.sqrt(low) * math.sqrt(high)
    return 0.5 * (low + high)
