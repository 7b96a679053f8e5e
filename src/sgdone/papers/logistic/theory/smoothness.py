"""How much one step of gradient descent lowers the risk, by a smoothness that falls with the risk itself."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume
from sgdone.papers.logistic.theory._arguments import ROUNDING, as_given, numbers

__all__ = ["log_risk_descent", "smoothness_descent"]


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
    assume(
        largest <= 1.0 + ROUNDING,
        "Lemma 3.5 assumes η·R(w) ≤ 1",
        f"η·R(w) = {largest:.6g}: take smaller steps",
    )
    return value, slope, eta
