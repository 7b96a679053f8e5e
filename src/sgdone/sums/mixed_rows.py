"""Rows in other units whose first columns are dense and whose other columns are sparse."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Scaling
from sgdone.sums.scaled_rows import DenseRows, RawRows, ScaledRows, SparseRows

Array = NDArray[np.float64]


@final
class MixedRows(ScaledRows):
    """Rows (x̃, z̃, 1) with dense x̃ and sparse z̃: products of each part by its own methods, and products of both.

    Parameters
    ----------
    dense : DenseRows or RawRows
        (x̃, 1).
    entries : SparseRows
        (z̃, 1).
    """

    def __init__(self, dense: DenseRows | RawRows, entries: SparseRows, n_dense: int) -> None:
        self._dense, self._entries, self._n_dense = dense, entries, n_dense

    def times(self, model: Array) -> Array:
        """Scores of a model; the intercept is added once."""
        coef, n_dense = model[:-1], self._n_dense
        of_dense = self._dense.times(np.vstack([coef[:n_dense], np.zeros_like(model[-1:])]))
        return of_dense + self._entries.times(model[n_dense:])

    def transposed_times(self, values: Array) -> Array:
        """Σ (x̃, z̃, 1)·values over the rows; both parts have the sum of the values last."""
        return np.vstack([self._dense.transposed_times(values)[:-1], self._entries.transposed_times(values)])

    def squared_transposed_times(self, values: Array) -> Array:
        """Σ (x̃², z̃², 1)·values over the rows; both parts have the sum of the values last."""
        found = self._dense.squared_transposed_times(values)[:-1], self._entries.squared_transposed_times(values)
        return np.vstack(found)

    def products(self, values: Array, *, single: bool = False) -> Array:
        """Products of the columns of each part, and Σz̃x̃ᵀ·values: sparse rows times dense columns."""
        of_dense, of_entries = self._dense.products(values, single=single), self._entries.products(values)
        d, width, scaled = self._n_dense, self._n_dense + of_entries.shape[1], self._dense.scaled
        found = np.empty((values.shape[1], width, width))
        found[:, :d, :d], found[:, d:, d:] = of_dense[:, :-1, :-1], of_entries
        for k, column in enumerate(values.T):
            # The last row of the product is that of the intercept.
            found[k, d:, :d] = self._entries.transposed_times(column[:, None] * scaled)
        found[:, :d, d:] = found[:, d:, :d].transpose(0, 2, 1)
        return found

    def quadratic_forms(self, matrices: Array, *, single: bool = False) -> Array:
        """Quadratic forms of each part, and 2·x̃ᵀM(z̃, 1)."""
        d, scaled = self._n_dense, self._dense.scaled
        of_dense = np.zeros((len(matrices), d + 1, d + 1))
        of_dense[:, :d, :d] = matrices[:, :d, :d]
        found = self._dense.quadratic_forms(of_dense, single=single) + self._entries.quadratic_forms(
            matrices[:, d:, d:]
        )
        for k, matrix in enumerate(matrices):
            found[:, k] += 2.0 * np.einsum("ij,ij->i", self._entries.times(matrix[d:, :d]), scaled)
        return found

    def inner_products(self) -> Array:
        """Inner products of all pairs of rows, summed over both parts."""
        return self._dense.inner_products() + self._entries.inner_products()


def rows_in_units(part: Any, scaling: Scaling, *, raw: bool = False, threads: int = 1) -> ScaledRows:
    """Rows of a matrix of any storage in other units; dense columns are not copied if ``raw``."""
    if isinstance(part, MixedMatrix):
        d, dense = part.n_dense, scaling.of(slice(0, part.n_dense))
        numbers: Any = rows_in_units(part.dense, dense, raw=raw, threads=threads)
        return MixedRows(numbers, SparseRows(part.sparse, scaling.of(slice(d, None))), d)
    if sparse.issparse(part):
        return SparseRows(part, scaling)
    return RawRows(part, scaling) if raw else DenseRows(part, scaling, threads)
