"""Hinge loss: max(0, 1 − yz)."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """max(0, 1 − yz)."""
    return max(1.0 - y * z, 0.0)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−y while yz ≤ 1."""
    return -y if y * z <= 1.0 else 0.0


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """0 on both sides of the kink."""
    return 0.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """−y·clip((1 − yz)/q, 0, 1)."""
    short = 1.0 - y * z
    if short >= q:
        return -y
    if short <= 0.0:
        return 0.0
    return -y * short / q


@final
@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss of a margin, ``max(0, 1 − yz)``: the linear support vector machine.

    At the kink ``yz = 1`` its slope is ``−y``.

    Examples
    --------
    >>> from sgdone.losses import Hinge
    >>> Hinge().value([-1.0, 0.5, 2.0], 1.0)
    array([2. , 0.5, 0. ])
    """

    name: ClassVar[str] = "hinge"
    task: ClassVar[LossTask] = "classification"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = inf  # the slope jumps at the margin 1
    lipschitz: ClassVar[float] = 1.0
