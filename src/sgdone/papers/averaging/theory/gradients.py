"""Averaged SGD on a loss, whose noise depends on where the iterate is: sections 3 and 4.

The gradient at θ is A(θ − θ*) + ξ⁽¹⁾ + ξ⁽²⁾ + ξ⁽³⁾ (eq. 4): the noise at θ*, how the noise differs at θ, and how the
expected gradient differs from its linear part. The constants c₁ to c₆ say how small the latter two are.
"""

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import assume, non_negative, positive, whole
from sgdone.papers.averaging.theory.averaging import LinearProblem, assume_steps, excess_constant, schedule_of
from sgdone.papers.averaging.theory.schedule import Schedule

__all__ = ["general_error_bound", "gradient_noise_constant", "regression_error_bound"]


def gradient_noise_constant(M: float, lambda0: float) -> float:
    """The c₁ of assumption (9) for the squared loss: how fast the gradient's noise grows away from θ*.

    Xu (2011), Lemma 7, its ‖x‖ ≤ M read as ‖x‖² ≤ M.

    Assumes the loss ½(y − xᵀθ)² and ‖x‖² ≤ M for every row.

    Parameters
    ----------
    M : float
        The largest ‖x‖².
    lambda0 : float
        λ₀, the smallest eigenvalue of E[xxᵀ].

    Returns
    -------
    float
        M/λ₀.

    Examples
    --------
    >>> gradient_noise_constant(M=50.0, lambda0=0.5)
    100.0
    """
    M, lambda0 = positive("M", M), positive("lambda0", lambda0)
    assume(lambda0 <= M, "‖x‖² ≤ M makes λ₀ ≤ M", f"lambda0={lambda0:g}, M={M:g}")
    return M / lambda0


def regression_error_bound(
    t: int,
    *,
    A: ArrayLike,
    S: ArrayLike,
    start_error: ArrayLike,
    gamma0: float,
    a: float,
    c: float,
    c1: float,
    c2: float,
    c3: float,
) -> float:
    """Bound on E‖θ̄_t − θ*‖²_A, the error of the mean of t iterates, for a quadratic loss.

    Xu (2011), Corollary 6 with the terms of its proof.

    Assumes Theorem 1's γ₀λ₁ ≤ 1 and (2c − 1)a < λ₀, c < 1, and (9) and (10) with the constants given; (10) is needed
    for j = 1 only.

    Parameters
    ----------
    t : int
        Samples used.
    A : matrix
        The Hessian; E[xxᵀ] for the squared loss.
    S : matrix
        The covariance of the gradient at θ*; the noise's variance times A if it is independent of x.
    start_error : vector
        θ₀ − θ*.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.
    c1 : float
        (9): E[‖ξ⁽²⁾_j‖²_{A⁻¹} | θ_{j−1}] ≤ c₁‖θ_{j−1} − θ*‖²_A; `gradient_noise_constant` has it for the squared loss.
    c2, c3 : float
        (10): E[‖θ_i − θ*‖²_A | θ_{j−1}] summed over i = j, …, t is at most c₂‖θ_{j−1} − θ*‖²_A + c₃(γ_j + … + γ_t).

    Returns
    -------
    float
        (√(16) + √(17) + √(11))², the three over t: the start, the noise at θ*, and Lemma 5's
        (1 + c₀)²c₁((1 + c₂)‖θ₀ − θ*‖²_A/t + c₃γ₀(1 + aγ₀t)^−c/(1 − c)).

    Examples
    --------
    >>> given = {"A": [[1.0]], "S": [[1.0]], "start_error": [1.0], "gamma0": 1.0, "a": 0.5, "c": 2/3}
    >>> [round(t * regression_error_bound(t, **given, c1=1.0, c2=2.0, c3=2.0), 3) for t in (10, 1000, 10**9)]
    [17.392, 2.72, 1.012]
    """
    t = whole("t", t, 1)
    problem, schedule = LinearProblem.of(A, S, start_error), schedule_of(gamma0, a, c)
    assume_steps("Theorem 1", schedule, problem.lambda0, problem.lambda1)
    assume(schedule.c < 1, "Lemma 5 assumes c < 1", f"c={schedule.c:g}")
    first, second, third = non_negative("c1", c1), non_negative("c2", c2), non_negative("c3", c3)
    return sum(sqrt(part) for part in _quadratic_parts(t, problem, schedule, first, second, third)) ** 2


