"""The step size of stochastic margin pursuit as printed in the paper."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.margin_pursuit import MarginPursuit
from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive


@final
@dataclass(frozen=True)
class Pursuit(StepSize):
    """γ_t = 1/(s·√α·t): Holland (2018), section 4, where it is (s√λ(1 + t))⁻¹ with t starting at 0.

    For `sgdone.losses.MarginPursuit` with `sgdone.solvers.Pegasos`, which projects onto the ball of radius 1/√α. The
    slope of the loss is s·ψ, so s cancels in the gradient step and remains in the shrinkage γα = √α/(s·t). The
    alternative is the step size of Pegasos, 1/(αt).

    Parameters
    ----------
    alpha : float or "auto"
        "auto" is the penalty of the model.
    scale : float or "auto"
        s. "auto" is the scale of the loss, also when a fit changes it.
    now : float, optional
        Current value of an automatic scale. Set by `resolve`.

    Examples
    --------
    >>> Pursuit(alpha=0.25, scale=2.0)(np.array([1, 4]))
    array([1.  , 0.25])
    """

    alpha: float | Auto = "auto"
    scale: float | Auto = "auto"
    now: float | None = None
    name: ClassVar[str] = "pursuit"

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)
        check_positive("scale", self.scale)
        if self.now is not None:
            check_positive("now", self.now)

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        scale = self.now if self.now is not None else float(self.scale)
        return np.asarray(1.0 / (scale * np.sqrt(float(self.alpha)) * t))

    def resolve(self, preliminary: Preliminary) -> "Pursuit":
        """Set α and s."""
        alpha = preliminary.alpha if self.alpha == "auto" else float(self.alpha)
        if not alpha > 0:
            raise ValueError("step='pursuit' needs a positive alpha, because its step sizes are 1/(s·√alpha·t)")
        now, loss = None, preliminary.loss
        if self.scale == "auto":
            if not isinstance(loss, MarginPursuit):
                raise ValueError(f"step='pursuit' takes s from the loss, but {loss.name!r} has no scale: give scale=")
            now = float(loss.parameters[1])
        return replace(self, alpha=alpha, now=now)
