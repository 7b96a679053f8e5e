"""Sums over rows at a model that only summaries need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.score_products import slopes_of
from sgdone.sums.pieces import Piece
from sgdone.sums.row_sum import ArraySum, ReadableRows, RowSum, message
from sgdone.sums.second_order import derivatives, scores
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]


def added_up(rows: ReadableRows, system: System, of_piece: Callable[[Piece], Array]) -> ArraySum | None:
    """The sum of an array over pieces, in their order; None if there are no rows."""
    pieces = rows.pieces(system)
    if not pieces.n_rows:
        return None
    total: Array | None = None
    for found in pieces.map(of_piece):
        if total is None:
            total = found
        else:
            total += found
    assert total is not None
    return ArraySum(total)


@final
@message
@dataclass(frozen=True)
class ColumnProducts(RowSum):
    """Σv·(x̃, 1)(x̃, 1)ᵀ."""

    system: System

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        return added_up(rows, self.system, lambda piece: piece.rows.products(piece.weights[:, None])[0])


@final
@message
@dataclass(frozen=True)
class InformationAt(RowSum):
    """Σv·p(1 − p) of each class."""

    system: System
    model: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        return added_up(rows, self.system, self._of_piece)

    def _of_piece(self, piece: Piece) -> Array:
        objective, basis = self.system.objective, contrasts(self.system.objective)
        shares = derivatives(objective, scores(piece.rows, self.model, basis), piece.labels).shares
        return np.asarray(piece.weights @ (shares if basis is None else shares * (1.0 - shares)))


@final
@message
@dataclass(frozen=True)
class SlopeSums(RowSum):
    """Σv·ψ² of the slopes ψ of a regression, and the weight of the rows where |ψ| is below its bound."""

    system: System
    model: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sums over these rows."""
        return added_up(rows, self.system, self._of_piece)

    def _of_piece(self, piece: Piece) -> Array:
        slopes = slopes_of(self.system.objective, piece, self.model)[:, 0]
        inside = np.abs(slopes) < self.system.objective.loss.lipschitz
        return np.array([piece.weights @ slopes**2, piece.weights @ inside])


@final
@message
@dataclass(frozen=True)
class Largest:
    """The largest of several numbers."""

    value: float

    def merge(self, other: "Largest") -> "Largest":
        """The larger of both."""
        return Largest(max(self.value, other.value))


@final
@message
@dataclass(frozen=True)
class LargestChange(RowSum):
    """Largest change of a score by a step."""

    system: System
    step: Array

    def of(self, rows: ReadableRows) -> Largest | None:
        """The largest change in these rows."""
        basis, pieces = contrasts(self.system.objective), rows.pieces(self.system)
        changes = pieces.map(lambda piece: float(np.abs(scores(piece.rows, self.step, basis)).max()))
        return Largest(max(changes)) if pieces.n_rows else None
