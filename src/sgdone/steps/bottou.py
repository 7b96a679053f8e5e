"""The step size of Bottou's SGD2, also used to initialise the diagonal of SGD-QN."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.loss import Loss
from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive


@final
@dataclass(frozen=True)
class Bottou(StepSize):
    """γ_t = 1/(α(t − 1 + t₀)): Bottou (2007), where t starts at 0.

    Parameters
    ----------
    t0 : float, "auto" or "sample"
        The first step size is 1/(αt₀); t₀ ≥ 1. "auto" is `typical_t0` times the largest v(‖x‖² + 1) of the first rows,
        v the sample weight and 1 the intercept. "sample" tries several values on the first rows; only
        `sgdone.solvers.SGD2` and `sgdone.solvers.SGDQN` support it.
    alpha : float or "auto"
        "auto" is the penalty of the model.

    Examples
    --------
    >>> Bottou(t0=2, alpha=0.5)(np.array([1, 3]))
    array([1. , 0.5])
    """

    t0: float | Literal["auto", "sample"] = "auto"
    alpha: float | Auto = "auto"
    name: ClassVar[str] = "bottou"

    def __post_init__(self) -> None:
        if self.t0 != "sample":
            check_positive("t0", self.t0)
            if self.t0 != "auto" and float(self.t0) < 1.0:
                raise ValueError(f"t0={self.t0!r} is below 1, and the penalty would reverse the sign of the weights")
        check_positive("alpha", self.alpha)

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        if self.t0 == "sample":
            raise ValueError('t0="sample" works only with SGD2() and SGDQN(), not averaged: use a number or t0="auto"')
        return np.asarray(1.0 / (float(self.alpha) * (t - 1 + float(self.t0))))

    def resolve(self, preliminary: Preliminary) -> "Bottou":
        """Set α and, unless it is "sample", t₀."""
        alpha = preliminary.alpha if self.alpha == "auto" else float(self.alpha)
        if not alpha > 0:
            raise ValueError(
                "pegasos, sgd2 and sgdqn need a positive alpha, because their step sizes are 1/(alpha·(t + t0)). "
                "Give alpha > 0, or another step"
            )
        t0 = self.t0
        if t0 == "auto":
            t0 = max(1.0, preliminary.energy * typical_t0(preliminary.loss, alpha))
        return replace(self, t0=t0, alpha=alpha)


def typical_t0(loss: Loss, alpha: float) -> float:
    """Bottou's t₀ for rows of norm 1: the first step 1/(αt₀) changes a prediction by a typical weight w = √(1/√α).

    The first step is w/max(1, |slope|), with the slope of the loss at the margin −w.

    Examples
    --------
    >>> from sgdone.losses import Hinge, SquaredHinge
    >>> round(typical_t0(Hinge(), 1e-4)), round(typical_t0(SquaredHinge(), 1e-4))  # weights of 10, slopes of 1 and 11
    (1000, 11000)
    """
    weight = sqrt(1.0 / sqrt(alpha))
    slope = loss.kernel.slope(-weight, 1.0, loss.parameters)  # plain Python: one call is not worth compiling
    first_step = weight / max(1.0, abs(float(slope)))
    return max(1.0, 1.0 / (first_step * alpha))
