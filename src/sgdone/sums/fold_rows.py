"""Products of all rows with the columns of several models at once."""

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.csr_columns import lanes_of, make_adds, make_curved, make_dots, padded
from sgdone.rows.rows import Block
from sgdone.sums.pieces import PIECE, BlockPieces, Pieces

Array = NDArray[np.float64]


class FoldOutputs(NamedTuple):
    """Scores of a row that a model has, and whether a softmax couples them."""

    per_model: int
    coupled: bool


class CurvatureWork(NamedTuple):
    """Arrays of a product of curvatures with directions; see `sgdone.kernels.csr_columns.make_curved`.

    ``columns`` and ``intercepts`` are the directions, ``shares`` and ``weights`` the second derivatives and weights of
    the rows; ``scores``, ``changes``, ``totals`` and ``found`` are written.
    """

    columns: Array
    intercepts: Array
    shares: Array
    weights: Array
    outputs: FoldOutputs
    scores: Array
    changes: Array
    totals: Array
    found: Array

    def bend(self, here: slice = slice(None)) -> None:
        """Write the second derivatives of some rows' losses times scores to ``changes``; further columns are 0."""
        weights, outputs, changes = self.weights[here], self.outputs, self.changes[here]
        used, shape = weights.shape[1] * outputs.per_model, (-1, weights.shape[1], outputs.per_model)
        share, score = self.shares[here, :used].reshape(shape), self.scores[here, :used].reshape(shape)
        if outputs.coupled:
            score = score - (share * score).sum(axis=2, keepdims=True)
        changes[:, :used] = (weights[:, :, None] * share * score).reshape(-1, used)
        changes[:, used:] = 0.0

    def add_up(self) -> None:
        """Write the sums over the rows to ``totals``."""
        self.totals[0] = np.einsum("ij,ij->j", self.scores, self.changes)
        self.totals[1] = self.changes.sum(axis=0)


class FoldProducts(ABC):
    """Rows of positive weight that are multiplied by several columns.

    Columns are in the rows' own units: those of scaled rows times ``inverse``.
    """

    n_rows: int
    n_features: int
    inverse: Array

    @abstractmethod
    def width(self, n_columns: int) -> int:
        """Number of columns that arrays must have for ``n_columns`` columns; the additional ones are 0."""

    @abstractmethod
    def dots(self, columns: Array, intercepts: Array) -> Array:
        """Scores of the rows, rows × columns."""

    @abstractmethod
    def adds(self, values: Array, found: Array, *, squared: bool = False) -> None:
        """Add Σ x·values over the rows, or Σ x²·values, to ``found``: features × columns."""

    @abstractmethod
    def curved(self, work: CurvatureWork) -> None:
        """Multiply curvatures by directions; see `sgdone.kernels.csr_columns.make_curved`."""


@final
class SparseFoldProducts(FoldProducts):
    """Sparse rows as they are; compiled loops."""

    def __init__(self, block: Block, scale: Array) -> None:
        self._arrays, self._types, self._rows = block.rows.arrays[:3], block.rows.types, block.all_used()
        self.n_rows, self.n_features, self.inverse = self._rows.size, block.rows.n_features, 1.0 / scale

    def width(self, n_columns: int) -> int:
        """Number of columns, rounded up to a multiple of four."""
        return padded(n_columns)

    def dots(self, columns: Array, intercepts: Array) -> Array:
        """Scores of the rows, in one pass."""
        found = np.tile(intercepts, (self.n_rows, 1))
        make_dots(self._types, lanes_of(intercepts.size))(*self._arrays, self._rows, columns, found)
        return found

    def adds(self, values: Array, found: Array, *, squared: bool = False) -> None:
        """Add the sums, in one pass."""
        add = make_adds(self._types, lanes_of(values.shape[1]), 2 if squared else 1)
        add(*self._arrays, self._rows, values, found)

    def curved(self, work: CurvatureWork) -> None:
        """Multiply curvatures by directions, in one pass that reads each row once."""
        multiply = make_curved(self._types, lanes_of(work.shares.shape[1]))
        multiply(*self._arrays, self._rows, *work[:4], *work.outputs, *work[5:])


@final
class DenseFoldProducts(FoldProducts):
    """Pieces of dense rows in scaled units; products by BLAS."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self.n_rows, self.n_features, self.inverse = pieces.n_rows, pieces.n_features, np.ones(pieces.n_features)

    def width(self, n_columns: int) -> int:
        """Number of columns; none are added."""
        return n_columns

    def dots(self, columns: Array, intercepts: Array) -> Array:
        """Scores of the rows, by one product per piece."""
        model = np.vstack([columns, intercepts])
        return np.concatenate([piece.rows.times(model) for piece in self._pieces])

    def adds(self, values: Array, found: Array, *, squared: bool = False) -> None:
        """Add the sums, by one product per piece."""
        for k, piece in enumerate(self._pieces):
            part = values[k * PIECE : (k + 1) * PIECE]
            sums = piece.rows.squared_transposed_times(part) if squared else piece.rows.transposed_times(part)
            found += sums[:-1]

    def curved(self, work: CurvatureWork) -> None:
        """Multiply curvatures by directions, by two products per piece."""
        model, found = np.vstack([work.columns, work.intercepts]), work.found
        for k, piece in enumerate(self._pieces):
            here = slice(k * PIECE, (k + 1) * PIECE)
            work.scores[here] = piece.rows.times(model)
            work.bend(here)
            found += piece.rows.transposed_times(work.changes[here])[:-1]
        work.add_up()


@final
class MixedFoldProducts(FoldProducts):
    """Dense columns as pieces, sparse ones as they are."""

    def __init__(self, dense: DenseFoldProducts, entries: SparseFoldProducts) -> None:
        self._dense, self._entries, self._n_dense = dense, entries, dense.n_features
        self.n_rows, self.n_features = dense.n_rows, dense.n_features + entries.n_features
        self.inverse = np.concatenate([dense.inverse, entries.inverse])

    def width(self, n_columns: int) -> int:
        """Number of columns that sparse rows need."""
        return self._entries.width(n_columns)

    def dots(self, columns: Array, intercepts: Array) -> Array:
        """Scores of the rows; the intercepts are added once."""
        found = self._entries.dots(columns[self._n_dense :], intercepts)
        found += self._dense.dots(columns[: self._n_dense], np.zeros_like(intercepts))
        return found

    def adds(self, values: Array, found: Array, *, squared: bool = False) -> None:
        """Add the sums of each part to its own columns."""
        self._dense.adds(values, found[: self._n_dense], squared=squared)
        self._entries.adds(values, found[self._n_dense :], squared=squared)

    def curved(self, work: CurvatureWork) -> None:
        """Multiply curvatures by directions, by two products of each part."""
        work.scores[:] = self.dots(work.columns, work.intercepts)
        work.bend()
        self.adds(work.changes, work.found)
        work.add_up()


def fold_rows(pieces: BlockPieces) -> FoldProducts:
    """Rows in the units of pieces."""
    if pieces.block.rows.is_dense:
        return DenseFoldProducts(pieces)
    if pieces.block.rows.is_sparse:
        return SparseFoldProducts(pieces.block, pieces.scaling.scale)
    (dense, numbers), (others, entries) = pieces.block.parts
    scaled = BlockPieces(numbers, pieces.scaling.of(dense), pieces.frequency, pieces.threads)
    return MixedFoldProducts(DenseFoldProducts(scaled), SparseFoldProducts(entries, pieces.scaling.of(others).scale))
