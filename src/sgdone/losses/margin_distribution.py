"""Margin distribution loss: exp(−α·m²) for margins m > 0, exp(−β·m) for m ≤ 0."""

import math
from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.exponential import _NO_MOVE, _exp_or_inf, _lambert_of_exp
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan

#: From here on exp(−x) and x·exp(−x) underflow to 0.
_VANISHED = 800.0
_MAX_ITERATIONS = 200
_CLOSE = 2.0**-52


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """exp(−αm²) if m > 0, else exp(−βm); m = yz, α = p[0], β = p[1]."""
    m = y * z
    return _exp_or_inf(-p[1] * m) if m <= 0.0 else math.exp(-p[0] * m * m)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−2αym·exp(−αm²) if m > 0, else −βy·exp(−βm)."""
    alpha: float = p[0]
    beta: float = p[1]
    m = y * z
    return -y * (beta * _exp_or_inf(-beta * m) if m <= 0.0 else 2.0 * alpha * m * math.exp(-alpha * m * m))


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """(4α²m² − 2α)exp(−αm²) if m > 0, below 0 for αm² < ½; else β²exp(−βm)."""
    alpha: float = p[0]
    beta: float = p[1]
    m = y * z
    if m <= 0.0:
        return beta * beta * _exp_or_inf(-beta * m)
    square = alpha * m * m
    return 0.0 if square > _VANISHED else 2.0 * alpha * (2.0 * square - 1.0) * math.exp(-square)


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """−y·r, where the new margin a = m + qr is the proximal point: the minimiser of ℓ(a) + (a − m)²/(2q).

    Stationary points satisfy r = −ℓ′(a), or 0 ≤ r ≤ β at the kink a = 0. For m > 0 there is one. For m ≤ 0 there is one
    with a ≤ 0, and there may be another minimum with a > 0: the lower one is used.
    """
    m = y * z
    if q <= 0.0 or math.isnan(m):
        return slope(z, y, p)
    if m > 0.0:
        return -y * _right_of_right(m, q, p[0])
    r = _wrong_side(m, q, p[1])
    other = _right_of_wrong(m, q, p[0])
    if other > 0.0:
        here, there = m + q * r, m + q * other
        if math.exp(-p[0] * there * there) + 0.5 * q * other * other < math.exp(-p[1] * here) + 0.5 * q * r * r:
            r = other
    return -y * r


@inlined
def _wrong_side(m: float, q: float, beta: float) -> float:
    """Step of the exponential loss exp(−βm), W(β²q·exp(−βm))/(βq), limited to the step to the kink."""
    k = math.log(beta) + math.log(beta * q) - beta * m
    r = beta * math.exp(-beta * m) if k < _NO_MOVE else _lambert_of_exp(k) / (beta * q)
    return min(r, -m / q)


@inlined
def _right_of_right(m: float, q: float, alpha: float) -> float:
    """For m > 0: with t = √α·a, μ = √α·m, κ = 2αq and x = log(t − μ), the root of g(x) = x + t² − log(κt).

    g increases: g′ = μ/t + 2t(t − μ). Newton steps that leave the bracket are replaced by bisection.
    """
    root = math.sqrt(alpha)
    mu = root * m
    log_kappa = math.log(2.0 * alpha) + math.log(q)
    # t·exp(−t²) ≤ e^(−½)/√2 bounds t − μ by 0.43κ; where t − μ ≥ μ, t² ≤ log(2κ) bounds t.
    high = log_kappa + math.log(0.43)
    if log_kappa > 0.0:
        high = min(high, math.log(max(1.0, mu, math.sqrt(log_kappa + 1.0))))
    far = mu + math.exp(high)
    low = log_kappa + min(math.log(mu) - mu * mu, math.log(far) - far * far)
    x = high
    for _ in range(_MAX_ITERATIONS):
        gap = math.exp(x)
        t = mu + gap
        g = x - math.log(t) + t * t - log_kappa
        if g > 0.0:
            high = x
        else:
            low = x
        new = x - g / (mu / t + 2.0 * t * gap)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        step = new - x
        x = new
        if abs(step) <= _CLOSE * max(1.0, abs(x)):
            break
    return math.exp(x) / (root * q)


@inlined
def _right_of_wrong(m: float, q: float, alpha: float) -> float:
    """For m ≤ 0: the largest root t of G(t) = log(1 + |μ|/t) + t² − log κ, or −1 if there is none.

    G is convex and non-negative at t² = log κ. From there Newton's method converges to the largest root from above, or
    passes the minimum if there is no root.
    """
    root = math.sqrt(alpha)
    mu = -root * m
    log_kappa = math.log(2.0 * alpha) + math.log(q)
    if log_kappa <= 0.0:
        return -1.0
    t = math.sqrt(log_kappa)
    for _ in range(_MAX_ITERATIONS):
        G = math.log1p(mu / t) + (t * t - log_kappa)
        rise = 2.0 * t - mu / (t * (t + mu))
        step = G / rise if rise > 0.0 else t
        if step >= t:
            return -1.0
        t -= step
        if step <= _CLOSE * t:
            break
    return (t + mu) / (root * q)


@final
@dataclass(frozen=True)
class MarginDistribution(Loss):
    """Garg & Roth's loss of a margin m = yz: ``exp(−αm²)`` for correctly classified rows (m > 0), else ``exp(−βm)``.

    For m > 0 it is their bound on the error of a random projection, for m ≤ 0 the exponential loss. It is *not convex*:
    its curvature is negative where m > 0 and αm² < ½, and at m = 0 its absolute slope drops from β to 0. A fit may find
    a local minimum that depends on the starting point. An implicit step may cross the kink; from m = 0 it stays there
    while 2αq ≤ 1. The theory assumes rows of norm 1. Cost: one exponential per row.

    Parameters
    ----------
    alpha, beta : float
        α and β, the rates of the loss for correctly classified and for misclassified rows; positive.

    Examples
    --------
    >>> from sgdone.losses import MarginDistribution
    >>> MarginDistribution(alpha=1.0, beta=1.0).value([-1.0, 0.0, 1.0, 2.0], 1.0).round(4)
    array([2.7183, 1.    , 0.3679, 0.0183])
    """

    name: ClassVar[str] = "margin_distribution"
    task: ClassVar[LossTask] = "classification"
    convex: ClassVar[bool] = False
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = inf  # the slope jumps at the margin 0
    lipschitz: ClassVar[float] = inf  # the slope is unbounded for negative margins

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        for field, rows in (("alpha", "correctly classified"), ("beta", "misclassified")):
            if not 0 < real_or_nan(getattr(self, field)) < inf:
                raise ValueError(
                    f"{field}={getattr(self, field)!r} of MarginDistribution is not a positive number: give the rate "
                    f"of the loss for {rows} rows"
                )
