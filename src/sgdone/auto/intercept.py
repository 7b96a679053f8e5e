"""The last touch of a fit: an intercept at which predictions are right on average.

At the optimum of a loss whose intercept is not penalised the slopes of all rows sum to 0: with the logistic loss and
the softmax the mean probability of a class is its share of the rows, with the squared loss residuals cancel. Stochastic
steps come close to that, and rare classes feel the difference; one more look at the rows makes it exact.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from sgdone.auto.task import Task
from sgdone.data.base import Block
from sgdone.losses.squared import Squared

_MAX_ITERATIONS = 50
_CLOSE = 1e-10
#: Larger matrices are not read once more.
_MOST_ENTRIES = 1 << 28


def balanced(
    task: Task, coef: NDArray[np.float64], intercept: NDArray[np.float64], block: Block
) -> NDArray[np.float64]:
    """The intercept at which predictions of all rows are right on average; as it is where that is not known."""
    known = task.loss.probabilistic or isinstance(task.loss, Squared)
    if not (task.fit_intercept and known and task.kind != "one_vs_rest"):
        return intercept
    if block.rows.n_rows * block.rows.typical_length > _MOST_ENTRIES:
        return intercept
    weights = np.broadcast_to(block.sample_weight, block.labels.shape)
    used = weights > 0
    labels, weights = block.labels[used], weights[used]
    scores = np.asarray(block.rows.whole() @ coef.T + intercept)[used]
    if task.kind == "softmax":
        shift = _shift_of_classes(scores, labels.astype(np.intp), weights)
    elif isinstance(task.loss, Squared):
        shift = np.array([np.average(labels - scores[:, 0], weights=weights)])
    else:
        shift = np.array([_shift_of_two(scores[:, 0], labels > 0, weights)])
    return intercept + shift if np.all(np.isfinite(shift)) else intercept


def _shift_of_two(scores: NDArray[np.float64], positive: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Newton's method for the shift at which the mean probability is the share of the class."""
    wanted, shift = float(weights[positive].sum()), 0.0
    for _ in range(_MAX_ITERATIONS):
        shares = expit(scores + shift)
        curvature = float((weights * shares * (1.0 - shares)).sum())
        if not curvature > 0:
            break
        step = np.clip((wanted - float((weights * shares).sum())) / curvature, -1.0, 1.0)
        shift += float(step)
        if abs(step) < _CLOSE:
            break
    return shift


def _shift_of_classes(
    scores: NDArray[np.float64], numbers: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same for several classes, each in turn moved by the logarithm of what it lacks."""
    count = scores.shape[1]
    wanted = np.bincount(numbers, weights, minlength=count)
    present = wanted > 0
    shift = np.zeros(count)
    for _ in range(_MAX_ITERATIONS):
        found = (softmax(scores + shift, axis=1) * weights[:, None]).sum(axis=0)
        step = np.zeros(count)
        step[present] = np.clip(np.log(wanted[present] / found[present]), -1.0, 1.0)
        shift += step
        if np.abs(step).max() < _CLOSE:
            break
    centred: NDArray[np.float64] = shift - shift.mean()
    return centred
