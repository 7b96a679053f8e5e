"""What the theorems share: the equation Aθ = b solved with noise, its checks, and the two parts of Theorem 1."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, positive, spectrum, vector
from sgdone.papers.averaging.theory.schedule import Schedule

#: How far rounding may take a product of a step size and an eigenvalue, relatively.
_ROUNDING = 1e-12


@final
@dataclass(frozen=True)
class LinearProblem:
    """A, S and θ₀ − θ* seen along the eigenvectors of A.

    Parameters
    ----------
    eigenvalues : array, (features,)
        Of A, in rising order.
    noise : array, (features,)
        The variances of the gradient's noise.
    start : array, (features,)
        θ₀ − θ*.
    """

    eigenvalues: Array
    noise: Array
    start: Array

    @classmethod
    def of(cls, A: ArrayLike, S: ArrayLike, start_error: ArrayLike) -> "LinearProblem":
        """The problem, if A and S are covariance-like matrices of one size, and A has an inverse."""
        start = vector("start_error", start_error)
        eigenvalues, axes = spectrum("A", A, len(start))
        spectrum("S", S, len(start))
        assume(
            bool(eigenvalues[0] > len(start) * np.finfo(float).eps * eigenvalues[-1]),
            "eq. (5) assumes that A is positive definite",
            f"the smallest eigenvalue {eigenvalues[0]:.4g} beside the largest, {eigenvalues[-1]:.4g}",
        )
        noise = np.sum(axes * (np.asarray(S, dtype=np.float64) @ axes), axis=0)
        return cls(eigenvalues, noise, axes.T @ start)

    @property
    def lambda0(self) -> float:
        """The smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def lambda1(self) -> float:
        """The largest eigenvalue."""
        return float(self.eigenvalues[-1])

    @property
    def start_norm(self) -> float:
        """‖θ₀ − θ*‖²_A."""
        return float(self.start**2 @ self.eigenvalues)

    @property
    def asymptote(self) -> float:
        """tr(A⁻¹S), the limit of t·E‖θ̄_t − θ*‖²_A."""
        return float(np.sum(self.noise / self.eigenvalues))

    def start_part(self, t: int, schedule: Schedule) -> float:
        """Bound on E‖I⁽⁰⁾‖²_A, what is left of the start: eq. (16)."""
        inverse_norm = float(np.sum(self.start**2 / self.eigenvalues))
        return ((1.0 + excess_constant(schedule, self.lambda0)) / (schedule.gamma0 * t)) ** 2 * inverse_norm

    def noise_part(self, t: int, schedule: Schedule) -> float:
        """Bound on E‖I⁽¹⁾‖²_A, the noise at θ*: eq. (17)."""
        return (1.0 + second_term(t, schedule, self.lambda0)) * self.asymptote / t


def schedule_of(gamma0: float, a: float, c: float) -> Schedule:
    """Step sizes of eq. (3), with 0 ≤ c ≤ 1 as the whole paper has it; a = 0 and c = 0 are constant steps."""
    schedule = Schedule(positive("gamma0", gamma0), non_negative("a", a), non_negative("c", c))
    if schedule.c > 1:
        raise ValueError(f"c={c!r} is not between 0 and 1")
    return schedule


def assume_steps(whose: str, schedule: Schedule, lambda0: float, lambda1: float) -> None:
    """Theorem 1's two assumptions."""
    assume_first_step(whose, schedule.gamma0, lambda1)
    fall = (2.0 * schedule.c - 1.0) * schedule.a
    assume(
        fall < lambda0 * (1.0 - _ROUNDING),
        f"{whose} assumes (2c − 1)a < λ₀",
        f"(2c − 1)a = {fall:.4g} (a={schedule.a:g}, c={schedule.c:g}) and λ₀ = {lambda0:.4g}: take a smaller a or c",
    )


def assume_first_step(whose: str, gamma0: float, lambda1: float) -> None:
    """No step may overshoot in any direction."""
    assume(
        gamma0 * lambda1 <= 1.0 + _ROUNDING,
        f"{whose} assumes γ₀λ₁ ≤ 1",
        f"γ₀λ₁ = {gamma0 * lambda1:.4g} (gamma0={gamma0:g}, λ₁ = {lambda1:.4g}): take a smaller gamma0",
    )


def excess_constant(schedule: Schedule, lambda0: float) -> float:
    """c₀ of Theorem 1."""
    gamma0, a, c = schedule
    return a * c * (1.0 + a * c * gamma0) / (lambda0 - max(0.0, 2.0 * c - 1.0) * a)


def second_term(t: float, schedule: Schedule, lambda0: float) -> float:
    """The second term of Theorem 1's bound over its first, tr(A⁻¹S); none where steps are constant."""
    gamma0, a, c = schedule
    excess = excess_constant(schedule, lambda0)
    return (2.0 * excess + excess**2) * (1.0 + a * gamma0 * t) ** (c - 1.0) / c if excess > 0 else 0.0
