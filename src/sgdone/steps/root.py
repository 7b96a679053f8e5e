"""Step size for implicit SGD: set from the mean squared norm of the rows, decreasing as 1/√t."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import Auto, Preliminary, StepSize, check_positive

#: Default of τ divided by R.
_DELAY = 10.0


@final
@dataclass(frozen=True)
class Root(StepSize):
    """γ_t = γ₀(1 + t/τ)^−½ with γ₀ = g/(L·R + α), R the typical v(‖x‖² + 1) of the first rows.

    R is the mean after clipping at ten times the median. These steps are too large for the largest rows. Averaged
    implicit SGD is stable with them; explicit SGD may diverge. They decrease as slowly as averaging allows (Bach &
    Moulines 2011), so that the influence of the starting point vanishes.

    Parameters
    ----------
    gain : float
        g, from 1 (dense correlated features) to 16 (sparse uncorrelated features).
    gamma0 : float or "auto"
        The first step size.
    tau : float or "auto"
        Number of samples after which the step size is γ₀/√2. "auto" is 10R.

    Examples
    --------
    >>> Root(gamma0=1.0, tau=100.0)(np.array([100, 300]))
    array([0.70710678, 0.5       ])
    >>> from sgdone import SGDClassifier
    >>> from sgdone.solvers import ISGD, Averaged
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((3000, 5))
    >>> X[7] *= 1000  # one outlier, for which other step sizes would be very small
    >>> model = SGDClassifier(solver=Averaged(ISGD(), after=0, decay=3), step=Root(), stop=1, random_state=0)
    >>> model.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.98
    True
    """

    gain: float = 1.0
    gamma0: float | Auto = "auto"
    tau: float | Auto = "auto"
    name: ClassVar[str] = "root"

    def __post_init__(self) -> None:
        if isinstance(self.gain, str):
            raise ValueError(f"gain={self.gain!r} is not a positive number")
        for parameter in ("gain", "gamma0", "tau"):
            check_positive(parameter, getattr(self, parameter))

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``."""
        return np.asarray(float(self.gamma0) / np.sqrt(1.0 + t / float(self.tau)))

    def resolve(self, preliminary: Preliminary) -> "Root":
        """Set γ₀ and τ."""
        size = preliminary.curvature * preliminary.typical_energy + preliminary.alpha
        automatic = self.gain / size if size > 0 else self.gain
        return replace(
            self,
            gamma0=automatic if self.gamma0 == "auto" else self.gamma0,
            tau=_DELAY * max(1.0, preliminary.typical_energy) if self.tau == "auto" else self.tau,
        )
