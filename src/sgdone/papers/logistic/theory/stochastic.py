"""SGD on a separable distribution: section 2, a perceptron's proof with a martingale at its end.

The loss is convex with 0 ≤ ℓ′ ≤ 1 and ℓ′ ≤ ℓ ≤ exp, as the logistic one; z_j is −y_j·x_j, with ‖z_j‖ ≤ 1 and
⟨ū, z_j⟩ ≤ −γ for a unit vector ū, and w_{j+1} = w_j − η_j·ℓ′(⟨w_j, z_j⟩)·z_j with η_j ≤ 1.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import positive
from sgdone.papers.logistic.theory._arguments import as_given, margin_of, times

__all__ = [
    "sgd_comparison_distance_bound",
    "sgd_expected_slopes_bound",
    "sgd_norm_bound",
    "sgd_risk_bound",
    "sgd_slopes_bound",
]


def sgd_comparison_distance_bound(t: ArrayLike, margin: float) -> Any:
    """Distance from w_t to the comparison point ū·ln(t)/γ, at most.

    Ji, Telgarsky (2018), Lemma 2.2.

    Assumes w_0 = 0, steps of 1 or less, rows of norm 1 or less, and a unit vector ū with the margin γ on every row.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    margin : float
        γ.

    Returns
    -------
    float or array
        √(ln(t)²/γ² + 2).

    Examples
    --------
    >>> sgd_comparison_distance_bound([1, 100], margin=0.5).round(4)
    array([1.4142, 9.3183])
    """
    gamma = margin_of("Lemma 2.2", margin)
    return as_given(np.sqrt((np.log(times(t)) / gamma) ** 2 + 2.0))


def sgd_norm_bound(t: ArrayLike, margin: float) -> Any:
    """Norm of the SGD iterate w_t, at most: it grows no faster than the logarithm of the steps.

    Ji, Telgarsky (2018), Lemma 2.3.

    Assumes w_0 = 0, steps of 1 or less, rows of norm 1 or less, and a unit vector ū with the margin γ on every row.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    margin : float
        γ.

    Returns
    -------
    float or array
        2·ln(t)/γ + 2.

    Examples
    --------
    >>> sgd_norm_bound([1, 100], margin=0.5).round(4)
    array([ 2.    , 20.4207])
    """
    gamma = margin_of("Lemma 2.3", margin)
    return as_given(2.0 * np.log(times(t)) / gamma + 2.0)


def sgd_slopes_bound(t: ArrayLike, margin: float) -> Any:
    """Sum of the slopes η_j·ℓ′(⟨w_j, z_j⟩) that SGD meets in t steps, at most: a perceptron's number of mistakes.

    Ji, Telgarsky (2018), Lemma 2.5, first part.

    Assumes w_0 = 0, steps of 1 or less, rows of norm 1 or less, and a unit vector ū with the margin γ on every row.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    margin : float
        γ.

    Returns
    -------
    float or array
        2·ln(t)/γ² + 2/γ.

    Examples
    --------
    >>> sgd_slopes_bound([1, 100], margin=0.5).round(4)
    array([ 4.    , 40.8414])
    """
    gamma = margin_of("Lemma 2.5", margin)
    return as_given(2.0 * np.log(times(t)) / gamma**2 + 2.0 / gamma)


def sgd_expected_slopes_bound(t: ArrayLike, margin: float, delta: float) -> Any:
    """Sum over t steps of the expectations of η_j·ℓ′ before each sample, at most, with probability 1 − δ.

    Ji, Telgarsky (2018), Lemma 2.5, second part.

    Assumes what the first part does, and independent samples of one distribution. It holds at each t by itself, not at
    all of them at once.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    margin : float
        γ.
    delta : float
        δ, between 0 and 1.

    Returns
    -------
    float or array
        4·ln(t)/γ² + 4/γ + 4·ln(1/δ).

    Examples
    --------
    >>> sgd_expected_slopes_bound([1, 100], margin=0.5, delta=0.05).round(4)
    array([19.9829, 93.6657])
    """
    gamma = margin_of("Lemma 2.5", margin)
    return as_given(4.0 * np.log(times(t)) / gamma**2 + 4.0 / gamma + 4.0 * _surprise(delta))


def sgd_risk_bound(t: ArrayLike, margin: float, delta: float) -> Any:
    """Expected logistic loss of the mean of the iterates w_0, …, w_{t−1}, at most, with probability 1 − δ.

    Ji, Telgarsky (2018), Theorem 2.1 over t, which is Theorem 1.1.

    Assumes the logistic loss, w_0 = 0, steps of 1, rows of norm 1 or less, a unit vector ū with the margin γ on every
    row, and independent samples. The mean of the risks of w_0, …, w_{t−1} is within it too. It holds at each t by
    itself.

    Parameters
    ----------
    t : int or array of them
        Steps made, 1 or more.
    margin : float
        γ.
    delta : float
        δ, between 0 and 1.

    Returns
    -------
    float or array
        16·(ln(t)/γ + 1)(ln(t)/γ² + 1/γ + ln(1/δ))/t.

    Examples
    --------
    >>> [round(sgd_risk_bound(t, margin=0.5, delta=0.05), 4) for t in (100, 10_000, 1_000_000)]
    [38.2543, 1.3, 0.0276]
    """
    gamma, steps = margin_of("Theorem 2.1", margin), times(t)
    norm = np.log(steps) / gamma + 1.0
    return as_given(16.0 * norm * (norm / gamma + _surprise(delta)) / steps)


def _surprise(delta: float) -> float:
    probability = positive("delta", delta)
    if probability >= 1.0:
        raise ValueError(f"delta={delta!r} is not between 0 and 1")
    return float(-np.log(probability))
