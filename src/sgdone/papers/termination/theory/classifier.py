"""How good the weights are at which the margin test stops."""

import numpy as np
from scipy.special import ndtr

from sgdone.papers.assumptions import assume, positive

__all__ = ["angle_bound", "optimal_accuracy"]


def angle_bound(sigma: float, step: float, expected_stop: float) -> float:
    """Bound on E|vᵀθ_T| for any unit vector v orthogonal to the optimal classifier.

    Baghal, Paquette & Vavasis (2021), Theorem 7, eq. (42).

    Assumes θ₀ = 0, samples ξ ~ N(μ, σ²I), a constant step, the logistic or the hinge loss, and 1 ≤ E[T] < ∞.

    Parameters
    ----------
    sigma : float
        Standard deviation σ of every feature within a class.
    step : float
        The step size α.
    expected_stop : float
        E[T], or a bound on it such as `expected_stop_bound`.

    Returns
    -------
    float
        σα√(2/π)·E[T].

    Examples
    --------
    >>> round(angle_bound(sigma=0.2, step=0.1, expected_stop=25.0), 4)
    0.3989
    """
    sigma, step = positive("sigma", sigma), positive("step", step)
    expected_stop = positive("expected_stop", expected_stop)
    assume(expected_stop >= 1, "Theorem 7 assumes a stop after 1 step or more", f"expected_stop={expected_stop:g}")
    return float(sigma * step * np.sqrt(2.0 / np.pi) * expected_stop)


def optimal_accuracy(mean_norm: float, sigma: float) -> float:
    """Accuracy of the best linear classifier, which any positive multiple of μ is.

    Baghal, Paquette & Vavasis (2021), Lemma 3.

    Assumes samples ξ ~ N(μ, σ²I).

    Parameters
    ----------
    mean_norm : float
        ‖μ‖, the distance of a class's mean from the midpoint of both: half the distance between the means.
    sigma : float
        Standard deviation σ of every feature within a class.

    Returns
    -------
    float
        Φ(‖μ‖/σ).

    Examples
    --------
    >>> round(optimal_accuracy(mean_norm=1.0, sigma=0.5), 5)
    0.97725
    """
    return float(ndtr(positive("mean_norm", mean_norm) / positive("sigma", sigma)))
