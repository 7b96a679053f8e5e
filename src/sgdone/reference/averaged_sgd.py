"""Xu (2011): averaged SGD with L2, schedule (3), and the start of averaging of section 5."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: (w, b) → (w⁺, b⁺) for one row.
Update = Callable[[Array, float, Array, float, float, float], tuple[Array, float]]


def schedule(gamma0: float, a: float, c: float, t: int) -> float:
    """Eq. (3)."""
    return float(gamma0 * (1.0 + a * gamma0 * t) ** -c)


def explicit(loss: Any, alpha: float, intercept: bool) -> Update:
    """Eq. (2) with L2: w ← (1 − γα)w − γ·v·ℓ′·x, b ← b − γ·v·ℓ′."""

    def update(w: Array, b: float, x: Array, y: float, v: float, gamma: float) -> tuple[Array, float]:
        slope = float(loss.slope(w @ x + b, y))
        return (1.0 - gamma * alpha) * w - gamma * v * slope * x, b - gamma * v * slope * intercept

    return update


def sgd(X: Array, y: Array, weights: Array, gamma: Callable[[int], float], update: Update) -> list[tuple[Array, float]]:
    """θ_0, θ_1, …: every iterate."""
    w, b = np.zeros(X.shape[1]), 0.0
    path = [(w, b)]
    for i in np.flatnonzero(weights):
        w, b = update(w, b, X[i], y[i], weights[i], gamma(len(path)))
        path.append((w, b))
    return path


def average(path: list[tuple[Array, float]], start: int, decay: float = 0.0) -> tuple[Array, float]:
    """The mean of θ over (start, k], by the plain recursion of section 5; θ_k if there is none.

    With a decay p the rate 1/t is (1 + p)/(t + p): Shamir & Zhang (2013), eq. (6).
    """
    w, b = path[-1]
    for t, (theta, offset) in enumerate(path[start + 1 :], start=1):
        rate = (1 + decay) / (t + decay)
        w = theta if t == 1 else (1 - rate) * w + rate * theta
        b = offset if t == 1 else (1 - rate) * b + rate * offset
    return w, b


def start_of_averaging(path: list[tuple[Array, float]], X: Array, y: Array, weights: Array, loss: Any) -> int:
    """The t₀ of section 5: when the losses of the moving average of the iterates have become the smaller ones."""
    used = np.flatnonzero(weights)
    w, b = path[0]
    own, moving = 0.0, 0.0
    for t, i in enumerate(used, start=1):
        theta, offset = path[t - 1]
        own = 0.99 * own + 0.01 * weights[i] * float(loss.value(theta @ X[i] + offset, y[i]))
        moving = 0.99 * moving + 0.01 * weights[i] * float(loss.value(w @ X[i] + b, y[i]))
        if t >= 100 and moving < own:
            return t
        w, b = 0.99 * w + 0.01 * path[t][0], 0.99 * b + 0.01 * path[t][1]
    return len(path) - 1
