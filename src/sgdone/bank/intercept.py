"""The exact intercept for the coefficients of a fit.

At the optimum the slopes of the loss sum to 0 over all rows, because the intercept is not penalised: with the logistic
loss and the softmax the mean probability of a class is its frequency, with the squared loss residuals cancel.
Stochastic steps come close to that; for rare classes the difference matters, and one more pass over the rows closes it.
"""

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Model
from sgdone.rows.source import Block

_MAX_ITERATIONS = 50
_CLOSE = 1e-12
#: Scores (rows × classes) held in memory at once.
_MOST_SCORES = 1 << 24
#: Entries of rows that are copied out of the matrix at once.
_PIECE = 1 << 22


def intercept_shift(
    objective: Objective, model: Model, block: Block, most_rows: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Shift of the intercept after which the slopes of the loss sum to 0; 0 where there is no simple solution.

    All rows are used, or a sample of ``most_rows`` of them.
    """
    loss, coef, intercept = objective.loss, model.coef.astype(np.float64), model.intercept
    known = (loss.multinomial and objective.predicts != "one_vs_rest") or (loss.quadratic and objective.n_outputs == 1)
    nothing = np.zeros(objective.n_outputs)
    if not (objective.fit_intercept and known):
        return nothing
    rows = _some_rows(block, min(most_rows, _MOST_SCORES // objective.n_outputs), rng)
    scores = _scores(block, rows, coef, intercept)
    # A row that was never read may contain anything.
    sound = np.all(np.isfinite(scores), axis=1)
    rows, scores = rows[sound], scores[sound].T
    labels, weights = block.labels[rows], block.weights_of(rows)
    if not weights.size:
        return nothing
    if loss.quadratic:
        shift = np.array([-np.average(loss.slope(scores[0], labels), weights=weights) / loss.smoothness])
    elif objective.predicts == "softmax":
        shift = _shift_of_classes(scores.copy(), labels.astype(np.intp), weights)
    else:
        classes = np.vstack([np.zeros(labels.size), scores])
        low, high = _shift_of_classes(classes, (labels > 0).astype(np.intp), weights)
        shift = np.array([high - low])
    return shift if np.all(np.isfinite(shift)) else nothing


def _some_rows(block: Block, most: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """All rows of positive weight, or one drawn from each of ``most`` equal parts of them."""
    if block.n_used <= most:
        return block.all_used()
    places = (np.arange(most) + rng.random(most)) * (block.n_used / most)
    chosen = np.minimum(places.astype(np.uint64), np.uint64(block.n_used - 1))  # a sum may have been rounded up
    return chosen if block.sample_weight.size == 1 else block.all_used()[chosen]


def _scores(
    block: Block, rows: NDArray[np.uint64], coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scores of some rows, computed in pieces, because a product with rows of another type copies them."""
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
    """Newton's method for the shifts at which mean probabilities equal class frequencies (classes are rows of scores).

    Exponentials are computed once: probabilities after a shift are products with its exponentials. A class without
    rows keeps its intercept. No step exceeds 1, beyond which Newton's method may overshoot.
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
        step = np.linalg.lstsq(np.where(present[:, None] & present, curvature, 0.0), lacks, rcond=None)[0]
        shift += step / max(1.0, np.abs(step).max())
    centred: NDArray[np.float64] = shift - shift.mean()
    return centred
