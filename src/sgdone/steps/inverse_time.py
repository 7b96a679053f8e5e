"""Step size that decreases as 1/t."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive, stable_step


@final
@dataclass(frozen=True)
class InverseTime(StepSize):
    """γ_t = γ₀/(1 + a·γ₀·t): the optimal schedule without averaging (Xu 2011, eq. (8): c = 1).

    Parameters
    ----------
    gamma0 : float or "auto"
        The first step size. "auto" is 1/(L·max v(‖x‖² + 1) + α) as in `Xu`; it is reduced when a larger row is read.
    a : float or "auto"
        Rate of decrease. "auto" is α.
    energy : float
        Largest v(‖x‖² + 1) for which an automatic γ₀ is valid. Set by `resolve`.

    Examples
    --------
    >>> InverseTime(gamma0=1.0, a=1.0)(np.array([1, 9]))
    array([0.5, 0.1])
    """

    gamma0: float | Auto = "auto"
    a: float | Auto = "auto"
    energy: float = float("inf")
    name: ClassVar[str] = "inverse_time"

    def __post_init__(self) -> None:
        check_positive("gamma0", self.gamma0)
        if self.a != 0:
            check_positive("a", self.a)

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        gamma0 = float(self.gamma0)
        return np.asarray(gamma0 / (1.0 + float(self.a) * gamma0 * t))

    def resolve(self, preliminary: Preliminary) -> "InverseTime":
        """Set the "auto" parameters, or reduce an automatic γ₀ for a row larger than all before."""
        gamma0, energy = self.gamma0, self.energy
        if gamma0 == "auto" or preliminary.energy > energy:
            gamma0, energy = stable_step(preliminary), preliminary.energy
        a = preliminary.alpha if self.a == "auto" else self.a
        return replace(self, gamma0=gamma0, a=a, energy=energy)
