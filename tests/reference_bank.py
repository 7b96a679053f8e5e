"""Slow reference of the models of the default fit: averaged implicit SGD of one or several outputs, and units.

A model is a matrix of weights W with a row per output, and an intercept per output; ``labels`` are −1 or 1 or a target
for one output, and the number of the class for several.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from sgdone.papers.diagnostics.reference import implicit
from sgdone.papers.sgd_reference import Array

#: Shamir & Zhang (2013), eq. (6): the k-th iterate weighs as k³ or so.
POWER = 3.0


class Outputs(NamedTuple):
    """The update of a row: (W, b, x, label, v, γ) → (W⁺, b⁺); and its loss: (z, label) → loss."""

    update: Callable[..., tuple[Array, Array]]
    cost: Callable[..., float]


def softmax_implicit(z: Array, label: int, q: float) -> Array:
    """The s with s = softmax(z − q·s) − e, e the unit vector of the label.

    u = z − q·s minimises log Σ exp(u) − u[label] + ‖u − z‖²/(2q): Newton's method in as many unknowns as there are
    classes, along a step halved as long as it goes well beyond the minimum of the line.

    Examples
    --------
    >>> softmax_implicit(np.array([1.0, 1.0]), 0, 2.0).round(4)  # ∓p with p = 1/(1 + exp(4p)), as u = (1 + 2p, 1 − 2p)
    array([-0.2606,  0.2606])
    """
    s, unit = np.zeros(z.size), np.eye(z.size)

    def residual(s: Array) -> Array:
        return np.asarray(s - softmax(z - q * s) + unit[label])

    for _ in range(1000):
        p = softmax(z - q * s)
        step = np.linalg.solve(unit + q * (np.diag(p) - np.outer(p, p)), -residual(s))
        slope = step @ residual(s)
        while step @ residual(s + step) > -0.1 * slope:
            step, slope = 0.5 * step, 0.5 * slope
        s = s + step
        if np.max(np.abs(step)) < 1e-15:
            return s
    raise RuntimeError(f"no implicit slope of {z} found for q={q:g}")


def one_output(loss: Any, alpha: float, intercept: bool) -> Outputs:
    """A single score, with any loss."""
    step = implicit(loss, alpha, intercept)

    def update(W: Array, b: Array, x: Array, label: float, v: float, gamma: float) -> tuple[Array, Array]:
        w, offset = step(W[0], b[0], x, label, v, gamma)
        return w[None], np.array([offset])

    return Outputs(update, lambda z, label: float(loss.value(z[0], label)))


def one_vs_rest(loss: Any, alpha: float, intercept: bool) -> Outputs:
    """A score per class, each trained by itself on whether a row is of its class; losses are summed."""
    step = implicit(loss, alpha, intercept)

    def update(W: Array, b: Array, x: Array, label: float, v: float, gamma: float) -> tuple[Array, Array]:
        signs = np.where(np.arange(b.size) == label, 1.0, -1.0)
        new = [step(w, offset, x, sign, v, gamma) for w, offset, sign in zip(W, b, signs, strict=True)]
        return np.array([w for w, _ in new]), np.array([offset for _, offset in new])

    def cost(z: Array, label: float) -> float:
        return float(np.sum(loss.value(z, np.where(np.arange(z.size) == label, 1.0, -1.0))))

    return Outputs(update, cost)


def coupled(alpha: float, intercept: bool) -> Outputs:
    """A score per class, coupled by a softmax: W⁺ = (W − γv·s·xᵀ)/(1 + γα), b⁺ = b − γv·s, s the slopes there."""

    def update(W: Array, b: Array, x: Array, label: float, v: float, gamma: float) -> tuple[Array, Array]:
        shrink = 1.0 / (1.0 + gamma * alpha)
        s = softmax_implicit(shrink * W @ x + b, int(label), float(gamma * v * (shrink * x @ x + intercept)))
        return shrink * (W - gamma * v * np.outer(s, x)), b - gamma * v * s * intercept

    return Outputs(update, lambda z, label: float(-log_softmax(z)[int(label)]))


def averaged_implicit(
    X: Array,
    labels: Array,
    weights: Array,
    learns: NDArray[np.bool_],
    outputs: Outputs,
    gamma0: float,
    tau: float,
    start: tuple[Array, Array],
) -> tuple[Array, Array, Array]:
    """The averaged weights and intercepts, and the loss of the average before each row of positive weight.

    γ = γ₀/√(1 + t/τ) at the t-th row trained on. Rows for which ``learns`` is false, those of the model's fold, are
    only predicted.
    """
    (W, b), (mean_W, mean_b), t, losses = start, start, 0, []
    for i in np.flatnonzero(weights):
        losses.append(outputs.cost(mean_W @ X[i] + mean_b, labels[i]))
        if learns[i]:
            t += 1
            W, b = outputs.update(W, b, X[i], labels[i], weights[i], gamma0 / np.sqrt(1.0 + t / tau))
            rate = (1.0 + POWER) / (t + POWER)
            mean_W, mean_b = (1.0 - rate) * mean_W + rate * W, (1.0 - rate) * mean_b + rate * b
    return mean_W, mean_b, np.array(losses)


def column_units(X: Array, dense: bool, centred: bool = True) -> tuple[Array, Array]:
    """Scale and shift of the columns: spread and mean of dense columns; root mean square and 0 if not centred.

    A sparse column is divided by the root mean square of its entries that are not 0, and multiplied by its
    inverse document frequency, 1 + log((1 + n)/(1 + df)). A column without spread has the scale 0.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [3.0, 7.0]])
    >>> column_units(X, dense=True)
    (array([1., 0.]), array([2., 7.]))
    >>> column_units(np.array([[0.0, 2.0], [0.0, 2.0]]), dense=False)
    (array([0., 2.]), array([0., 0.]))
    """
    if dense and centred:
        return np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0.0), X.mean(axis=0)
    df = np.full(X.shape[1], len(X)) if dense else np.count_nonzero(X, axis=0)
    size = np.sqrt(np.sum(X**2, axis=0) / np.maximum(df, 1))
    return size / (1.0 + np.log((1 + len(X)) / (1 + df))), np.zeros(X.shape[1])
