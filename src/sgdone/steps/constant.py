"""Constant step size."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive, stable_step


@final
@dataclass(frozen=True)
class Constant(StepSize):
    """γ_t = γ.

    Parameters
    ----------
    gamma : float or "auto"
        The step size. "auto" is 1/(L·max(‖x‖² + 1) + α) over the first rows, L the smoothness of the loss.
    fraction : float
        Factor applied to the automatic step size.

    Examples
    --------
    >>> Constant(0.5)(np.array([1, 10]))
    array([0.5, 0.5])
    """

    gamma: float | Auto = "auto"
    fraction: float = 1.0
    name: ClassVar[str] = "constant"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_positive("fraction", self.fraction)

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        return np.full(t.shape, float(self.gamma))

    def resolve(self, preliminary: Preliminary) -> "Constant":
        """Set γ."""
        return Constant(self.fraction * stable_step(preliminary)) if self.gamma == "auto" else self
