"""Optimal margin distribution: squared deviations from the margin 1 beyond a tolerance, one side cheaper."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses._number import number
from sgdone.losses.base import Loss, LossKernel, Parameters, Task


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """½(ξ² + υε²)/(1 − θ)²; ξ = max(0, 1 − θ − yz), ε = max(0, yz − 1 − θ), θ = p[0], υ = p[1]."""
    excess, price = _excess_and_price(y * z, p)
    return 0.5 * price * excess * excess


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """y(υε − ξ)/(1 − θ)²."""
    excess, price = _excess_and_price(y * z, p)
    return y * price * excess


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """1/(1 − θ)² below the tolerance, υ/(1 − θ)² above it, 0 within."""
    excess, price = _excess_and_price(y * z, p)
    return price if excess != 0.0 else 0.0


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """The slope over 1 + q times the curvature."""
    excess, price = _excess_and_price(y * z, p)
    return y * price * excess / (1.0 + q * price)


@inlined
def _excess_and_price(m: float, p: Parameters) -> tuple[float, float]:
    """How far the margin is beyond 1 ± θ, −ξ or ε, and the curvature there."""
    rate = 1.0 / ((1.0 - p[0]) * (1.0 - p[0]))
    if m > 1.0:
        return max(m - (1.0 + p[0]), 0.0), p[1] * rate
    return min(m - (1.0 - p[0]), 0.0), rate


_KERNEL = LossKernel(value, slope, curvature, implicit)


@final
@dataclass(frozen=True)
class OptimalMarginDistribution(Loss):
    """The loss of Zhang & Zhou's machine: margins within 1 ± θ cost nothing, others their squared distance to that.

    ``½(ξ² + υε²)/(1 − θ)²`` of a margin m = yz with ξ = max(0, 1 − θ − m) and ε = max(0, m − 1 − θ). It is the form
    in which the mean of the margins is fixed at 1, so that their variance is a sum over rows, and their λ is
    1/(2·alpha). The older form, which Holland (2018), section 2.1, prints, has the mean and the variance of all
    margins in its objective, couples the rows and is no loss of one row; its slow twin is
    ``sgdone.papers.margin_pursuit.reference.margin_moments``.

    Parameters
    ----------
    theta : float
        θ, the deviation from the margin 1 that is free, in [0, 1).
    upsilon : float
        υ, the price of a deviation to the right side against one to the wrong side, in (0, 1].

    Examples
    --------
    >>> from sgdone.losses import OptimalMarginDistribution
    >>> OptimalMarginDistribution(theta=0.5, upsilon=0.25).value([0.0, 0.5, 1.5, 2.0], 1.0)
    array([0.5  , 0.   , 0.   , 0.125])
    """

    name: ClassVar[str] = "optimal_margin_distribution"
    task: ClassVar[Task] = "classification"

    theta: float = 0.2
    upsilon: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= number(self.theta) < 1:
            raise ValueError(
                f"OptimalMarginDistribution's theta is {self.theta!r}: give the free deviation from the margin 1, "
                "a number of 0 or more and below 1"
            )
        if not 0 < number(self.upsilon) <= 1:
            raise ValueError(
                f"OptimalMarginDistribution's upsilon is {self.upsilon!r}: give the price of a deviation to the right "
                "side against one to the wrong side, a number above 0 and up to 1"
            )

    @property
    def kernel(self) -> LossKernel:
        """The scalar functions for the compiled loops."""
        return _KERNEL

    @property
    def smoothness(self) -> float:
        """1/(1 − θ)²: the curvature below the tolerance."""
        return 1.0 / (1.0 - self.theta) ** 2

    @property
    def lipschitz(self) -> float:
        """Infinite: the slope grows with the distance from the margin 1."""
        return inf