def general_error_bound(
    t: int,
    *,
    A: ArrayLike,
    S: ArrayLike,
    start_error: ArrayLike,
    gamma0: float,
    a: float,
    c: float,
    c1: float,
    c2: float,
    c3: float,
    c4: float,
    c5: float,
    c6: float,
) -> float:
    """Bound on E‖θ̄_t − θ*‖²_A, the error of the mean of t iterates, for a loss that is not quadratic.

    Xu (2011), Corollary 9 with the terms of its proof, Lemma 8's sums shifted by one.

    Assumes Theorem 1's γ₀λ₁ ≤ 1 and (2c − 1)a < λ₀, ½ < c < 1, and (9), (10), (12) and (13) with the constants given.
    (10) is needed for every j ≤ t, and as the steps fall it takes a c₂ that grows like 1/γ_t.

    Lemma 8 sums over θ_1 to θ_t where ξ⁽³⁾_j depends on θ_{j−1}: the start's own share is added here, which makes
    1 + c₅ of c₅, and 1 + c₂ of the c₂ next to c₃.

    Parameters
    ----------
    t : int
        Samples used.
    A : matrix
        The Hessian at θ*.
    S : matrix
        The covariance of the gradient at θ*.
    start_error : vector
        θ₀ − θ*.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.
    c1 : float
        (9): E[‖ξ⁽²⁾_j‖²_{A⁻¹} | θ_{j−1}] ≤ c₁‖θ_{j−1} − θ*‖²_A.
    c2, c3 : float
        (10): E[‖θ_i − θ*‖²_A | θ_{j−1}] summed over i = j, …, t is at most c₂‖θ_{j−1} − θ*‖²_A + c₃(γ_j + … + γ_t).
    c4 : float
        (12): ‖ξ⁽³⁾_j‖_{A⁻¹} ≤ c₄‖θ_{j−1} − θ*‖²_A.
    c5, c6 : float
        (13): E‖θ_i − θ*‖⁴_A summed over i = 1, …, t is at most c₅‖θ₀ − θ*‖⁴_A + c₆(γ_1 + … + γ_t).

    Returns
    -------
    float
        (√(16) + √(17) + √(11) + √(Lemma 8))², the four over t.

    Examples
    --------
    >>> given = {"A": [[1.0]], "S": [[1.0]], "start_error": [1.0], "gamma0": 1.0, "a": 0.5, "c": 0.75}
    >>> constants = {"c1": 1.0, "c2": 2.0, "c3": 2.0, "c4": 0.1, "c5": 2.0, "c6": 2.0}
    >>> [round(t * general_error_bound(t, **given, **constants), 3) for t in (10, 1000, 10**6)]
    [29.755, 4.418, 1.327]
    """
    t = whole("t", t, 1)
    problem, schedule = LinearProblem.of(A, S, start_error), schedule_of(gamma0, a, c)
    assume_steps("Theorem 1", schedule, problem.lambda0, problem.lambda1)
    assume(0.5 < schedule.c < 1, "Corollary 9 assumes ½ < c < 1", f"c={schedule.c:g}")
    first, second, third = non_negative("c1", c1), non_negative("c2", c2), non_negative("c3", c3)
    fourth, fifth, sixth = non_negative("c4", c4), non_negative("c5", c5), non_negative("c6", c6)
    start, total = problem.start_norm, float(schedule(np.arange(1, t + 1)).sum())
    bent = (
        (1.0 + 2.0 * second) * (1.0 + fifth) * start**2
        + (2.0 * (1.0 + second) * third * start + (1.0 + 2.0 * second) * sixth) * total
        + (third * total) ** 2
    )
    scale = (1.0 + excess_constant(schedule, problem.lambda0)) * fourth / t
    parts = (*_quadratic_parts(t, problem, schedule, first, second, third), scale**2 * bent)
    return sum(sqrt(part) for part in parts) ** 2


def _quadratic_parts(
    t: int, problem: LinearProblem, schedule: Schedule, c1: float, c2: float, c3: float
) -> tuple[float, float, float]:
    """Bounds on the squares of I⁽⁰⁾, I⁽¹⁾ and I⁽²⁾: eqs. (16), (17) and (11), divided by t."""
    gamma0, a, c = schedule
    noise = (1.0 + c2) * problem.start_norm / t + c3 * gamma0 / (1.0 - c) * (1.0 + a * gamma0 * t) ** -c
    elsewhere = (1.0 + excess_constant(schedule, problem.lambda0)) ** 2 * c1 * noise / t
    return problem.start_part(t, schedule), problem.noise_part(t, schedule), elsewhere
