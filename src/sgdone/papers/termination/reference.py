"""Baghal, Paquette & Vavasis (2021): the margin test, its rival the small validation set, and the preliminary phase.

A rule returns the number k of updates made and θ_k = (w, b); k is None, and θ the last one, if it never fires.
"""

from collections.abc import Callable

import numpy as np

from sgdone.papers.sgd_reference import Array, Update

Stop = tuple[int | None, Array, float]


def margin_test(
    X: Array, y: Array, weights: Array, gamma: Callable[[int], float], update: Update, threshold: float = 1.0
) -> Stop:
    """Test (12), (7) in the short version: stop at the first row with y·(xᵀw + b) ≥ threshold, not trained on.

    Examples
    --------
    Each update of the hinge raises the margin of these equal rows by γ = ¼:

    >>> from sgdone.losses import Hinge
    >>> from sgdone.papers.sgd_reference import explicit
    >>> X, y, v = np.ones((9, 1)), np.ones(9), np.ones(9)
    >>> k, w, b = margin_test(X, y, v, lambda t: 0.25, explicit(Hinge(), 0.0, False))
    >>> k, w
    (4, array([1.]))
    """
    w, b = np.zeros(X.shape[1]), 0.0
    for k, i in enumerate(np.flatnonzero(weights)):
        if y[i] * (X[i] @ w + b) >= threshold:
            return k, w, b
        w, b = update(w, b, X[i], y[i], weights[i], gamma(k + 1))
    return None, w, b


def margin_test_fresh(
    X: Array, y: Array, weights: Array, gamma: Callable[[int], float], update: Update, threshold: float = 1.0
) -> Stop:
    """Algorithm 1, test (11), (5) in the short version: of each pair of rows the first trains, the second tests.

    A last row without a partner trains. Of θ_0 = 0 no margin reaches a positive threshold: its test is left out.
    """
    w, b, k = np.zeros(X.shape[1]), 0.0, 0
    for place, i in enumerate(np.flatnonzero(weights)):
        if place % 2 == 0:
            k += 1
            w, b = update(w, b, X[i], y[i], weights[i], gamma(k))
        elif y[i] * (X[i] @ w + b) >= threshold:
            return k, w, b
    return None, w, b


def small_validation_set(
    X: Array, y: Array, weights: Array, gamma: Callable[[int], float], update: Update, size: int, every: int
) -> Stop:
    """Section 5: the first ``size`` rows are held out; stop when their fraction correct fails to increase.

    It is computed every ``every`` updates; the first time there is nothing to compare it with. Each row counts as
    one with any weight, and z ≤ 0 is the class −1. In later passes the caller gives the rows held out weight 0.
    """
    used = np.flatnonzero(weights)
    held_out = used[:size]
    w, b, last = np.zeros(X.shape[1]), 0.0, -np.inf
    for k, i in enumerate(used[size:], start=1):
        w, b = update(w, b, X[i], y[i], weights[i], gamma(k))
        if k % every == 0:
            correct = np.mean(np.where(X[held_out] @ w + b > 0.0, 1.0, -1.0) == y[held_out])
            if correct <= last:
                return k, w, b
            last = correct
    return None, w, b


def preliminary(y: Array, weights: Array, samples: int = 100) -> list[Array]:
    """The first ``samples`` rows, or as many more as it takes to see both classes: those of −1 and those of 1."""
    used = np.flatnonzero(weights)
    labels = y[used].tolist()
    first = used[: max(samples, labels.index(-1.0) + 1, labels.index(1.0) + 1)]
    return [first[y[first] == label] for label in (-1.0, 1.0)]


def centre(X: Array, y: Array, weights: Array, samples: int = 100) -> Array:
    """Section 5: the average of the two class means, to be subtracted from every row.

    Examples
    --------
    >>> centre(np.array([[0.0], [2.0], [5.0]]), np.array([-1.0, -1.0, 1.0]), np.ones(3))
    array([3.])
    """
    return np.asarray(np.mean([X[rows].mean(axis=0) for rows in preliminary(y, weights, samples)], axis=0))


def class_scale(X: Array, y: Array, weights: Array, samples: int = 100) -> float:
    """Section 5: σ̃², the mean of ‖x − μ̃_y‖² within a class, averaged over the two. The step size is α̃/σ̃².

    Examples
    --------
    >>> class_scale(np.array([[0.0], [2.0], [5.0]]), np.array([-1.0, -1.0, 1.0]), np.ones(3))
    0.5
    """
    classes = [X[rows] for rows in preliminary(y, weights, samples)]
    return float(np.mean([np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)) for rows in classes]))
