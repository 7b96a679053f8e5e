"""Outer products of the gradients of rows, added up: the middle of a sandwich covariance."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.sums.derivatives import derivatives
from sgdone.sums.merging import merged
from sgdone.sums.pieces import PIECE, BlockPieces, Piece, Pieces
from sgdone.sums.second_order import assembled, scores
from sgdone.sums.system import contrasts

Array = NDArray[np.float64]

#: Most groups whose sums are computed at once.
_GROUPS = 256


@final
@dataclass(frozen=True)
class ScoreProducts:
    """Σggᵀ over rows or groups of rows, in the order of `sgdone.sums.second_order.SecondOrder.curvature`."""

    matrix: Array

    def merge(self, other: "ScoreProducts") -> "ScoreProducts":
        """The sum over the rows of both."""
        return ScoreProducts(self.matrix + other.matrix)


def slopes_of(objective: Objective, piece: Piece, model: Array) -> Array:
    """First derivatives of the losses of rows in the free scores: one column an output."""
    basis = contrasts(objective)
    slopes = derivatives(objective, scores(piece.rows, model, basis), piece.labels).slopes
    return slopes if basis is None else slopes @ basis


def score_products(objective: Objective, pieces: Pieces, model: Array, *, power: int = 1) -> Array:
    """Σv^power·ggᵀ over all rows, g the gradient of a row's loss.

    Parameters
    ----------
    objective : Objective
        The loss.
    pieces : Pieces
        Rows in the units of the model.
    model : ndarray
        (features + 1) × free outputs.
    power : {1, 2}
        1 if weights are frequencies, 2 if they are sampling weights.
    """

    def one(piece: Piece) -> ScoreProducts:
        slopes = slopes_of(objective, piece, model)
        pairs = [(a, b) for a in range(slopes.shape[1]) for b in range(a + 1)]
        values = np.column_stack([slopes[:, a] * slopes[:, b] for a, b in pairs])
        products = piece.rows.products(piece.weights[:, None] ** power * values)
        return ScoreProducts(assembled(pairs, products, model.shape))

    return merged(pieces.map(one)).matrix


def group_score_products(objective: Objective, pieces: BlockPieces, model: Array, groups: NDArray[np.intp]) -> Array:
    """Σ over groups of (Σvg)(Σvg)ᵀ, the inner sums over the rows of a group.

    ``groups`` has the number of the group of each row. Rows are read in the order of their groups, so that few sums are
    kept at a time.
    """
    size = model.size
    total, carried, last = np.zeros((size, size)), np.zeros(size), -1
    chunks = list(_by_group(pieces, groups))
    for rows, piece in zip(chunks, pieces.of_rows(chunks), strict=True):
        numbers, places = np.unique(groups[rows], return_inverse=True)
        slopes = piece.weights[:, None] * slopes_of(objective, piece, model)
        members = np.zeros((rows.size, numbers.size))
        members[np.arange(rows.size), places] = 1.0
        sums = np.concatenate(
            [piece.rows.transposed_times(members * slopes[:, [a]]) for a in range(slopes.shape[1])]
        ).T.copy()
        if numbers[0] == last:
            sums[0] += carried
        else:
            total += np.outer(carried, carried)
        total += sums[:-1].T @ sums[:-1]
        carried, last = sums[-1], int(numbers[-1])
    return total + np.outer(carried, carried)


def _by_group(pieces: BlockPieces, groups: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Rows of positive weight, sorted by group, in parts of at most `PIECE` rows and `_GROUPS` groups."""
    used = pieces.block.all_used().astype(np.intp)
    rows = used[np.argsort(groups[used], kind="stable")]
    starts = np.flatnonzero(np.append(True, np.diff(groups[rows]) != 0))
    first = 0
    while first < rows.size:
        group = int(np.searchsorted(starts, first, side="right"))
        end = int(starts[group + _GROUPS - 1]) if group + _GROUPS - 1 < starts.size else rows.size
        last = min(first + PIECE, end)
        yield rows[first:last]
        first = last
