"""Xu (2011): the step sizes of eq. (3), and the average of the iterates with its start (section 5)."""

from typing import Any

import numpy as np

from sgdone.papers.sgd_reference import Array, Path


def schedule(gamma0: float, a: float, c: float, t: int) -> float:
    """Eq. (3)."""
    return float(gamma0 * (1.0 + a * gamma0 * t) ** -c)


def average(path: Path, start: int, decay: float = 0.0) -> tuple[Array, float]:
    """The mean of θ over (start, k], by the plain recursion of section 5; θ_k if there is none.

    With a decay p the rate 1/t is (1 + p)/(t + p): Shamir & Zhang (2013), eq. (6).
    """
    w, b = path[-1]
    for t, (theta, offset) in enumerate(path[start + 1 :], start=1):
        rate = (1 + decay) / (t + decay)
        w = theta if t == 1 else (1 - rate) * w + rate * theta
        b = offset if t == 1 else (1 - rate) * b + rate * offset
    return w, b


def start_of_averaging(path: Path, X: Array, y: Array, weights: Array, loss: Any) -> int:
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
