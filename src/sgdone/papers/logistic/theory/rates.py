"""How far the parameters of gradient descent are from v̄ and ū (section 3.3): bounds with known constants, and rates.

The optimal iterate w̄_t is the minimiser of R over ‖w‖ ≤ ‖w_t‖ (`sgdone.diagnose.constrained_optimum`); statements
about w_t apply to it too.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, positive, whole
from sgdone.papers.logistic.theory._arguments import as_given, margin_of, numbers, times
from sgdone.papers.logistic.theory.descent import inverse_root_step_sum, risk_bound

__all__ = [
    "ParameterRates",
    "direction_bound",
    "finite_part_bound",
    "parameter_bound",
    "parameter_bound_start",
    "parameter_rates",
]


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


class ParameterRates(NamedTuple):
    """Rates of squared distances, at each t."""

    finite_part: Array
    direction: Array


def parameter_rates(t: ArrayLike) -> ParameterRates:
    """Rates in t at which gradient descent's parameters reach v̄ in S and, in direction, ū.

    Ji, Telgarsky (2018), Theorem 1.2, part 2.

    Assumes the logistic or the exponential loss, w_0 = 0, steps 1/√(j + 1), rows of norm 1 or less, and a t that is
    large enough; constants are left out. For the condition see `parameter_bound_start`: print has t² = Ω(n·ln(t)).

    Parameters
    ----------
    t : int or array of them
        Steps made, 3 or more.

    Returns
    -------
    ParameterRates
        finite_part is ln(t)²/√t, direction is ln(ln(t))/ln(t).

    Examples
    --------
    >>> rates = parameter_rates(10**6)
    >>> round(float(rates.finite_part), 4), round(float(rates.direction), 4)
    (0.1909, 0.1901)
    """
    logarithm = np.log(times(t, 3))
    return ParameterRates(np.asarray(logarithm**2 / np.exp(logarithm / 2.0)), np.asarray(np.log(logarithm) / logarithm))


def parameter_bound(t: ArrayLike, n_rows: int, margin: float, s_norm: float, constant: float = 1.0) -> ParameterRates:
    """Squared distances of gradient descent's parameters from v̄ and, in direction, from ū, up to a constant.

    Ji, Telgarsky (2018), Theorem 3.6 under the condition of its proof.

    Assumes the logistic or the exponential loss, w_0 = 0, steps 1/√(j + 1), rows of norm 1 or less, t ≥ 5 and
    √t/ln(t)³ ≥ n(1 + R)/γ⁴, which no t below 2.4·10⁷ can meet. Of the printed ln(n) − ln‖w_t‖ the sign is +. The
    constant depends on the problem and is nowhere given: with 1 it is a rate. `finite_part_bound` and `direction_bound`
    have none.

    Parameters
    ----------
    t : int or array of them
        Steps made, 5 or more.
    n_rows : int
        n, the rows.
    margin : float
        γ.
    s_norm : float
        R, the largest norm of the part of w_j in S, j < t; 0 for separable data.
    constant : float
        Factor of the rates.

    Returns
    -------
    ParameterRates
        finite_part is ln(t)²/√t, direction is (ln(n) + ln(ln(t)))/(γ²·ln(t)).

    Examples
    --------
    >>> float(parameter_bound(10**15, n_rows=8, margin=0.5, s_norm=0.0).direction.round(4))
    0.651
    >>> parameter_bound(10**6, n_rows=8, margin=0.5, s_norm=0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sgdone.papers.assumptions.AssumptionError: Theorem 3.6 assumes √t/ln(t)³ ≥ n(1 + R)/γ⁴; found 0.3792 < 128...
    """
    steps, scale = times(t, 5), positive("constant", constant)
    rows, gamma, needed = _needed(n_rows, margin, s_norm)
    ratios = np.sqrt(steps) / np.log(steps) ** 3
    assume(
        bool((ratios >= needed).all()),
        "Theorem 3.6 assumes √t/ln(t)³ ≥ n(1 + R)/γ⁴",
        f"{ratios.min():.4g} < {needed:.4g} at t={steps.flat[np.argmin(ratios)]:g}: it holds from "
        f"t={_first(needed):.3g} on",
    )
    rates, logarithm = parameter_rates(steps), np.log(steps)
    return ParameterRates(
        scale * rates.finite_part, np.asarray(scale * (np.log(rows) + np.log(logarithm)) / (gamma**2 * logarithm))
    )


def parameter_bound_start(n_rows: int, margin: float, s_norm: float) -> float:
    """Steps from which on the condition of `parameter_bound` holds, as a real number.

    Ji, Telgarsky (2018), the condition in the proof of Theorem 3.6.

    Assumes rows of norm 1 or less, so that n(1 + R)/γ⁴ ≥ 1. As √t/ln(t)³ is below 0.54 for 5 ≤ t ≤ 10⁶ there is one
    such t.

    Parameters
    ----------
    n_rows : int
        n, the rows.
    margin : float
        γ.
    s_norm : float
        R, the largest norm of the part of w_j in S; 0 for separable data.

    Returns
    -------
    float
        The t above e⁶ with √t = ln(t)³·n(1 + R)/γ⁴.

    Examples
    --------
    >>> [f"{parameter_bound_start(n, margin, 0.0):.2g}" for n, margin in ((1, 1.0), (8, 1.0), (8, 0.5))]
    ['2.4e+07', '9.4e+09', '1.2e+13']
    """
    return _first(_needed(n_rows, margin, s_norm)[2])


def _needed(n_rows: int, margin: float, s_norm: float) -> tuple[int, float, float]:
    """Both n and γ, checked, and n(1 + R)/γ⁴."""
    rows, gamma, reach = whole("n_rows", n_rows, 1), margin_of("Theorem 3.6", margin), non_negative("s_norm", s_norm)
    return rows, gamma, rows * (1.0 + reach) / gamma**4


def _first(needed: float) -> float:
    from scipy.special import lambertw

    # x = ln(t) solves x/2 − 3·ln(x) = ln(needed), beyond its minimum at 6.
    return float(np.exp(-6.0 * lambertw(-(needed ** (-1.0 / 3.0)) / 6.0, -1).real))
