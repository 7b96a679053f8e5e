"""The bias of the optimum of a likelihood, to first order."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.sample import Sample
from sgdone.inference.sums_at_model import added_up
from sgdone.sums.derivatives import derivatives
from sgdone.sums.pieces import Piece
from sgdone.sums.row_sum import ArraySum, ReadableRows, RowSum, message
from sgdone.sums.second_order import scores
from sgdone.sums.system import System, contrasts

if TYPE_CHECKING:
    from sgdone.inference.optimum import Optimum

Array = NDArray[np.float64]


def first_order_bias(sample: Sample, optimum: "Optimum", inverse: Array) -> Array:
    """−½H⁻¹Σv·(x̃, 1) ⊗ t, in the order of the curvature (Cordeiro & McCullagh 1991, eq. 3.5).

    tₐ = Σ κₐᵦ𝒸·Aᵦ𝒸 with the third cumulants κ of a label and A = x̃ᵀH⁻¹x̃, the covariance of the scores. It is of the
    order of coefficients/rows, and makes coefficients too large: those of many columns, and intercepts of rare classes.
    """
    found: ArraySum = sample.sum(BiasSums(sample.system, optimum.model, inverse))
    return np.asarray(-0.5 * (inverse @ found.values.T.ravel()))


@final
@message
@dataclass(frozen=True)
class BiasSums(RowSum):
    """Σv·(x̃, 1) ⊗ t, shaped like the model, with t as in `first_order_bias`."""

    system: System
    model: Array
    inverse: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        return added_up(rows, self.system, lambda piece: _of_piece(self.system, piece, self.model, self.inverse))


def _of_piece(system: System, piece: Piece, model: Array, inverse: Array) -> Array:
    objective, basis, count = system.objective, contrasts(system.objective), model.shape[1]
    scored = scores(piece.rows, model, basis)
    if basis is None:
        found = derivatives(objective, scored, piece.labels)
        width = model.shape[0]
        own = np.stack([inverse[a * width : (a + 1) * width, a * width : (a + 1) * width] for a in range(count)])
        # p(1 − p)(1 − 2p), of σ(z).
        cumulants = -found.shares * np.tanh(0.5 * scored)
        return piece.rows.transposed_times(piece.weights[:, None] * cumulants * piece.rows.quadratic_forms(own))
    shares = derivatives(objective, scored, piece.labels).shares
    blocks = inverse.reshape(count, model.shape[0], count, model.shape[0]).transpose(0, 2, 1, 3)
    matrices = blocks.reshape(count * count, model.shape[0], model.shape[0])
    forms = piece.rows.quadratic_forms(0.5 * (matrices + matrices.transpose(0, 2, 1))).reshape(-1, count, count)
    spread = np.einsum("ka,iab,lb->ikl", basis, forms, basis)
    own = np.einsum("ikk->ik", spread)
    along = np.einsum("ikl,il->ik", spread, shares)
    middle = np.einsum("ik,ik->i", along, shares)
    cumulants = shares * (own - 2.0 * along - (shares * own).sum(axis=1, keepdims=True) + 2.0 * middle[:, None])
    return piece.rows.transposed_times(piece.weights[:, None] * (cumulants @ basis))
