"""Chee & Toulis (2018): implicit SGD, Pflug's diagnostic and SGD½; and their rivals, the distance test and SVRG."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.sgd_reference import Array, Update


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


#: v·s·(x, 1) with s the slope that an update of (w, b, x, y, v, γ) uses; the penalty is no part of it.
Gradient = Callable[[Array, float, Array, float, float, float], Array]


def explicit_gradient(loss: Any, intercept: bool) -> Gradient:
    """Algorithm 1, line 5: the slope is that at the prediction before the step."""

    def gradient(w: Array, b: float, x: Array, y: float, v: float, gamma: float) -> Array:
        return v * float(loss.slope(w @ x + b, y)) * np.append(x, float(intercept))

    return gradient


def implicit_gradient(loss: Any, alpha: float, intercept: bool) -> Gradient:
    """Eq. (5): the slope s = ℓ′(z − q·s, y) at the prediction after the step, by bisection.

    At a kink many slopes belong to the new prediction: the equation, not ℓ′ there, determines that of the step.
    """

    def gradient(w: Array, b: float, x: Array, y: float, v: float, gamma: float) -> Array:
        z = w @ x / (1.0 + gamma * alpha) + b
        q = gamma * v * (x @ x / (1.0 + gamma * alpha) + intercept)
        low, high = sorted((0.0, float(loss.slope(z, y))))
        while low < (middle := 0.5 * (low + high)) < high:
            low, high = (middle, high) if middle < float(loss.slope(z - q * middle, y)) else (low, middle)
        return v * 0.5 * (low + high) * np.append(x, float(intercept))

    return gradient


def pflug(
    X: Array, y: Array, weights: Array, gamma: Callable[[int], float], update: Update, gradient: Gradient, burn_in: int
) -> tuple[int | None, Array, float, float]:
    """Algorithm 1: stop after the first update n > burn_in with S_n < 0; (n, w, b, S_n), n None if there is none."""
    w, b, S, last = np.zeros(X.shape[1]), 0.0, 0.0, np.zeros(X.shape[1] + 1)
    for n, i in enumerate(np.flatnonzero(weights), start=1):
        row = X[i], y[i], weights[i], gamma(n)
        g = gradient(w, b, *row)
        w, b = update(w, b, *row)
        S, last = S + float(g @ last), g
        if n > burn_in and S < 0.0:
            return n, w, b, S
    return None, w, b, S


def sgd_half(
    X: Array,
    y: Array,
    weights: Array,
    gamma: float,
    update: Update,
    gradient: Gradient,
    burn_in: int,
    smallest: float = 1e-10,
) -> tuple[list[tuple[int, float]], Array, float]:
    """Algorithm 2, ended by γ < smallest *or* by the last row: every (n, the γ from there on), and the last w and b.

    Line 6 divides differences of θ by the present γ² even if they were made with two step sizes: these are gradients.
    """
    w, b, S, last = np.zeros(X.shape[1]), 0.0, 0.0, np.zeros(X.shape[1] + 1)
    tau, halvings = 0, []
    for n, i in enumerate(np.flatnonzero(weights), start=1):
        row = X[i], y[i], weights[i], gamma
        g = gradient(w, b, *row)
        w, b = update(w, b, *row)
        S, last = S + float(g @ last), g
        if n > tau + burn_in and S < 0.0:
            tau, S, gamma = n, 0.0, gamma / 2.0
            halvings.append((n, gamma))
            if gamma < smallest:
                break
    return halvings, w, b


def distance_test(
    path: list[tuple[Array, float]], q: float = 1.5, threshold: float = 0.6, first: int = 5
) -> int | None:
    """Pesme, Dieuleveut & Flammarion (2020): the n at which ‖θ_n − θ_0‖² has ceased to grow, θ_0 the restart.

    Evaluated at n_k = max(⌈q^k⌉, n_{k−1} + 1), k = 0, 1, …; fires at n_{k+1}, k ≥ first, if the slope
    (log‖Ω_{k+1}‖² − log‖Ω_k‖²)/log q < threshold. Written without logarithms, as Ω may be 0.

    Examples
    --------
    >>> line = [(np.array([0.1 * n]), 0.0) for n in range(1000)]
    >>> distance_test(line)  # the slope is 2
    >>> distance_test(line[:13] + [line[12]] * 987)
    18
    """
    k, n, size = 0, 1, np.inf
    while n < len(path):
        before, size = size, float(np.sum((np.append(*path[n]) - np.append(*path[0])) ** 2))
        if k > first and size < q**threshold * before:
            return n
        k, n = k + 1, max(ceil(q ** (k + 1)), n + 1)
    return None


def svrg(
    X: Array,
    y: Array,
    weights: Array,
    order: Sequence[int],
    loss: Any,
    alpha: float,
    gamma: float,
    inner_length: int,
    option: Literal["I", "II"],
    picks: Sequence[int],
    intercept: bool,
) -> list[tuple[Array, float]]:
    """Johnson & Zhang (2013), figure 1: θ_0 and the iterate after each inner step, on the rows ``order`` in turn.

    A stage's anchor is the last iterate of the one before (option I), or that after ``picks[stage]`` of its
    ``inner_length`` steps (option II). f_i = v_i·ℓ_i + ½α‖w‖², the intercept not penalised.
    """
    rows = np.column_stack([X, np.full(len(X), float(intercept))])
    penalty = np.append(np.full(X.shape[1], alpha), 0.0)

    def gradient(theta: Array, of: NDArray[np.intp] | list[int]) -> Array:
        slopes = weights[of] * loss.slope(rows[of] @ theta, y[of])
        return np.asarray(slopes @ rows[of] / len(slopes) + penalty * theta)

    path = [np.zeros(rows.shape[1])]
    for step, i in enumerate(order):
        stage, inner = divmod(step, inner_length)
        if inner == 0:
            anchor = path[-1] if stage == 0 or option == "I" else path[step - inner_length + picks[stage - 1]]
            full, theta = gradient(anchor, np.flatnonzero(weights)), anchor
        theta = theta - gamma * (gradient(theta, [i]) - gradient(anchor, [i]) + full)
        path.append(theta)
    return [(theta[:-1], float(theta[-1])) for theta in path]
