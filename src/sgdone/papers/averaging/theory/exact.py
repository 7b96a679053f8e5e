"""Expected errors without a bound, by a recursion of second moments, which close where the update is linear in θ."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, non_negative, vector, whole
from sgdone.papers.averaging.theory.averaging import LinearProblem, schedule_of
from sgdone.papers.averaging.theory.schedule import Schedule

__all__ = ["ExpectedErrors", "expected_errors", "expected_regression_errors"]


class ExpectedErrors(NamedTuple):
    """Expected squared errors after each of some numbers of samples.

    Parameters
    ----------
    last : array
        E‖θ_t − θ*‖²_A, of the last iterate.
    averaged : array
        E‖θ̄_t − θ*‖²_A, of the mean of all iterates.
    """

    last: Array
    averaged: Array


def expected_errors(
    t: ArrayLike, *, A: ArrayLike, S: ArrayLike, start_error: ArrayLike, gamma0: float, a: float, c: float
) -> ExpectedErrors:
    """Exact E‖θ_t − θ*‖²_A and E‖θ̄_t − θ*‖²_A where the noise does not depend on θ.

    Xu (2011), eqs. (5) and (6), solved exactly.

    Assumes θ_t = θ_{t−1} − γ_t(Aθ_{t−1} − b + ξ_t) with A positive definite and noise ξ_t of mean 0 given the past
    and covariance S. The time it takes grows with the largest t, some microseconds each.

    Parameters
    ----------
    t : vector
        Numbers of samples, in any order.
    A : matrix
        The Hessian.
    S : matrix
        The covariance of the noise.
    start_error : vector
        θ₀ − θ*.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.

    Examples
    --------
    >>> errors = expected_errors([1, 100], A=[[1.0]], S=[[1.0]], start_error=[1.0], gamma0=0.5, a=0.0, c=0.0)
    >>> errors.last.round(4), errors.averaged.round(4)
    (array([0.5   , 0.3333]), array([0.5   , 0.0099]))
    """
    problem = LinearProblem.of(A, S, start_error)
    return _moments(t, problem, schedule_of(gamma0, a, c), lambda _: problem.noise)


def expected_regression_errors(
    t: ArrayLike, *, A: ArrayLike, noise: float, start_error: ArrayLike, gamma0: float, a: float, c: float
) -> ExpectedErrors:
    """Exact E‖θ_t − θ*‖²_A and E‖θ̄_t − θ*‖²_A of SGD on the squared loss, for Gaussian rows.

    Xu (2011), eqs. (2) and (6) for section 6.2's problem, solved exactly.

    Assumes y = xᵀθ* + ε, x ~ N(0, A), ε of mean 0 independent of x, independent samples, and no penalty.

    Parameters
    ----------
    t : vector
        Numbers of samples, in any order.
    A : matrix
        The covariance of x.
    noise : float
        The variance of ε.
    start_error : vector
        θ₀ − θ*.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.

    Examples
    --------
    >>> errors = expected_regression_errors([1], A=[[1.0]], noise=1.0, start_error=[1.0], gamma0=0.5, a=0.0, c=0.0)
    >>> errors.last  # (1 − ½)²  + ¼·(Var x² + Var ε)
    array([1.])
    """
    noise = non_negative("noise", noise)
    start = vector("start_error", start_error)
    problem = LinearProblem.of(A, np.zeros((len(start), len(start))), start)
    eigenvalues = problem.eigenvalues

    def gradient_noise(second: Array) -> Array:
        # Var(xxᵀδ) along an eigenvector is λ(λE[δ²] + E‖Δ‖²_A) for Gaussian x.
        spread: Array = eigenvalues * (eigenvalues * second + eigenvalues @ second + noise)
        return spread

    return _moments(t, problem, schedule_of(gamma0, a, c), gradient_noise)


def _moments(
    t: ArrayLike, problem: LinearProblem, schedule: Schedule, noise: Callable[[Array], Array]
) -> ExpectedErrors:
    """Second moments of the error δ along each eigenvector, of the sum of all errors so far, and of both."""
    wanted = [whole("t", value, 1) for value in vector("t", t).tolist()]
    found: dict[int, tuple[float, float]] = {}
    eigenvalues = problem.eigenvalues
    second = problem.start**2
    mixed, total = np.zeros_like(second), np.zeros_like(second)
    points = set(wanted)
    for k, gamma in enumerate(schedule(np.arange(1, max(wanted) + 1)), 1):
        kept = 1.0 - gamma * eigenvalues
        carried = kept * mixed
        second = kept * kept * second + gamma * gamma * noise(second)
        total = total + 2.0 * carried + second
        mixed = carried + second
        if k in points:
            found[k] = float(eigenvalues @ second), float(eigenvalues @ total) / k**2
    last, averaged = zip(*(found[k] for k in wanted), strict=True)
    return ExpectedErrors(np.array(last), np.array(averaged))
