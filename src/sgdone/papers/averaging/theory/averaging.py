"""Averaged and plain SGD on a linear equation with noise: section 2."""

from numpy.typing import ArrayLike

from sgdone.papers.assumptions import positive, whole
from sgdone.papers.averaging.theory._linear import LinearProblem, assume_first_step, assume_steps, schedule_of

__all__ = ["averaged_error_bound", "sgd_error_bound"]


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
