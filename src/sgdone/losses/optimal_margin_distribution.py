"""Optimal margin distribution loss: squared deviation from the margin 1 beyond a tolerance, weighted by its sign."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, final

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan


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
    """The slope divided by 1 + q times the curvature."""
    excess, price = _excess_and_price(y * z, p)
    return y * price * excess / (1.0 + q * price)


@inlined
def _excess_and_price(m: float, p: Parameters) -> tuple[float, float]:
    """Signed distance of the margin from the interval 1 ± θ (−ξ or ε), and the curvature there."""
    rate = 1.0 / ((1.0 - p[0]) * (1.0 - p[0]))
    if m > 1.0:
        return max(m - (1.0 + p[0]), 0.0), p[1] * rate
    return min(m - (1.0 - p[0]), 0.0), rate


@final
@dataclass(frozen=True)
class OptimalMarginDistribution(Loss):
    """The loss of Zhang & Zhou's optimal margin distribution machine: the squared distance from the interval 1 ± θ.

    ``½(ξ² + υε²)/(1 − θ)²`` of a margin m = yz, with ξ = max(0, 1 − θ − m) and ε = max(0, m − 1 − θ). In this form the
    mean of the margins is fixed at 1, so their variance is a sum over rows; their λ is 1/(2·alpha). The older form in
    Holland (2018), section 2.1, depends on the mean and the variance of all margins and is not a sum of losses over
    rows; see ``sgdone.papers.margin_pursuit.reference.margin_moments``.

    Parameters
    ----------
    theta : float
        θ, the deviation from the margin 1 at which the loss is 0, in [0, 1).
    upsilon : float
        υ, the weight of margins above 1 + θ relative to margins below 1 − θ, in (0, 1].

    Examples
    --------
    >>> from sgdone.losses import OptimalMarginDistribution
    >>> OptimalMarginDistribution(theta=0.5, upsilon=0.25).value([0.0, 0.5, 1.5, 2.0], 1.0)
    array([0.5  , 0.   , 0.   , 0.125])
    """

    name: ClassVar[str] = "optimal_margin_distribution"
    task: ClassVar[LossTask] = "classification"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    lipschitz: ClassVar[float] = inf  # the slope grows with the distance from the margin 1

    theta: float = 0.2
    upsilon: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= real_or_nan(self.theta) < 1:
            raise ValueError(
                f"theta={self.theta!r} of OptimalMarginDistribution is not in [0, 1): give the deviation from the "
                "margin 1 at which the loss is 0"
            )
        if not 0 < real_or_nan(self.upsilon) <= 1:
            raise ValueError(
                f"upsilon={self.upsilon!r} of OptimalMarginDistribution is not in (0, 1]: give the weight of margins "
                "above 1 + θ relative to those below 1 − θ"
            )

    @property
    def smoothness(self) -> float:
        """1/(1 − θ)²: the curvature below the tolerance."""
        return 1.0 / (1.0 - self.theta) ** 2
