"""Quantile (pinball) loss: slope −`level` below the label and 1 − `level` above it."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """level·(y − z) if y > z, else (1 − level)·(z − y); level = p[0]."""
    level: float = p[0]
    return level * (y - z) if y > z else (1.0 - level) * (z - y)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−level if y > z, 1 − level if y < z; 0, a subgradient, if equal."""
    level: float = p[0]
    if y > z:
        return -level
    return 1.0 - level if y < z else 0.0


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """0 on both sides of the kink."""
    return 0.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """clip((z − y)/q, −level, 1 − level)."""
    level: float = p[0]
    residual = z - y
    if residual >= q * (1.0 - level):
        return 1.0 - level if residual > 0.0 else 0.0
    if residual <= -q * level:
        return -level
    return residual / q


@final
@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss, ``level·(y − z)`` if ``y > z``, else ``(1 − level)·(z − y)``.

    Its minimiser estimates the quantile ``level`` of the label: 0.5 gives the median.

    Parameters
    ----------
    level : float
        The quantile to estimate, between 0 and 1.

    Examples
    --------
    >>> from sgdone.losses import Quantile
    >>> Quantile(level=0.75).value([-2.0, 0.0, 2.0], 0.0)
    array([1.5, 0. , 0.5])
    """

    name: ClassVar[str] = "quantile"
    task: ClassVar[LossTask] = "regression"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = inf  # the slope jumps at the label

    level: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < real_or_nan(self.level) < 1:
            raise ValueError(
                f"level={self.level!r} of Quantile is not in (0, 1): give the quantile to estimate "
                "(0.9 for the 90th percentile)"
            )

    @property
    def lipschitz(self) -> float:
        """The larger of the two slopes."""
        return max(self.level, 1.0 - self.level)
