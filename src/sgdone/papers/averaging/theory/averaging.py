"""Averaged and plain SGD on a linear equation with noise (section 2): errors, and samples until the asymptote."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, positive, spectrum, vector, whole
from sgdone.papers.averaging.theory.schedule import Schedule

__all__ = [
    "asymptotic_samples",
    "asymptotic_samples_as_printed",
    "averaged_error_bound",
    "sgd_error_bound",
]

#: How far rounding may take a product of a step size and an eigenvalue, relatively.
_ROUNDING = 1e-12


@final
@dataclass(frozen=True)
class LinearProblem:
    """A, S and θ₀ − θ* seen along the eigenvectors of A.

    Parameters
    ----------
    eigenvalues : array, (features,)
        Eigenvalues of A, in ascending order.
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


def averaged_error_bound(
    t: int, *, A: ArrayLike, S: ArrayLike, start_error: ArrayLike, gamma0: float, a: float, c: float
) -> float:
    """Bound on E‖θ̄_t − θ*‖²_A, the error of the mean of t iterates.

    Xu (2011), Theorem 1, divided by t.

    Assumes θ_t = θ_{t−1} − γ_t(Aθ_{t−1} − b + ξ_t) with A positive definite and noise ξ_t of mean 0 given the past
    and covariance S (eq. 5), γ₀λ₁ ≤ 1, and (2c − 1)a < λ₀.

    Parameters
    ----------
    t : int
        Samples used.
    A : matrix
        The Hessian.
    S : matrix
        The covariance of the noise.
    start_error : vector
        θ₀ − θ*.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c; constant ones have a = 0.

    Returns
    -------
    float
        tr(A⁻¹S)/t·(1 + (2c₀ + c₀²)(1 + aγ₀t)^(c−1)/c) + (1 + c₀)²‖θ₀ − θ*‖²_{A⁻¹}/(γ₀t)², with
        c₀ = ac(1 + acγ₀)/(λ₀ − max(0, 2c − 1)a).

    Examples
    --------
    >>> given = {"A": [[1, 0], [0, 0.1]], "S": [[1, 0], [0, 0.1]], "start_error": [1, 1], "gamma0": 0.5}
    >>> [round(t * averaged_error_bound(t, a=0.1, c=2/3, **given), 2) for t in (100, 10_000, 10**8)]
    [8.99, 3.2, 2.05]
    >>> [round(t * averaged_error_bound(t, a=0.0, c=2/3, **given), 2) for t in (100, 10_000, 10**8)]
    [2.44, 2.0, 2.0]
    """
    t = whole("t", t, 1)
    problem, schedule = LinearProblem.of(A, S, start_error), schedule_of(gamma0, a, c)
    assume_steps("Theorem 1", schedule, problem.lambda0, problem.lambda1)
    return problem.noise_part(t, schedule) + problem.start_part(t, schedule)


def sgd_error_bound(t: int, *, A: ArrayLike, S: ArrayLike, start_error: ArrayLike, gamma0: float) -> float:
    """Bound on E‖θ_t − θ*‖²_A, the error of the last iterate, at the best steps for it: a = λ₀ and c = 1.

    Xu (2011), eq. (8).

    Assumes eq. (5) as Theorem 1 does, steps γ_t = γ₀/(1 + λ₀γ₀t), and γ₀λ₁ ≤ 1. The paper leaves the proof out; by
    induction λ·E[δ_t²] ≤ γ_t·s for an eigenvalue λ and the noise's variance s in its direction.

    Parameters
    ----------
    t : int
        Samples used.
    A : matrix
        The Hessian, whose smallest eigenvalue λ₀ is.
    S : matrix
        The covariance of the noise.
    start_error : vector
        θ₀ − θ*.
    gamma0 : float
        γ₀.

    Returns
    -------
    float
        ‖θ₀ − θ*‖²_A/(1 + K)² + γ₀·tr(S)/(1 + K) with K = λ₀γ₀t.

    Examples
    --------
    >>> sgd_error_bound(30, A=[[1, 0], [0, 0.1]], S=[[1, 0], [0, 0.1]], start_error=[1, 0], gamma0=1.0)
    0.3375
    """
    t, gamma0 = whole("t", t, 1), positive("gamma0", gamma0)
    problem = LinearProblem.of(A, S, start_error)
    assume_first_step("Eq. (8)", gamma0, problem.lambda1)
    slower = 1.0 + problem.lambda0 * gamma0 * t
    return problem.start_norm / slower**2 + gamma0 * float(problem.noise.sum()) / slower


def asymptotic_samples(*, lambda0: float, gamma0: float, a: float, c: float) -> float:
    """Samples after which the second term of Theorem 1's bound is no larger than the first, the asymptotic one.

    Xu (2011), Corollaries 3 and 4 by the criterion of their proofs.

    Assumes Theorem 1's assumptions, of which γ₀λ₀ ≤ 1 and (2c − 1)a < λ₀ can be seen here, and c < 1. The start is
    forgotten like 1/t², sooner than the noise. With a = λ₀ it is K/(λ₀γ₀), K depending on c and λ₀γ₀ (Corollary 3).

    Parameters
    ----------
    lambda0 : float
        λ₀, the smallest eigenvalue of A.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.

    Returns
    -------
    float
        (((2c₀ + c₀²)/c)^(1/(1−c)) − 1)/(aγ₀), or 0 if that is negative or steps are constant.

    Examples
    --------
    >>> [round(asymptotic_samples(lambda0=0.02, gamma0=1.0, a=a, c=0.5)) for a in (0.02, 0.1, 1.0)]
    [270, 5886, 8776405]
    """
    schedule, lambda0 = _checked(lambda0, gamma0, a, c)
    at_start = second_term(0, schedule, lambda0)
    if at_start <= 1:
        return 0.0
    return float((at_start ** (1.0 / (1.0 - schedule.c)) - 1.0) / (schedule.a * schedule.gamma0))


def asymptotic_samples_as_printed(*, lambda0: float, gamma0: float, a: float, c: float) -> float:
    """Printed order of the samples to reach the asymptotic region; see `asymptotic_samples`.

    Xu (2011), Corollary 4.

    Assumes what `asymptotic_samples` does. It is an order of magnitude: the proof neglects c₀², sets c₀/c = a/λ₀, and
    at its end puts λ₀γ₀ where the line before has aγ₀, a factor of a/λ₀.

    Parameters
    ----------
    lambda0 : float
        λ₀, the smallest eigenvalue of A.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.

    Returns
    -------
    float
        (2a/λ₀)^(1/(1−c))/(λ₀γ₀): with a = λ₀, K/(λ₀γ₀) with K = 2^(1/(1−c)).

    Examples
    --------
    >>> [round(asymptotic_samples_as_printed(lambda0=0.02, gamma0=1.0, a=a, c=0.5)) for a in (0.02, 0.1, 1.0)]
    [200, 5000, 500000]
    """
    schedule, lambda0 = _checked(lambda0, gamma0, a, c)
    return float((2.0 * schedule.a / lambda0) ** (1.0 / (1.0 - schedule.c)) / (lambda0 * schedule.gamma0))


def _checked(lambda0: float, gamma0: float, a: float, c: float) -> tuple[Schedule, float]:
    schedule, lambda0 = schedule_of(gamma0, a, c), positive("lambda0", lambda0)
    assume(schedule.c < 1, "Corollary 4 assumes c < 1", f"c={schedule.c:g}: the second term never falls")
    assume_steps("Theorem 1", schedule, lambda0, lambda0)
    return schedule, lambda0
