"""How far gradient descent goes along the directions that separate: as far as the logarithm of its steps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, whole
from sgdone.papers.logistic.theory._arguments import margin_of, step_sums, times

__all__ = ["NormBounds", "gd_norm_bounds"]


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
