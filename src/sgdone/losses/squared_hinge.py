"""Squared hinge loss: ½max(0, 1 − yz)²."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """½max(0, 1 − yz)²."""
    short = max(1.0 - y * z, 0.0)
    return 0.5 * short * short


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−y·max(0, 1 − yz)."""
    return -y * max(1.0 - y * z, 0.0)


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """1 while yz < 1."""
    return 1.0 if y * z < 1.0 else 0.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """−y·max(0, 1 − yz)/(1 + q)."""
    return -y * max(1.0 - y * z, 0.0) / (1.0 + q)


@final
@dataclass(frozen=True)
class SquaredHinge(Loss):
    """Half the squared hinge of a margin, ``½max(0, 1 − yz)²``: the L2 support vector machine.

    Examples
    --------
    >>> from sgdone.losses import SquaredHinge
    >>> SquaredHinge().value([-1.0, 0.0, 2.0], 1.0)
    array([2. , 0.5, 0. ])
    """

    name: ClassVar[str] = "squared_hinge"
    task: ClassVar[LossTask] = "classification"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = 1.0  # the curvature below the margin 1
    lipschitz: ClassVar[float] = inf  # the slope grows with the distance from the margin 1
