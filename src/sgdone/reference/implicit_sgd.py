"""Chee & Toulis (2018), eq. (5), with L2: the proximal point of one row's loss and the penalty, by bisection."""

from typing import Any

import numpy as np

from sgdone.reference.averaged_sgd import Array, Update


def implicit(loss: Any, alpha: float, intercept: bool) -> Update:
    """w⁺ = (w − γvs·x)/(1 + γα), b⁺ = b − γvs, with s the slope at the new prediction."""

    def update(w: Array, b: float, x: Array, y: float, v: float, gamma: float) -> tuple[Array, float]:
        def new(s: float) -> tuple[Array, float]:
            return (w - gamma * v * s * x) / (1.0 + gamma * alpha), b - gamma * v * s * intercept

        low, high = sorted((0.0, float(loss.slope(w @ x / (1.0 + gamma * alpha) + b, y))))
        while low < (middle := 0.5 * (low + high)) < high:
            w_new, b_new = new(middle)
            low, high = (middle, high) if middle < float(loss.slope(w_new @ x + b_new, y)) else (low, middle)
        return new(0.5 * (low + high))

    return update


def least_squares_update(theta: Array, x: Array, y: float, gamma: float) -> Array:
    """The implicit update of linear regression in closed form: θ + γ(y − xᵀθ)x/(1 + γ‖x‖²)."""
    return np.asarray(theta + gamma * (y - x @ theta) / (1.0 + gamma * (x @ x)) * x)
