"""The ε-insensitive loss: max(0, |z − y| − ε)."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """max(0, |z − y| − ε), ε = p[0]."""
    epsilon: float = p[0]
    return max(abs(z - y) - epsilon, 0.0)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """0 in the tube |z − y| ≤ ε, the sign of z − y outside."""
    if abs(z - y) <= p[0]:
        return 0.0
    return 1.0 if z > y else -1.0


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """0 away from the kinks."""
    return 0.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """clip((|z − y| − ε)/q, 0, 1) with the sign of z − y."""
    epsilon: float = p[0]
    excess = abs(z - y) - epsilon
    if excess <= 0.0:
        return 0.0
    size = 1.0 if excess >= q else excess / q
    return size if z > y else -size


@final
@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """The loss of support vector regression, ``max(0, |z − y| − epsilon)``.

    Parameters
    ----------
    epsilon : float
        Half the width of the tube around the label, in units of the label, in which the loss is 0. With 0 the loss
        is the absolute error.

    Examples
    --------
    >>> from sgdone.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value([0.25, 1.0, -3.0], 0.0)
    array([0. , 0.5, 2.5])
    """

    name: ClassVar[str] = "epsilon_insensitive"
    task: ClassVar[LossTask] = "regression"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = inf  # the slope jumps at the edges of the tube
    lipschitz: ClassVar[float] = 1.0

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= real_or_nan(self.epsilon) < inf:
            raise ValueError(
                f"epsilon={self.epsilon!r} of EpsilonInsensitive is not a non-negative number: give half the width "
                "of the tube in which the loss is 0"
            )
