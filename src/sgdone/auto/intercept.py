"""The last touch of a fit: an intercept at which predictions are right on average.

At the optimum of a loss whose intercept is not penalised the slopes of all rows sum to 0: with the logistic loss and
the softmax the mean probability of a class is its share of the rows, with the squared loss residuals cancel. Stochastic
steps come close to that, and rare classes feel the difference; one more look at the rows makes it exact.
"""

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.task import Task
from sgdone.data.source import Block
from sgdone.losses.squared import Squared

_MAX_ITERATIONS = 50
_CLOSE = 1e-12
#: Predictions of so many rows and classes are held at once.
_MOST_SCORES = 1 << 24
#: Entries of rows that are taken out of the matrix at once.
_PIECE = 1 << 22


def balanced(
    task: Task, coef: NDArray[np.float64], intercept: NDArray[np.float64], block: Block, most_rows: int
) -> NDArray[np.float64]:
    """The intercept at which predictions are right on average; as it is where that is not known.

    All rows are asked, or some of them: more than were learnt from would tell no more.
    """
    known = task.loss.probabilistic or isinstance(task.loss, Squared)
    if not (task.fit_intercept and known and task.kind != "one_vs_rest"):
        return intercept
    rows = _some_rows(block, min(most_rows, _MOST_SCORES // task.n_outputs))
    scores = _scores(block, rows, coef, intercept)
    # A row that was never read may hold anything.
    sound = np.all(np.isfinite(scores), axis=1)
    rows, scores = rows[sound], scores[sound].T
    labels, weights = block.labels[rows], block.weights_of(rows)
    if not weights.size:
        return intercept
    if isinstance(task.loss, Squared):
        shift = np.array([np.average(labels - scores[0], weights=weights)])
    elif task.kind == "softmax":
        shift = _shift_of_classes(scores.copy(), labels.astype(np.intp), weights)
    else:
        classes = np.vstack([np.zeros(labels.size), scores])
        low, high = _shift_of_classes(classes, (labels > 0).astype(np.intp), weights)
        shift = np.array([high - low])
    return intercept + shift if np.all(np.isfinite(shift)) else intercept


def _some_rows(block: Block, most: int) -> NDArray[np.uint64]:
    """All rows of positive weight, or one of each so many, drawn: rows may come in any order, a regular one too."""
    if block.n_used <= most:
        return block.all_used()
    places = (np.arange(most) + np.random.default_rng(0).random(most)) * (block.n_used / most)
    chosen = np.minimum(places.astype(np.uint64), np.uint64(block.n_used - 1))  # a sum may have been rounded up
    return chosen if block.sample_weight.size == 1 else block.all_used()[chosen]


def _scores(
    block: Block, rows: NDArray[np.uint64], coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Predictions of some rows, in pieces: a product with rows of another type copies them."""
    matrix = block.rows.whole()
    if rows.size == block.rows.n_rows and matrix.dtype == np.float64:
        return np.asarray(matrix @ coef.T + intercept)
    scores = np.empty((rows.size, len(coef)))
    piece = max(1, int(_PIECE / max(1.0, block.rows.typical_length)))
    for first in range(0, rows.size, piece):
        some = rows[first : first + piece].astype(np.intp)
        scores[first : first + piece] = matrix[some] @ coef.T + intercept
    return scores


def _shift_of_classes(
    scores: NDArray[np.float64], numbers: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Newton's method for the shifts at which mean probabilities are the shares of the classes (rows of ``scores``).

    Exponentials are taken once: shares with a shift are products with its exponentials. A class without rows, which
    any share would be too large for, stays as it is, and the others share what it leaves. No step exceeds 1, beyond
    which a logistic function may overshoot.
    """
    count = len(scores)
    wanted = np.bincount(numbers, weights, minlength=count)
    present = wanted > 0
    scores -= scores.max(axis=0)
    sizes = np.exp(scores, out=scores)
    shift = np.zeros(count)
    for _ in range(_MAX_ITERATIONS):
        factors = np.exp(shift)
        totals = factors @ sizes
        found = factors * (sizes @ (weights / totals))
        left = 1.0 - found[~present].sum() / wanted.sum()
        lacks = np.where(present, left * wanted - found, 0.0)
        if np.abs(lacks).max() < _CLOSE * wanted.sum():
            break
        curvature = np.diag(found) - np.outer(factors, factors) * ((sizes * (weights / totals**2)) @ sizes.T)
        step = np.linalg.lstsq(np.where(present[:, None] & present, curvature, 0.0), lacks)[0]
        shift += step / max(1.0, np.abs(step).max())
    centred: NDArray[np.float64] = shift - shift.mean()
    return centred
