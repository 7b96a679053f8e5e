"""Huber loss: quadratic for small residuals, linear for large ones."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """½r² for |r| ≤ δ, else δ|r| − ½δ²; r = z − y, δ = p[0]."""
    delta: float = p[0]
    size = abs(z - y)
    near = min(size, delta)
    return near * (size - 0.5 * near)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """r, clipped to [−δ, δ]."""
    delta: float = p[0]
    return max(min(z - y, delta), -delta)


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """1 for |r| ≤ δ, else 0."""
    return 1.0 if abs(z - y) <= p[0] else 0.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """r/(1 + q), clipped to [−δ, δ]."""
    delta: float = p[0]
    return max(min((z - y) / (1.0 + q), delta), -delta)


@final
@dataclass(frozen=True)
class Huber(Loss):
    """Huber loss of the residual r = z − y: ``½r²`` for ``|r| ≤ delta``, else ``delta·|r| − ½delta²``.

    Similar to least squares, but robust to outliers in the labels.

    Parameters
    ----------
    delta : float
        Residual, in units of the label, beyond which the loss is linear. 1.35 times the standard deviation of the
        noise gives 95 % of the efficiency of least squares for normal noise.

    Examples
    --------
    >>> from sgdone.losses import Huber
    >>> Huber(delta=1.0).value([0.0, 1.0, 10.0], 0.0)
    array([0. , 0.5, 9.5])
    """

    name: ClassVar[str] = "huber"
    task: ClassVar[LossTask] = "regression"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = 1.0  # the curvature for small residuals

    delta: float = 1.35

    def __post_init__(self) -> None:
        if not 0 < real_or_nan(self.delta) < inf:
            raise ValueError(
                f"delta={self.delta!r} of Huber is not a positive number: give the residual beyond which the loss is "
                "linear"
            )

    @property
    def lipschitz(self) -> float:
        """``delta``: the slope for large residuals."""
        return self.delta
