"""Fewer rows than columns: the same problem in the span of the rows, which has no more coordinates than rows.

The optimum with an L2 penalty is a combination of the rows, w = X̃ᵀa. With the eigenvectors U and eigenvalues s² of
X̃X̃ᵀ, rows have the coordinates Us in an orthonormal basis of their span: predictions and the penalty stay the same.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sgdone.rows.rows import Rows, Scaling, frozen
from sgdone.rows.source import Block
from sgdone.sums.pieces import PIECE, BlockPieces, Pieces

Array = NDArray[np.float64]

#: Directions in which the rows vary by less than this share of the largest are left out: penalties end well above.
_FLAT = 1e-13


@final
@dataclass(frozen=True)
class RowSpan:
    """Rows in coordinates of their span.

    Parameters
    ----------
    pieces : Pieces
        Rows in these coordinates.
    original : Pieces
        Rows in the units in which the penalty acts.
    back : ndarray
        Us⁻¹, rows × coordinates.
    """

    pieces: BlockPieces
    original: Pieces
    back: Array

    @classmethod
    def of(cls, original: Pieces) -> "RowSpan":
        """The span of at most `PIECE` rows."""
        (piece,) = original
        values, vectors = eigh(piece.rows.inner_products(), check_finite=False)
        known = values > _FLAT * max(float(values[-1]), np.finfo(np.float64).tiny)
        known[-1] = True  # rows that are all equal keep one coordinate
        sizes = np.sqrt(np.maximum(values[known], 0.0))
        matrix = np.ascontiguousarray(vectors[:, known] * sizes)
        order = np.arange(len(matrix), dtype=np.uint64)
        block = Block(Rows.of(matrix), frozen(piece.labels), frozen(piece.weights), order, order)
        return cls(
            BlockPieces(block, Scaling(np.ones(matrix.shape[1]))),
            original,
            vectors[:, known] * np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0),
        )

    def model(self, found: Array) -> Array:
        """A model of the rows' coordinates as a model of the features."""
        (piece,) = self.original
        coef = piece.rows.transposed_times(self.back @ found[:-1])[:-1]
        return np.vstack([coef, found[-1:]])


def is_smaller(n_rows: int, n_features: int) -> bool:
    """Whether the span of the rows has fewer coordinates than there are features, and fits into a piece."""
    return n_rows < n_features and n_rows <= PIECE
