"""The step size of Xu (2011) for averaged SGD."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive, stable_step


@final
@dataclass(frozen=True)
class Xu(StepSize):
    """γ_t = γ₀(1 + a·γ₀·t)^−c: Xu (2011), eq. (3).

    Parameters
    ----------
    gamma0 : float or "auto"
        The first step size. "auto" is 1/(L·max v(‖x‖² + 1) + α) over the first 1000 rows, L the smoothness of the
        loss, v the sample weight and 1 the intercept. It is reduced when a larger row is read.
    a : float or "auto"
        Rate of decrease. "auto" is α, with which the paper replaces the smallest curvature of the risk.
    c : float or "auto"
        Exponent of the decrease. "auto" is 2/3 for the squared loss and 3/4 otherwise (Corollaries 6 and 9).
    energy : float
        Largest v(‖x‖² + 1) for which an automatic γ₀ is valid. Set by `resolve`.
    literal : bool
        Whether to set γ₀ as printed in the paper; see `as_printed`.

    Examples
    --------
    >>> Xu(gamma0=0.5, a=0.0, c=0.75)(np.array([1, 1000]))
    array([0.5, 0.5])
    >>> Xu(gamma0=1.0, a=1.0, c=0.5)(np.array([3, 8]))
    array([0.5       , 0.33333333])
    """

    gamma0: float | Auto = "auto"
    a: float | Auto = "auto"
    c: float | Auto = "auto"
    energy: float = float("inf")
    literal: bool = False
    name: ClassVar[str] = "xu"

    def __post_init__(self) -> None:
        check_positive("gamma0", self.gamma0)
        check_positive("c", self.c)
        if self.a != 0:
            check_positive("a", self.a)

    @classmethod
    def as_printed(cls) -> "Xu":
        """γ₀ = 1/M as printed, M the largest ‖x‖² of the first 1000 rows (sections 3 and 6.3).

        It ignores the curvature of the loss, the intercept and the penalty. With features of size 1e-3 the steps are
        so large that the penalty reverses the sign of the weights. Use it only to reproduce the paper.
        """
        return cls(literal=True)

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        gamma0, a = float(self.gamma0), float(self.a)
        clock = t * (a * gamma0)
        clock += 1.0
        if self.c != 0.75:
            return np.asarray(gamma0 * clock ** -float(self.c))
        root = np.sqrt(clock, out=clock)
        root *= np.sqrt(root)
        return np.asarray(np.divide(gamma0, root, out=root))

    def resolve(self, preliminary: Preliminary) -> "Xu":
        """Set the "auto" parameters, or reduce an automatic γ₀ for a row larger than all before."""
        gamma0, energy = self.gamma0, self.energy
        if self.literal and gamma0 == "auto":
            gamma0 = 1.0 / preliminary.norm if preliminary.norm > 0 else 1.0
        elif gamma0 == "auto" or preliminary.energy > energy:
            gamma0, energy = stable_step(preliminary), preliminary.energy
        exponent = 2 / 3 if preliminary.loss.quadratic else 3 / 4
        return replace(
            self,
            gamma0=gamma0,
            energy=energy,
            a=preliminary.alpha if self.a == "auto" else self.a,
            c=exponent if self.c == "auto" else self.c,
        )
