"""How fast the parameters of gradient descent with steps 1/√(j + 1) reach v̄ and ū: rates, of squared distances."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, positive, whole
from sgdone.papers.logistic.theory._arguments import margin_of, times

__all__ = ["ParameterRates", "parameter_bound", "parameter_bound_start", "parameter_rates"]


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
    >>> parameter_rates(10**6).finite_part.round(4), parameter_rates(10**6).direction.round(4)
    (np.float64(0.1909), np.float64(0.1901))
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
        What the rates are multiplied by.

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
