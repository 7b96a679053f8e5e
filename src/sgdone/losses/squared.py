"""Squared loss: ½(y − z)²."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """½(y − z)²."""
    residual = z - y
    return 0.5 * residual * residual


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """Residual, z − y."""
    return z - y


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """1 everywhere."""
    return 1.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """(z − y)/(1 + q)."""
    return (z - y) / (1.0 + q)


@final
@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared residual, ``½(y − z)²``: least squares, for regression and for classes −1 and 1.

    Examples
    --------
    >>> from sgdone.losses import Squared
    >>> Squared().value([0.0, 1.0, 4.0], 2.0)
    array([2. , 0.5, 2. ])
    """

    name: ClassVar[str] = "squared"
    task: ClassVar[LossTask] = "both"
    quadratic: ClassVar[bool] = True
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = 1.0
    lipschitz: ClassVar[float] = inf  # the slope is the residual
