"""The step size of gradient descent on all rows."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive


@final
@dataclass(frozen=True)
class Descent(StepSize):
    """γ = 1/(L·R + α), R the mean v(‖x‖² + 1) of the rows, for smooth losses: no step raises the objective.

    L is the loss's smoothness and R a bound on the largest eigenvalue of the mean of v·xxᵀ, intercept included, so that
    L·R + α bounds the curvature of the whole objective: each step lowers it by ½γ‖gradient‖² at least (Nesterov 2004,
    section 1.2.3). A loss that is not smooth, the hinge say, goes on jumping at constant steps and gets γ_t = γ/√t with
    1 in the place of L, which promises the rate and no descent. With `sgdone.solvers.GD` and those like it R is over
    all rows, with other solvers over the first 1000.

    Parameters
    ----------
    gamma : float or "auto"
        γ.
    falling : bool or "auto"
        Whether steps fall as 1/√t; "auto" lets them if the loss is not smooth.
    curvature : float
        What a method adds to L.

    Examples
    --------
    >>> Descent(0.5, falling=True)(np.array([1, 4, 100]))
    array([0.5 , 0.25, 0.05])
    """

    gamma: float | Auto = "auto"
    falling: bool | Auto = "auto"
    curvature: float = 0.0
    name: ClassVar[str] = "descent"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        if not 0 <= self.curvature < np.inf:
            raise ValueError(f"curvature={self.curvature!r} is not a finite number of 0 or more")
        if self.falling != "auto" and not isinstance(self.falling, (bool, np.bool_)):
            raise ValueError(f'falling={self.falling!r} is neither True, False nor "auto"')

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """γ at the steps ``t``."""
        gamma = float(self.gamma)
        return np.asarray(gamma / np.sqrt(t)) if self.falling else np.full(t.shape, gamma)

    def resolve(self, preliminary: Preliminary) -> "Descent":
        """Fill in γ, and whether it falls."""
        size = (preliminary.curvature + self.curvature) * preliminary.mean_energy + preliminary.alpha
        gamma = (1.0 / size if size > 0 else 1.0) if self.gamma == "auto" else self.gamma
        smooth = bool(np.isfinite(preliminary.loss.smoothness))
        return replace(self, gamma=gamma, falling=not smooth if self.falling == "auto" else self.falling)
