"""Gradient descent, separable data or not (section 3.2): what a step gains, the risk, and the norms of the iterates."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, whole
from sgdone.papers.logistic.theory._arguments import ROUNDING, as_given, margin_of, numbers, step_sums, times

__all__ = [
    "NormBounds",
    "gd_norm_bounds",
    "gd_risk_bound",
    "inverse_root_step_sum",
    "log_risk_descent",
    "smoothness_descent",
]


def smoothness_descent(risk: ArrayLike, gradient_norm: ArrayLike, step: ArrayLike) -> Any:
    """Risk after a step of gradient descent, at most, from the risk and the gradient before it.

    Ji, Telgarsky (2018), Lemma 3.5, first part.

    Assumes a convex loss with ℓ′ ≤ ℓ and ℓ″ ≤ ℓ, as the logistic and the exponential one, rows of norm 1 or less, and
    η·R(w) ≤ 1. The first and the third make the gradient's norm at most R(w).

    Parameters
    ----------
    risk : float or array
        R(w_j), positive.
    gradient_norm : float or array
        ‖∇R(w_j)‖.
    step : float or array
        η_j.

    Returns
    -------
    float or array
        R(w_j) − η_j(1 − η_j·R(w_j)/2)·‖∇R(w_j)‖².

    Examples
    --------
    >>> round(smoothness_descent(risk=0.5, gradient_norm=0.4, step=1.0), 6)
    0.38
    >>> smoothness_descent(risk=0.5, gradient_norm=0.6, step=1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sgdone.papers.assumptions.AssumptionError: Lemma 3.5 assumes ℓ′ ≤ ℓ and rows of norm 1 or less, ...
    """
    value, slope, eta = _checked(risk, gradient_norm, step)
    return as_given(np.asarray(value - eta * (1.0 - eta * value / 2.0) * slope**2))


def log_risk_descent(risks: ArrayLike, gradient_norms: ArrayLike, steps: ArrayLike) -> Array:
    """Logarithm of the risk after each step of gradient descent, at most, from the start's risk and the gradients.

    Ji, Telgarsky (2018), Lemma 3.5, second part.

    Assumes what the first part does, at every step.

    Parameters
    ----------
    risks : array, (steps,)
        R(w_0), …, R(w_{t−1}).
    gradient_norms : array, (steps,)
        ‖∇R(w_0)‖, …, ‖∇R(w_{t−1})‖.
    steps : array, (steps,)
        η_0, …, η_{t−1}.

    Returns
    -------
    array, (steps,)
        For w_1, …, w_t: ln R(w_0) less the sum of η̂_j(1 − η̂_j/2)γ_j², with η̂_j = η_j·R(w_j) and γ_j = ‖∇R(w_j)‖/R(w_j).

    Examples
    --------
    >>> np.exp(log_risk_descent([0.5, 0.38], [0.4, 0.3], [1.0, 1.0])).round(4)
    array([0.3933, 0.3247])
    """
    value, slope, eta = np.broadcast_arrays(*_checked(risks, gradient_norms, steps))
    if value.ndim != 1:
        raise ValueError(f"risks have the shape {value.shape}: give one number a step")
    scaled = eta * value
    return np.asarray(np.log(value[0]) - np.cumsum(scaled * (1.0 - scaled / 2.0) * (slope / value) ** 2))


def _checked(risk: ArrayLike, gradient_norm: ArrayLike, step: ArrayLike) -> tuple[Array, Array, Array]:
    value = numbers("risk", risk, 0.0, above=True)
    slope = numbers("gradient_norm", gradient_norm, 0.0)
    eta = numbers("step", step, 0.0, above=True)
    steepest, largest = float(np.max(slope / value)), float(np.max(eta * value))
    assume(
        steepest <= 1.0 + ROUNDING,
        "Lemma 3.5 assumes ℓ′ ≤ ℓ and rows of norm 1 or less, which makes ‖∇R‖ ≤ R",
        f"‖∇R‖/R = {steepest:.6g}: divide the rows by their largest norm",
    )
    assume(largest <= 1.0 + ROUNDING, "Lemma 3.5 assumes η·R(w) ≤ 1", f"η·R(w) = {largest:.6g}: take smaller steps")
    return value, slope, eta


def inverse_root_step_sum(t: ArrayLike) -> Any:
    """Sum of the first t steps η_j = 1/√(j + 1): from 2(√(t + 1) − 1) to 2√t.

    Ji, Telgarsky (2018), Theorem 1.2's second choice of steps.

    Assumes nothing. It is a sum up to t = 1000, and beyond it Euler and Maclaurin's series, right to 1e-14.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.

    Returns
    -------
    float or array
        1 + 1/√2 + … + 1/√t.

    Examples
    --------
    >>> inverse_root_step_sum([1, 2, 10_000]).round(6)
    array([  1.      ,   1.707107, 198.544645])
    """
    steps = times(t)
    table = np.cumsum(1.0 / np.sqrt(np.arange(1, 1001)))
    large = np.maximum(steps, 1000.0)
    constant = -1.4603545088095868  # ζ(½)
    series = 2.0 * np.sqrt(large) + constant + 0.5 / np.sqrt(large) - large**-1.5 / 24.0
    return as_given(np.where(steps <= 1000, table[np.minimum(steps, 1000.0).astype(np.int64) - 1], series))


def gd_risk_bound(t: ArrayLike, step_sum: ArrayLike, v_norm: float, margin: float) -> Any:
    """Risk of gradient descent's w_t above the infimum, at most: R(w_t) − inf R, whether or not it is attained.

    Ji, Telgarsky (2018), Theorem 3.2, with Theorem 1.2's part 1.

    Assumes the logistic or the exponential loss, w_0 = 0, steps of 1 or less, and rows of norm 1 or less.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    step_sum : float or array
        The sum of the first t step sizes: t for steps of 1, `inverse_root_step_sum` for 1/√(j + 1).
    v_norm : float
        ‖v̄‖; 0 for separable data.
    margin : float
        γ; infinite if no row is separable, where the comparison point of the proof is v̄ itself and the first and the
        last term fall away.

    Returns
    -------
    float or array
        exp(‖v̄‖)/t + (‖v̄‖² + ln(t)²/γ²)/(2·step_sum).

    Examples
    --------
    >>> gd_risk_bound([10, 1000], [10, 1000], v_norm=1.0, margin=0.5).round(4)
    array([1.3822, 0.0987])
    >>> round(gd_risk_bound(1000, inverse_root_step_sum(1000), v_norm=0.0, margin=0.5), 4)
    1.5452
    """
    steps = times(t)
    sums = step_sums("Theorem 3.2", step_sum, steps)
    norm, gamma = non_negative("v_norm", v_norm), margin_of("Theorem 3.2", margin, none_separable=True)
    return as_given(risk_bound(steps, sums, norm, gamma))


def risk_bound(steps: Array, sums: Array, v_norm: float, margin: float) -> Array:
    """Theorem 3.2's number from checked arguments."""
    beyond = np.exp(v_norm) / steps if np.isfinite(margin) else 0.0
    return np.asarray(beyond + (v_norm**2 + (np.log(steps) / margin) ** 2) / (2.0 * sums))


class NormBounds(NamedTuple):
    """Between which numbers a norm is, at each t."""

    lower: Array
    upper: Array


def gd_norm_bounds(
    t: ArrayLike, step_sum: ArrayLike, v_norm: float, margin: float, s_norm: float, n_rows: int, separable_rows: int
) -> NormBounds:
    """Bounds on the norm of the part of w_t across S, by which the risk of the separable rows falls.

    Ji, Telgarsky (2018), Lemma D.2 with R over j ≤ t.

    Assumes the logistic or the exponential loss, w_0 = 0, steps of 1 or less, rows of norm 1 or less, and at least one
    separable row. Print has R over j < t, but the proof of the lower bound uses it of w_t.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    step_sum : float or array
        The sum of the first t step sizes.
    v_norm : float
        ‖v̄‖; 0 for separable data.
    margin : float
        γ.
    s_norm : float
        R, the largest norm of the part of w_j in S, j ≤ t; ‖v̄‖ + √(2/λ) is never exceeded (Lemma D.1).
    n_rows : int
        n, the rows.
    separable_rows : int
        n_c, those that are separable.

    Returns
    -------
    NormBounds
        upper is max{(2·ln(t) + 2R)/γ², 2}; lower is min{ln(t) − ln(2) − ‖v̄‖, ln(step_sum) − ln(‖v̄‖² + ln(t)²/γ²)} − R
        + ln(ln(2)) − ln(n/n_c), which says nothing while it is negative.

    Examples
    --------
    >>> bounds = gd_norm_bounds([10, 10**6], [10, 10**6], 0.0, margin=0.5, s_norm=0.0, n_rows=8, separable_rows=8)
    >>> bounds.lower.round(3), bounds.upper.round(3)
    (array([-1.118,  6.811]), array([ 18.421, 110.524]))
    """
    steps = times(t)
    sums = step_sums("Lemma D.2", step_sum, steps)
    norm, gamma, reach = non_negative("v_norm", v_norm), margin_of("Lemma D.2", margin), non_negative("s_norm", s_norm)
    rows, count = whole("n_rows", n_rows, 1), whole("separable_rows", separable_rows, 0)
    assume(0 < count <= rows, "Lemma D.2 assumes 1 to n separable rows", f"{count} of {rows}")
    assume(
        count < rows or norm == 0.0, "without other rows S is {0} and v̄ = 0", f"v_norm={norm:g} and all rows separable"
    )
    with np.errstate(divide="ignore"):  # at t = 1 with v̄ = 0 the second term of Theorem 3.2 is 0
        second = np.log(sums) - np.log(norm**2 + (np.log(steps) / gamma) ** 2)
    first = np.log(steps) - np.log(2.0) - norm
    lower = np.minimum(first, second) - reach + np.log(np.log(2.0)) - np.log(rows / count)
    upper = np.maximum((2.0 * np.log(steps) + 2.0 * reach) / gamma**2, 2.0)
    return NormBounds(np.asarray(lower), np.asarray(upper))
