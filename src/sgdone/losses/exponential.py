"""Exponential loss: exp(−yz)."""

import math
from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters

_LARGEST_EXPONENT = 709.782712893384
# q·r below exp(−37) changes no bit of r.
_NO_MOVE = -37.0


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """exp(−yz)."""
    return _exp_or_inf(-y * z)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−y·exp(−yz)."""
    return -y * _exp_or_inf(-y * z)


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """exp(−yz)."""
    return _exp_or_inf(-y * z)


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """−y·r with r = exp(−yz − q·r): Lambert's function, W(q·exp(−yz))/q."""
    if q <= 0.0:
        return -y * _exp_or_inf(-y * z)
    k = math.log(q) - y * z
    if k < _NO_MOVE:
        return -y * math.exp(-y * z)
    return -y * _lambert_of_exp(k) / q


@inlined
def _exp_or_inf(x: float) -> float:
    # Uncompiled math.exp raises OverflowError where compiled code returns infinity.
    return inf if x > _LARGEST_EXPONENT else math.exp(x)


@inlined
def _lambert_of_exp(k: float) -> float:
    """Solve w + log(w) = k, for k ≥ −37.

    Two iterations of order four: Fritsch, Shafer and Crowley (1973), Algorithm 443. The relative error is at most 17 %
    at the start, 1e-5 after the first iteration and rounding after the second.
    """
    if k > 1.0:
        w = k - math.log(k)
    else:
        x = math.exp(k)
        w = x * (1.0 + x * (4.0 / 3.0)) / (1.0 + x * (7.0 / 3.0 + x * (5.0 / 6.0)))
    for _ in range(2):
        gap = k - w - math.log(w)
        c = 1.0 + w
        d = 2.0 * c * (c + gap * (2.0 / 3.0))
        w *= 1.0 + gap / c * (d - gap) / (d - 2.0 * gap)
    return w


@final
@dataclass(frozen=True)
class Exponential(Loss):
    """The exponential loss of a margin, ``exp(−yz)``, as in AdaBoost. Infinite if it overflows.

    Examples
    --------
    >>> from sgdone.losses import Exponential
    >>> Exponential().value([-1e6, 0.0, 1e6], 1.0)
    array([inf,  1.,  0.])
    """

    name: ClassVar[str] = "exponential"
    fades: ClassVar[bool] = True
    task: ClassVar[LossTask] = "classification"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = inf  # the curvature is unbounded for negative margins
    lipschitz: ClassVar[float] = inf  # the slope is unbounded for negative margins
