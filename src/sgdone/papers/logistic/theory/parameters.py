"""How far the parameters of gradient descent are from v̄ and ū, at most: section 3.3, where constants are known.

The optimal iterate w̄_t is the minimiser of R over ‖w‖ ≤ ‖w_t‖ (`sgdone.diagnose.constrained_optimum`); what is said of
w_t is said of it too.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import assume, non_negative, positive, whole
from sgdone.papers.logistic.theory._arguments import as_given, margin_of, numbers, times
from sgdone.papers.logistic.theory.descent import inverse_root_step_sum, risk_bound

__all__ = ["direction_bound", "finite_part_bound"]


def finite_part_bound(t: ArrayLike, v_norm: float, margin: float, modulus: float) -> Any:
    """Squared distance, at most, from v̄ to the parts in S of gradient descent's w_t and of the optimal iterate.

    Ji, Telgarsky (2018), Lemma D.1.

    Assumes the logistic or the exponential loss, w_0 = 0, steps 1/√(j + 1), rows of norm 1 or less, and rows that span
    S, whose mean loss is λ-strongly convex in S wherever it is 1 or less.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    v_norm : float
        ‖v̄‖.
    margin : float
        γ; infinite if no row is separable.
    modulus : float
        λ. The mean is over all rows, so that λ ≤ 1 for these losses wherever R ≤ 1.

    Returns
    -------
    float or array
        2/λ times the smaller of 1 and Theorem 3.2's bound.

    Examples
    --------
    >>> finite_part_bound([10, 10**4, 10**8], v_norm=1.0, margin=0.5, modulus=0.1).round(4)
    array([20.    , 17.1462,  0.6792])
    """
    steps, norm = times(t), non_negative("v_norm", v_norm)
    gamma, curvature = margin_of("Lemma D.1", margin, none_separable=True), positive("modulus", modulus)
    assume(
        curvature <= 1.0,
        "Lemma D.1 assumes ℓ″ ≤ ℓ and rows of norm 1 or less, which makes λ ≤ 1 where R ≤ 1",
        f"modulus={curvature:g}",
    )
    bound = risk_bound(steps, np.asarray(inverse_root_step_sum(steps)), norm, gamma)
    return as_given(2.0 / curvature * np.minimum(1.0, bound))


def direction_bound(
    w_norm: ArrayLike, excess_risk: ArrayLike, n_rows: int, margin: float, s_norm: ArrayLike = 0.0
) -> Any:
    """Squared distance from ū, at most, of the direction of any w, by how low its risk is for its norm.

    Ji, Telgarsky (2018), Lemma D.5 as a distance, with g*(q̄) at its largest, ln(n).

    Assumes the logistic or the exponential loss, rows of norm 1 or less, at least one separable row, and a w whose risk
    is within 1/n of the infimum, whatever found it. Unlike Theorem 3.6 it has no hidden constant.

    Parameters
    ----------
    w_norm : float or array
        ‖w‖.
    excess_risk : float or array
        R(w) − inf R.
    n_rows : int
        n, the rows.
    margin : float
        γ.
    s_norm : float or array
        The norm of the part of w in S; 0 for separable data.

    Returns
    -------
    float or array
        2 − 2c, with the cosine c ≥ (−ln(excess_risk) − ln(2) − ln(n) − s_norm)/(γ‖w‖); 4 at most.

    Examples
    --------
    >>> direction_bound([13.0, 300.0], [5e-3, 1e-38], n_rows=7, margin=0.3).round(3)
    array([0.636, 0.114])
    """
    norm, reach = numbers("w_norm", w_norm, 0.0, above=True), numbers("s_norm", s_norm, 0.0)
    excess = numbers("excess_risk", excess_risk, 0.0, above=True)
    gamma, rows = margin_of("Lemma D.5", margin), whole("n_rows", n_rows, 1)
    worst = float(excess.max())
    assume(
        worst <= 1.0 / rows, "Lemma D.5 assumes a risk within 1/n of the infimum", f"{worst:.4g} > 1/{rows}: go further"
    )
    cosine = (-np.log(excess) - math.log(2.0) - math.log(rows) - reach) / (gamma * norm)
    return as_given(np.asarray(2.0 - 2.0 * np.clip(cosine, -1.0, 1.0)))
