"""Losses of scored rows, with their first and second derivatives in the scores."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic, Squared

Array = NDArray[np.float64]


class Derivatives(NamedTuple):
    """Losses of rows, and their derivatives in the scores (rows × outputs).

    ``shares`` are the probabilities of a softmax: its second derivatives are pₐ(δₐᵦ − pᵦ). For other losses they are
    the second derivatives themselves: no output depends on another.
    """

    losses: Array
    slopes: Array
    shares: Array


def derivatives(objective: Objective, scores: Array, labels: Array) -> Derivatives:
    """Evaluate the loss of scores (rows × outputs).

    NumPy has the formulas of the losses that the default fit uses: compiling others takes longer than a small fit.
    """
    if objective.predicts == "softmax":
        return _softmax(scores, labels.astype(np.intp))
    if objective.predicts == "one_vs_rest":
        parts = [_single(objective, scores[:, k], np.where(labels == k, 1.0, -1.0)) for k in range(scores.shape[1])]
    else:
        found = _single(objective, scores[:, 0], labels)
        return Derivatives(found[0], found[1][:, None], found[2][:, None])
    losses, slopes, curvatures = zip(*parts, strict=True)
    return Derivatives(np.sum(losses, axis=0), np.column_stack(slopes), np.column_stack(curvatures))


def _single(objective: Objective, z: Array, y: Array) -> tuple[Array, Array, Array]:
    loss = objective.loss
    if isinstance(loss, Logistic):
        margins = y * z
        small = np.exp(-np.abs(margins))
        likely = 1.0 / (1.0 + small)
        wrong = np.where(margins > 0, small * likely, likely)
        return np.log1p(small) - np.minimum(margins, 0.0), -y * wrong, small * likely * likely
    if isinstance(loss, Squared):
        return 0.5 * (z - y) ** 2, z - y, np.ones_like(z)
    return loss.value(z, y), loss.slope(z, y), loss.curvature(z, y)


def _softmax(scores: Array, numbers: NDArray[np.intp]) -> Derivatives:
    logs = log_softmax(scores, axis=1)
    rows = np.arange(numbers.size)
    shares = np.exp(logs)
    slopes = shares.copy()
    slopes[rows, numbers] -= 1.0
    return Derivatives(-logs[rows, numbers], slopes, shares)
