"""Gradient descent and SGD as in Ji, Telgarsky (2018), with the iterates at some of the steps."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sgdone.kernels.jit import compiled
from sgdone.papers.tables import Array, Points

#: Step sizes η_j by the name they have in tables.
STEPS: dict[str, Callable[[Points], Array]] = {
    "1": lambda j: np.ones(len(j)),
    "1/√(j+1)": lambda j: 1.0 / np.sqrt(j + 1.0),
}
#: Number of step sizes computed at a time.
_STRETCH = 1 << 16


class RecordedDescent(NamedTuple):
    """At the steps t = ``at``: w_t, and the sum of the step sizes so far."""

    at: Points
    iterates: Array
    step_sums: Array


def descend(rows: Array, steps: str, at: Points) -> RecordedDescent:
    """Gradient descent on the mean logistic loss of rows y·x, from 0.

    Parameters
    ----------
    rows : array, (rows, features)
        y·x.
    steps : str
        A key of `STEPS`.
    at : array of int
        The steps at which to record, rising; 0 is the start.

    Examples
    --------
    >>> descend(np.array([[1.0], [1.0], [-0.5]]), "1", np.array([0, 1])).iterates
    array([[0.  ],
           [0.25]])
    """
    n, d = rows.shape
    w, gradient = np.zeros(d), np.zeros(d)
    seen, sums = np.empty((len(at), d)), np.empty(len(at))
    t, total = 0, 0.0
    for place, wanted in enumerate(at.tolist()):
        while t < wanted:
            last = min(wanted, t + _STRETCH)
            etas = STEPS[steps](np.arange(t, last))
            _advance(rows, etas / n, w, gradient)
            t, total = last, total + float(etas.sum())
        seen[place], sums[place] = w, total
    return RecordedDescent(at, seen, sums)


@compiled("logistic_descent")
def _advance(rows: Array, etas: Array, w: Array, gradient: Array) -> None:
    n, d = rows.shape
    for j in range(etas.size):
        gradient[:] = 0.0
        for i in range(n):
            margin = 0.0
            for k in range(d):
                margin += rows[i, k] * w[k]
            share = 1.0 / (1.0 + np.exp(margin))
            for k in range(d):
                gradient[k] += share * rows[i, k]
        for k in range(d):
            w[k] += etas[j] * gradient[k]


def perceptron_means(rows: Array, picks: Points, at: Points) -> tuple[Array, Array]:
    """SGD with steps of 1 on the logistic loss from 0, one of the rows y·x a step, as section 2 has it.

    Parameters
    ----------
    rows : array, (rows, features)
        y·x.
    picks : array of int
        Which row each step takes.
    at : array of int
        The steps at which to record, rising.

    Returns
    -------
    iterates, means : array, (steps, features)
        w_t, and the mean of w_0, …, w_{t−1}.

    Examples
    --------
    >>> perceptron_means(np.array([[1.0], [0.5]]), np.array([0, 1]), np.array([1, 2]))[1]
    array([[0.  ],
           [0.25]])
    """
    w, total = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    iterates, means = np.empty((len(at), len(w))), np.empty((len(at), len(w)))
    done = 0
    for place, wanted in enumerate(at.tolist()):
        _walk(rows, picks[done:wanted], w, total)
        done = wanted
        iterates[place], means[place] = w, total / wanted
    return iterates, means


@compiled("logistic_perceptron")
def _walk(rows: Array, picks: Points, w: Array, total: Array) -> None:
    for j in range(picks.size):
        row = picks[j]
        margin = 0.0
        for k in range(w.size):
            margin += rows[row, k] * w[k]
            total[k] += w[k]
        share = 1.0 / (1.0 + np.exp(margin))
        for k in range(w.size):
            w[k] += share * rows[row, k]


def mean_loss(rows: Array, points: Array) -> Array:
    """The mean logistic loss at each of some points."""
    return np.asarray(np.logaddexp(0.0, -points @ rows.T).mean(axis=1))
