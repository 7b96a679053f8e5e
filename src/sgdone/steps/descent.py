"""The step size of full gradient descent."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive


@final
@dataclass(frozen=True)
class Descent(StepSize):
    """γ = 1/(L·R + α), R the mean of v(‖x‖² + 1) over the rows. For a smooth loss, no step increases the objective.

    L is the smoothness of the loss. R bounds the largest eigenvalue of the mean of v·xxᵀ, intercept included, so
    L·R + α bounds the curvature of the objective. Each step decreases it by at least ½γ‖gradient‖² (Nesterov 2004,
    section 1.2.3). With a loss that is not smooth, such as the hinge, a constant step oscillates; the step size is then
    γ_t = γ/√t with L = 1, which guarantees the rate but not descent. With `sgdone.solvers.GD` and similar solvers R is
    the mean over all rows, with other solvers over the first 1000.

    Parameters
    ----------
    gamma : float or "auto"
        γ.
    falling : bool or "auto"
        Whether the step size decreases as 1/√t. "auto" is True if the loss is not smooth.
    curvature : float
        Curvature that the solver adds to L.

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
            raise ValueError(f"curvature={self.curvature!r} is not a non-negative finite number")
        if self.falling != "auto" and not isinstance(self.falling, (bool, np.bool_)):
            raise ValueError(f'falling={self.falling!r} is neither True, False nor "auto"')

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the steps ``t``."""
        gamma = float(self.gamma)
        return np.asarray(gamma / np.sqrt(t)) if self.falling else np.full(t.shape, gamma)

    def resolve(self, preliminary: Preliminary) -> "Descent":
        """Set γ, and whether it decreases."""
        size = (preliminary.curvature + self.curvature) * preliminary.mean_energy + preliminary.alpha
        gamma = (1.0 / size if size > 0 else 1.0) if self.gamma == "auto" else self.gamma
        smooth = bool(np.isfinite(preliminary.loss.smoothness))
        return replace(self, gamma=gamma, falling=not smooth if self.falling == "auto" else self.falling)
