"""Signs of the margins of rows along a direction: exact where rounding errors could decide them."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Predicts
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Block
from sgdone.sums.pieces import pieces_of

Array = NDArray[np.float64]

Signs = NDArray[np.int8]

#: Sums of whole numbers up to this are exact.
_EXACT = 2.0**52
#: Most scores of a partition that are computed again in exact arithmetic.
_MOST_EXACT = 2000


def separated_rows(block: Block, directions: Array) -> NDArray[np.bool_]:
    """Whether each row of a block of two classes is on one side of a direction, of directions × (features + 1)."""
    away = np.zeros(block.rows.n_rows, dtype=bool)
    used = block.all_used().astype(np.intp)
    for direction in directions:
        away[used] |= margin_signs("two_classes", block, direction[:, None])[:, 0] != 0
    return away


def margin_signs(predicts: Predicts, block: Block, direction: Array) -> Signs:
    """Signs of the margins of rows of positive weight along a direction; 2 if a sign was not decided.

    Parameters
    ----------
    predicts : {"two_classes", "one_vs_rest", "softmax"}
        Meaning of the outputs.
    block : Block
        The rows.
    direction : ndarray
        (features + 1) × outputs.

    Returns
    -------
    ndarray of int8
        Rows × outputs. The margin of two classes is y·z; of a class against the rest, that of its label; of several
        classes, the score of the row's class less that of each class.
    """
    found, left = [], _MOST_EXACT
    for part, labels, _ in pieces_of(block):
        scores, errors = _scores(part, direction)
        margins, bounds = _margins(predicts, scores, labels), _bounds(predicts, errors, labels)
        signs = np.where(np.abs(margins) > bounds, np.sign(margins), 0.0).astype(np.int8)
        doubtful = np.flatnonzero(((np.abs(margins) <= bounds) & (bounds > 0)).any(axis=1))
        if doubtful.size > left:
            signs[doubtful] = 2
        for row in doubtful.tolist() if doubtful.size <= left else ():
            exact = _exact_scores(part[[row]], direction)
            signs[row] = [(margin > 0) - (margin < 0) for margin in _margins(predicts, exact, labels[[row]])[0]]
        left -= min(left, doubtful.size)
        found.append(signs)
    return np.concatenate(found)


def _margins(predicts: Predicts, scores: NDArray[Any], labels: Array) -> NDArray[Any]:
    if predicts == "two_classes":
        return np.where(labels[:, None] > 0, scores, -scores)
    if predicts == "one_vs_rest":
        return np.where(labels[:, None] == np.arange(scores.shape[1]), scores, -scores)
    own: NDArray[Any] = scores[np.arange(labels.size), labels.astype(np.intp)][:, None] - scores
    return own


def _bounds(predicts: Predicts, errors: Array, labels: Array) -> Array:
    """Largest errors of margins."""
    if predicts != "softmax":
        return errors
    own = labels.astype(np.intp)
    both = errors[np.arange(labels.size), own][:, None] + errors
    both[np.arange(labels.size), own] = 0.0
    return both


def _scores(part: Any, direction: Array) -> tuple[Array, Array]:
    """Scores of rows, and bounds of their rounding errors: 0 where all numbers are whole and small."""
    coef, intercept = direction[:-1], direction[-1]
    scores = np.asarray(part @ coef) + intercept
    sizes = np.asarray(_absolute(part) @ np.abs(coef)) + np.abs(intercept)
    errors = 4.0 * np.finfo(np.float64).eps * (coef.shape[0] + 2) * sizes
    if np.all(direction == np.rint(direction)):
        errors[_has_whole_numbers(part, (coef != 0).any(axis=1))[:, None] & (sizes < _EXACT)] = 0.0
    return scores, errors


def _absolute(part: Any) -> Any:
    if isinstance(part, MixedMatrix):
        return MixedMatrix(np.abs(part.dense), abs(part.sparse))
    return abs(part)


def _has_whole_numbers(part: Any, columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each row has whole numbers in all of some columns."""
    if isinstance(part, MixedMatrix):
        dense, entries = columns[: part.n_dense], columns[part.n_dense :]
        return _has_whole_numbers(part.dense, dense) & _has_whole_numbers(part.sparse, entries)
    if isinstance(part, np.ndarray):
        chosen = part[:, columns]
        return np.asarray((chosen == np.rint(chosen)).all(axis=1))
    broken = (part.data != np.rint(part.data)) & columns[part.indices]
    rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    return np.asarray(np.bincount(rows[broken], minlength=part.shape[0]) == 0)


def _exact_scores(row: Any, direction: Array) -> NDArray[Any]:
    """The scores of one row as fractions."""
    values = np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel().tolist()
    found = np.empty((1, direction.shape[1]), dtype=object)
    for output, (*coef, intercept) in enumerate(direction.T.tolist()):
        pairs = ((x, w) for x, w in zip(values, coef, strict=True) if x and w)
        found[0, output] = sum((Fraction(x) * Fraction(w) for x, w in pairs), Fraction(intercept))
    return found
