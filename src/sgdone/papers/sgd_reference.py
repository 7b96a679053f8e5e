"""Explicit SGD in dense NumPy, one row per update: what the papers' reference implementations share.

A reference implementation follows its paper line by line and is not fast. Only tests call it, to compare the compiled
loops with it. Rows come in the order given; ``weights`` are sample weights, and a row of weight 0 is skipped.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: (w, b) → (w⁺, b⁺) for one row.
Update = Callable[[Array, float, Array, float, float, float], tuple[Array, float]]
#: θ_0, θ_1, …: every iterate (w, b).
Path = list[tuple[Array, float]]


def explicit(loss: Any, alpha: float, intercept: bool) -> Update:
    """Eq. (2) with L2: w ← (1 − γα)w − γ·v·ℓ′·x, b ← b − γ·v·ℓ′."""

    def update(w: Array, b: float, x: Array, y: float, v: float, gamma: float) -> tuple[Array, float]:
        slope = float(loss.slope(w @ x + b, y))
        return (1.0 - gamma * alpha) * w - gamma * v * slope * x, b - gamma * v * slope * intercept

    return update


def sgd(X: Array, y: Array, weights: Array, gamma: Callable[[int], float], update: Update) -> Path:
    """θ_0, θ_1, …: every iterate."""
    w, b = np.zeros(X.shape[1]), 0.0
    path = [(w, b)]
    for i in np.flatnonzero(weights):
        w, b = update(w, b, X[i], y[i], weights[i], gamma(len(path)))
        path.append((w, b))
    return path
