"""The step sizes that the paper analyses, and those it recommends."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import by_name
from sgdone.papers.assumptions import Array, assume, positive

if TYPE_CHECKING:
    from sgdone.losses.loss import Loss

__all__ = ["Schedule", "divergence_step", "recommended_schedule"]


class Schedule(NamedTuple):
    """γ_t = γ₀(1 + aγ₀t)^−c: Xu (2011), eq. (3). ``sgdone.steps.Xu(*schedule)`` takes these steps.

    Parameters
    ----------
    gamma0 : float
        γ₀.
    a : float
        How soon the step falls.
    c : float
        How fast it falls.

    Examples
    --------
    >>> Schedule(gamma0=1.0, a=1.0, c=0.5)(np.array([3, 8])).round(4)
    array([0.5   , 0.3333])
    """

    gamma0: float
    a: float
    c: float

    def __call__(self, t: NDArray[np.int64]) -> Array:
        """γ at the samples ``t``."""
        return np.asarray(self.gamma0 * (1.0 + self.a * self.gamma0 * t) ** -self.c)


def recommended_schedule(loss: "str | Loss", M: float, lambda0: float) -> Schedule:
    """Step sizes with which averaged SGD is near its asymptote after a reasonable number of samples.

    Xu (2011), the proposal at the end of section 3, with section 4's exponent for other losses.

    Assumes rows of about the same ‖x‖², a loss of curvature 1 or less, and λ₀ ≤ M, without which γ₀λ₁ ≤ 1 is out of
    reach. ``sgdone.steps.Xu()`` counts the loss's curvature, the intercept and the penalty too.

    Parameters
    ----------
    loss : str or sgdone.losses.Loss
        The loss or its name.
    M : float
        The largest ‖x‖²; the paper takes that of 1000 rows.
    lambda0 : float
        The smallest eigenvalue of the Hessian of the expected loss; the L2 penalty is a lower bound that stands in.

    Returns
    -------
    Schedule
        γ₀ = 1/M, a = λ₀, and c = 2/3 for the squared loss (Corollary 6) or 3/4 for another (Corollary 9).

    Examples
    --------
    >>> recommended_schedule("logistic", M=4.0, lambda0=0.001)
    Schedule(gamma0=0.25, a=0.001, c=0.75)
    """
    M, lambda0 = positive("M", M), positive("lambda0", lambda0)
    assume(
        lambda0 <= M,
        "Theorem 1 assumes γ₀λ₁ ≤ 1, and γ₀ = 1/M makes λ₀/M ≤ 1 of it",
        f"λ₀/M = {lambda0 / M:.4g} (lambda0={lambda0:g}, M={M:g}): scale the features up, or penalise less",
    )
    return Schedule(1.0 / M, lambda0, 2 / 3 if _quadratic(loss) else 3 / 4)


def _quadratic(loss: "str | Loss") -> bool:
    # Imported late: losses import Numba, for which `sgdone theory` should not wait.
    from sgdone import losses
    from sgdone.losses.loss import Loss

    found = by_name(loss, Loss, losses, "loss") if isinstance(loss, str) else loss
    if not isinstance(found, Loss):
        raise ValueError(f"loss={loss!r} is neither a name nor a sgdone.losses.Loss")
    return found.quadratic


def divergence_step(M: float) -> float:
    """Constant step size beyond which SGD on the squared loss diverges: E‖θ_t − θ*‖² grows without bound.

    Xu (2011), Lemma 12.

    Assumes the loss ½(y − xᵀθ)² without penalty, ‖x‖² = M for every row, and a positive definite E[xxᵀ].

    Parameters
    ----------
    M : float
        ‖x‖².

    Returns
    -------
    float
        2/M.

    Examples
    --------
    >>> divergence_step(M=100.0)
    0.02
    """
    return 2.0 / positive("M", M)
