"""A step size that falls as one over time."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive, stable_step


@final
@dataclass(frozen=True)
class InverseTime(StepSize):
    """γ_t = γ₀/(1 + a·γ₀·t): the best schedule for an iterate that is not averaged (Xu 2011, eq. (8): c = 1).

    Parameters
    ----------
    gamma0 : float or "auto"
        The first step size; "auto" is 1/(L·max v(‖x‖² + 1) + α) as in `Xu`, lowered for larger rows met later.
    a : float or "auto"
        How soon the step falls; "auto" is α.
    energy : float
        The row size that an automatic γ₀ was made for; not for the user.

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
        """γ at the samples ``t``."""
        gamma0 = float(self.gamma0)
        return np.asarray(gamma0 / (1.0 + float(self.a) * gamma0 * t))

    def resolve(self, preliminary: Preliminary) -> "InverseTime":
        """Fill in what is "auto", or lower an automatic γ₀ for a row larger than those it was made for."""
        gamma0, energy = self.gamma0, self.energy
        if gamma0 == "auto" or preliminary.energy > energy:
            gamma0, energy = stable_step(preliminary), preliminary.energy
        a = preliminary.alpha if self.a == "auto" else self.a
        return replace(self, gamma0=gamma0, a=a, energy=energy)

    @property
    def energy_limit(self) -> float:
        """The largest row an automatic γ₀ was made for."""
        return self.energy
