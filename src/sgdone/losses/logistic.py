"""Logistic loss: log(1 + exp(−yz)).

Kernels take a prediction z, a label y = ±1, and the parameters p of a loss, of which this one has none. An implicit
step of size γ along the row x uses the slope at the prediction after it, z − q·s with q = γ‖x‖²: ``implicit`` finds s.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters

_LOG2 = math.log(2.0)
# σ(−2) and σ(2)σ(−2), for the tangent at the margin 2.
_SHARE_AT_2 = 0.11920292202211755
_CURVATURE_AT_2 = 0.10499358540350652
# For steps below this, the fourth-order iteration and the final expansion of σ are accurate to 1e-14.
_CLOSE = 5e-4
_MAX_ITERATIONS = 60


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """log(1 + exp(−m)), m = yz."""
    m = y * z
    e = math.exp(-abs(m))
    return max(-m, 0.0) + math.log1p(e)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−y/(1 + exp(m))."""
    m = y * z
    e = math.exp(-abs(m))
    return -y * (e if m > 0.0 else 1.0) / (1.0 + e)


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """σ(m)σ(−m)."""
    e = math.exp(-abs(y * z))
    return e / ((1.0 + e) * (1.0 + e))


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """−y·r with r = σ(−a), where the new margin a solves a = m + q·σ(−a).

    The equation is invariant under (m, a, r) → (−m − q, −a, 1 − r), so only a ≥ 0 needs to be solved. There
    G(a) = a − m − q·σ(−a) is concave. All its derivatives follow from one exponential, and |G″/G′| < 1, so a
    Householder step of order four is safe once a Newton step is below 1.
    """
    m = y * z
    mirrored = m + 0.5 * q < 0.0
    if mirrored:
        m = -(m + q)
    a = _lower_bound(m, q)
    e = 0.0
    step = 0.0
    for _ in range(_MAX_ITERATIONS):
        e = math.exp(-a)
        c = 1.0 + e
        square = c * c
        inverse = 1.0 / (square + q * e)  # 1/(c²G′)
        weight = q * e * inverse
        step = (q * e - (a - m) * c) * c * inverse  # Newton's
        if abs(step) < 1.0:
            bend = weight * (1.0 - e) * step
            third = weight * (square - 6.0 * e) * step * step / 6.0
            step *= c * (c - 0.5 * bend) / (square - bend * c + third)
        a += step
        if abs(step) < _CLOSE:
            break
    # Expand σ(−a) at the last a from the exponential of the iterate before.
    other = 1.0 / (1.0 + e)
    share = e * other
    share -= share * other * step * (1.0 - step * ((other - share) / 2.0 - step * (1.0 - 6.0 * share * other) / 6.0))
    if mirrored:
        return -y * (1.0 - share)
    # The relative error of r is that of a times σ(a) in the first formula, times 1/(q·r) in the second.
    return -y * (share if q * share <= 1.0 else (a - m) / q)


@inlined
def _lower_bound(m: float, q: float) -> float:
    """Lower bound (up to rounding) close to the root a ≥ 0 of the concave G.

    The tangents of G lie above it, so their zeros are lower bounds. For large q: R = a − m satisfies
    R + log R ≥ log q − m − log 2 =: k. So R ≥ k − log k if k ≥ 1, and R ≥ (1 + k)/2 always.
    """
    a = max(m, (m + 0.5 * q) / (1.0 + 0.25 * q))
    if q > 4.0:
        a = max(a, 2.0 + (m - 2.0 + q * _SHARE_AT_2) / (1.0 + q * _CURVATURE_AT_2))
    if q > 16.0:
        k = math.log(q) - m - _LOG2
        a = max(a, m + (k - math.log(k) if k > 1.0 else 0.5 * (1.0 + k)))
    return a


@final
@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss of a margin, ``log(1 + exp(−yz))``.

    Its minimiser is logistic regression: ``1/(1 + exp(−z))`` estimates the probability of class 1.

    Examples
    --------
    >>> from sgdone.losses import Logistic
    >>> Logistic().slope([-800.0, 0.0, 800.0], 1.0)
    array([-1. , -0.5, -0. ])
    """

    name: ClassVar[str] = "logistic"
    fades: ClassVar[bool] = True  # it tends to 0 as the margin grows, without reaching it
    task: ClassVar[LossTask] = "classification"
    probabilistic: ClassVar[bool] = True
    multinomial: ClassVar[bool] = True
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = 0.25  # the curvature at the margin 0
    lipschitz: ClassVar[float] = 1.0  # the absolute slope as the margin tends to −∞
