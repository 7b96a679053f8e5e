"""Approximate leave-one-out losses (Rad & Maleki 2020): one Newton step away from the optimum, without refitting.

At the optimum of Σvℓ + ½λ‖w‖² with curvature H, removing u = min(v, 1) of a row changes its own scores by
uA(I − uLA)⁻¹s, where A = x̃ᵀH⁻¹x̃, s and L are the first and second derivatives of its loss in the scores, and A and L
are square if there are several scores. For the squared loss this is exact.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.newton.direction import Factors
from sgdone.rows.rows import Rows, Scaling, frozen
from sgdone.rows.source import Block
from sgdone.sums.constant_prediction import best_constant
from sgdone.sums.derivatives import derivatives
from sgdone.sums.pieces import BlockPieces, Piece, Pieces
from sgdone.sums.row_sum import ReadableRows, RowSum, message
from sgdone.sums.second_order import own_curvatures, scores, second_order
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]

#: 1 − uLA below which the other rows do not determine the prediction of a row; it is then that of the intercept alone.
ALONE = 1e-13


@final
@message
@dataclass(frozen=True)
class RowLosses:
    """Losses of rows, in their order."""

    losses: Array

    def merge(self, other: "RowLosses") -> "RowLosses":
        """The losses of the rows of both."""
        return RowLosses(np.concatenate([self.losses, other.losses]))


@final
@message
@dataclass(frozen=True)
class LeaveOneOut(RowSum):
    """Losses of rows as if each had been left out; ``inverse`` and ``single`` as in `leave_one_out`."""

    system: System
    model: Array
    inverse: Array
    single: bool = False

    def of(self, rows: ReadableRows) -> RowLosses:
        """The losses of these rows."""
        objective, pieces = self.system.objective, rows.pieces(self.system)
        return RowLosses(leave_one_out(objective, pieces, self.model, self.inverse, single=self.single))


def leave_one_out(objective: Objective, pieces: Pieces, model: Array, inverse: Array, *, single: bool = False) -> Array:
    """The loss of each row of positive weight, had u = min(v, 1) of it been left out.

    Parameters
    ----------
    objective : Objective
        The loss.
    pieces : Pieces
        Rows in the units of the model.
    model : ndarray
        The optimum with all rows, (features + 1) × free outputs.
    inverse : ndarray
        H⁻¹ there, of the penalised objective.
    single : bool
        Whether leverages in single precision are enough.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.concatenate(list(pieces.map(lambda piece: _of_piece(objective, piece, model, inverse, single))))


def losses_of_constant(objective: Objective, labels: Array, weights: Array, *, left_out: bool) -> Array:
    """Losses of rows under the best constant prediction, as if each had been left out of it if ``left_out``."""
    constant, basis = best_constant(objective, labels, weights), contrasts(objective)
    model = np.asarray(constant if basis is None else constant @ basis)[None, :]
    if not left_out or not objective.fit_intercept:
        return derivatives(objective, np.tile(constant, (labels.size, 1)), labels).losses
    if objective.loss.probabilistic and objective.predicts != "one_vs_rest":
        # Its probabilities are the frequencies of the classes; those of a class with one row are not 0.
        classes = (labels > 0).astype(np.intp) if basis is None else labels.astype(np.intp)
        removed = np.minimum(weights, 1.0)
        left = np.maximum(np.bincount(classes, weights)[classes] - removed, 0.5 * removed)
        return np.asarray(np.log(weights.sum() - removed) - np.log(left))
    order = np.arange(labels.size, dtype=np.uint64)
    block = Block(Rows.of(np.empty((labels.size, 0))), frozen(labels), frozen(weights), order, order)
    pieces = BlockPieces(block, Scaling(np.empty(0)))
    curvature = second_order(objective, pieces, model).curvature
    return leave_one_out(objective, pieces, model, Factors.of(curvature, np.zeros(1), model.shape[1]).inverse())


def _of_piece(objective: Objective, piece: Piece, model: Array, inverse: Array, single: bool) -> Array:
    rows, labels, weights = piece
    basis, (width, columns) = contrasts(objective), model.shape
    of_rows = scores(rows, model, basis)
    found = derivatives(objective, of_rows, labels)
    pairs, curvatures = own_curvatures(objective, found)
    removed = np.minimum(weights, 1.0)
    blocks = inverse.reshape(columns, width, columns, width)
    leverages = rows.quadratic_forms(
        np.stack([0.5 * (blocks[a, :, b] + blocks[a, :, b].T) for a, b in pairs]) if columns > 1 else inverse[None],
        single=single,
    )
    if basis is None:
        left = 1.0 - removed[:, None] * curvatures * leverages
        alone = left < ALONE
        change = removed[:, None] * leverages * found.slopes / np.where(alone, 1.0, left)
        return derivatives(objective, np.where(alone, model[-1], of_rows + change), labels).losses
    own, influence = (_square(values, pairs, columns) for values in (curvatures, leverages))
    system = np.eye(columns) - removed[:, None, None] * (own @ influence)
    solved = np.linalg.solve(system, (found.slopes @ basis)[:, :, None])
    change = removed[:, None] * (influence @ solved)[:, :, 0]
    return derivatives(objective, of_rows + change @ basis.T, labels).losses


def _square(values: Array, pairs: list[tuple[int, int]], columns: int) -> Array:
    """A symmetric matrix for each row."""
    found = np.empty((len(values), columns, columns))
    for k, (a, b) in enumerate(pairs):
        found[:, a, b] = found[:, b, a] = values[:, k]
    return found
