"""Step size that decreases as 1/√t."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive, stable_step


@final
@dataclass(frozen=True)
class InverseSqrt(StepSize):
    """γ_t = γ₀/√t.

    Parameters
    ----------
    gamma0 : float or "auto"
        The first step size. "auto" is 1/(L·max(‖x‖² + 1) + α) over the first rows, L the smoothness of the loss.

    Examples
    --------
    >>> InverseSqrt(1.0)(np.array([1, 4, 100]))
    array([1. , 0.5, 0.1])
    """

    gamma0: float | Auto = "auto"
    name: ClassVar[str] = "inverse_sqrt"

    def __post_init__(self) -> None:
        check_positive("gamma0", self.gamma0)

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        return np.asarray(float(self.gamma0) / np.sqrt(t))

    def resolve(self, preliminary: Preliminary) -> "InverseSqrt":
        """Set γ₀."""
        return InverseSqrt(stable_step(preliminary)) if self.gamma0 == "auto" else self
