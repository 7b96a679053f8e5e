"""The risk of gradient descent, separable data or not: section 3.2."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, non_negative
from sgdone.papers.logistic.theory._arguments import as_given, margin_of, step_sums, times

__all__ = ["gd_risk_bound", "inverse_root_step_sum"]


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
