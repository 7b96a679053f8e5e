"""The implicit step of a softmax: the slopes s of all classes with s = ∇ℓ(z − q·s), by Wright's omega.

With u = z − q·s, p the softmax of u and e the unit vector of the row's class, s = p − e. Wright's omega of a real t is
the w with w + log w = t.
"""

import math
from typing import Any

from sgdone.kernels.jit import inlined

_OMEGA_ITERATIONS = 4
_OMEGA_CLOSE = 1e-4
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
    for _ in range(_OMEGA_ITERATIONS):
        before = w
        w = refined(t, w)
        if abs(w - before) < _OMEGA_CLOSE * w:
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


#: Newton's method is applied to all predictions up to this q and this distance of the row's class from the largest.
_MODERATE, _FAR = 16.0, 600.0
_MAX_ITERATIONS = 100
_CLOSE = 1e-8
_ROUNDING = 1e-15
#: Below this q the slopes are those at z, to the last digit.
_NO_STEP = 1e-16
#: After a step of λ below this, one iteration makes the last ω the new one, to the last digit.
_NEAR = 1e-2


@inlined
def softmax_slopes(z: Any, count: Any, label: Any, q: Any, parameters: Any, out: Any, room: Any) -> None:
    """Write s to ``out``."""
    own = int(label)
    largest = z[0]
    for k in range(1, count):
        largest = max(largest, z[k])
    if q <= _MODERATE and largest - z[own] <= _FAR:
        _by_all_predictions(z, count, own, q, largest, out, room)
    else:
        _by_one_number(z, count, own, q, out)


@inlined
def _by_all_predictions(z: Any, count: Any, own: Any, q: Any, largest: Any, out: Any, change: Any) -> None:
    """Newton's method for log Σ exp(u) − u of the row's class + ‖u − z‖²/(2q), no step beyond 1.

    Its Hessian is a diagonal less a matrix of rank one: with D = 1 + q·p and r = u − z + q·s the step is
    −(r + a·q·p)/D with a = Σ(p·r/D)/Σ(p/D). Exponentials are taken once, then multiplied by those of the steps.
    """
    total = 0.0
    for k in range(count):
        out[k] = math.exp(z[k] - largest)
        total += out[k]
        change[k] = 0.0
    for _ in range(_MAX_ITERATIONS):
        inverse = 1.0 / total
        along = 0.0
        weight = 0.0
        for k in range(count):
            p = out[k] * inverse
            part = p / (1.0 + q * p)
            along += part * (change[k] + q * p - (q if k == own else 0.0))
            weight += part
        along /= weight
        longest = 0.0
        total = 0.0
        for k in range(count):
            p = q * out[k] * inverse
            step = -(change[k] + p * (1.0 + along) - (q if k == own else 0.0)) / (1.0 + p)
            step = min(max(step, -1.0), 1.0)
            longest = max(longest, abs(step))
            change[k] += step
            out[k] += out[k] * _expm1(step)
            total += out[k]
        if longest < _CLOSE:
            break
    inverse = 1.0 / total
    others = 0.0
    for k in range(count):
        out[k] *= inverse
        if k != own:
            others += out[k]
    out[own] = -others


@inlined
def _expm1(x: float) -> float:
    """``exp(x) − 1`` for |x| ≤ 1 to a unit or two in the last place, without a call that would keep a loop scalar."""
    y = 0.0625 * x
    terms = 1.0 / 120.0 + y * (1.0 / 720.0 + y * (1.0 / 5040.0 + y / 40320.0))
    m = y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0 + y * terms))))
    for _ in range(4):
        m *= 2.0 + m
    return m


@inlined
def _by_one_number(z: Any, count: Any, own: Any, q: Any, out: Any) -> None:
    """The same by Newton's method on a single number, for steps and distances of any size.

    With c = z + q·e and λ = log Σ exp(u), each p = ω(log q + c − λ)/q, ω being Wright's function, and Σp = 1 settles
    λ. The sum is convex and decreasing in λ, so that Newton's method climbs to the root from below, where a step from
    above leads.
    """
    largest = z[0]
    mean = 0.0
    for k in range(count):
        largest = max(largest, z[k])
        mean += z[k]
    total = 0.0
    for k in range(count):
        out[k] = math.exp(z[k] - largest)
        total += out[k]
    if q < _NO_STEP:
        others = 0.0
        for k in range(count):
            out[k] /= total
            others += out[k] if k != own else 0.0
        out[own] = -others
        return
    root = largest + math.log(total)
    # Where a step of each prediction by itself would lead, or else below the root: no p exceeds 1, and Jensen for ω.
    for k in range(count):
        share = out[k] / total
        root -= share * q * (share - (1.0 if k == own else 0.0)) / (1.0 + q * share * (1.0 - share))
    root = max(root, max(largest, z[own] + q) - q)
    root = max(root, (mean + q) / count + math.log(count) - q / count)
    log_q = math.log(q)
    step = 1.0
    for _ in range(_MAX_ITERATIONS):
        excess = -1.0
        fall = 0.0
        for k in range(count):
            t = log_q + z[k] + (q if k == own else 0.0) - root
            w = refined(t, q * out[k]) if abs(step) < _NEAR else omega(t)
            out[k] = w / q
            excess += out[k]
            fall += out[k] / (1.0 + w)
        step = excess / fall
        root += step
        if abs(step) < _CLOSE + _ROUNDING * (abs(root) + q):
            # What the last step changes, to first order: its square is below rounding.
            for k in range(count):
                out[k] -= out[k] / (1.0 + q * out[k]) * step
            break
    others = 0.0
    for k in range(count):
        if k != own:
            others += out[k]
    out[own] = -others
