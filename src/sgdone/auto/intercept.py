"""The last touch of a fit: an intercept at which predictions are right on average.

At the optimum of a loss whose intercept is not penalised the slopes of all rows sum to 0: with the logistic loss and
the softmax the mean probability of a class is its share of the rows, with the squared loss residuals cancel. Stochastic
steps come close to that, and rare classes feel the difference; one more look at the rows makes it exact.
"""

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.task import Task
from sgdone.data.base import Block
from sgdone.losses.squared import Squared

_MAX_ITERATIONS = 50
_CLOSE = 1e-12
#: Predictions of so many rows and classes are held at once.
_MOST_SCORES = 1 << 24


def balanced(
    task: Task, coef: NDArray[np.float64], intercept: NDArray[np.float64], block: Block, most_rows: int
) -> NDArray[np.float64]:
    """The intercept at which predictions are right on average; as it is where that is not known.

    All rows are asked, or one in so many: more than were learnt from would tell no more.
    """
    known = task.loss.probabilistic or isinstance(task.loss, Squared)
    if not (task.fit_intercept and known and task.kind != "one_vs_rest"):
        return intercept
    most_rows = min(most_rows, _MOST_SCORES // task.n_outputs)
    one_in = max(1, round(block.rows.n_rows / most_rows))
    rows = slice(None, None, one_in)
    matrix = block.rows.whole()
    weights = np.broadcast_to(block.sample_weight, block.labels.shape)[rows]
    used = weights > 0
    labels, weights = block.labels[rows][used], weights[used]
    scores = np.asarray((matrix if one_in == 1 else matrix[rows]) @ coef.T + intercept)[used].T
    if isinstance(task.loss, Squared):
        shift = np.array([np.average(labels - scores[0], weights=weights)])
    elif task.kind == "softmax":
        shift = _shift_of_classes(np.array(scores), labels.astype(np.intp), weights)
    else:
        classes = np.vstack([np.zeros(labels.size), scores])
        low, high = _shift_of_classes(classes, (labels > 0).astype(np.intp), weights)
        shift = np.array([high - low])
    return intercept + shift if np.all(np.isfinite(shift)) else intercept


def _shift_of_classes(
    scores: NDArray[np.float64], numbers: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Newton's method for the shifts at which mean probabilities are the shares of the classes (rows of ``scores``).

    Exponentials are taken once: shares with a shift are products with its exponentials. A class without rows, which
    any share would be too large for, stays as it is. No step exceeds 1, beyond which a logistic function may overshoot.
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
        lacks = np.where(present, wanted - found, 0.0)
        if np.abs(lacks).max() < _CLOSE * wanted.sum():
            break
        curvature = np.diag(found) - np.outer(factors, factors) * ((sizes * (weights / totals**2)) @ sizes.T)
        step = np.linalg.lstsq(np.where(present[:, None] & present, curvature, 0.0), lacks)[0]
        shift += step / max(1.0, np.abs(step).max())
    centred: NDArray[np.float64] = shift - shift.mean()
    return centred
