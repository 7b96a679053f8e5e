"""Rows in other units, and the products that sums over them need: dense, sparse, and both side by side."""

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.csr_gram import make_add_products, make_quadratic_forms
from sgdone.machine.threads import mapped
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Scaling

Array = NDArray[np.float64]


class ScaledRows(ABC):
    """Rows (x̃, 1) with x̃ = (x − shift)/scale."""

    @abstractmethod
    def times(self, model: Array) -> Array:
        """The scores of a model, (features + 1) × outputs."""

    @abstractmethod
    def transposed_times(self, values: Array) -> Array:
        """Σ (x̃, 1)·values over the rows: (features + 1) × columns of ``values``."""

    @abstractmethod
    def squared_transposed_times(self, values: Array) -> Array:
        """Σ (x̃², 1)·values, the squares taken of each entry."""

    @abstractmethod
    def products(self, values: Array, *, single: bool = False) -> Array:
        """Σ (x̃, 1)(x̃, 1)ᵀ·values: one square matrix for each column of ``values``.

        Single precision is enough if ``single``; not all rows make use of that.
        """

    @abstractmethod
    def quadratic_forms(self, matrices: Array, *, single: bool = False) -> Array:
        """(x̃, 1)ᵀM(x̃, 1) of each row (rows) and matrix (columns)."""

    @abstractmethod
    def inner_products(self) -> Array:
        """x̃ᵀx̃ of all pairs of rows, the last column left out."""


@final
class DenseRows(ScaledRows):
    """A scaled copy: columns far from 0 keep their digits."""

    def __init__(self, part: NDArray[np.floating], scaling: Scaling, threads: int = 1) -> None:
        self._threads = threads
        self._rows = np.ones((part.shape[0], part.shape[1] + 1))
        scaled = self._rows[:, :-1]
        scaled[:] = part
        if scaling.shift is not None:
            scaled -= scaling.shift
        scaled *= 1.0 / scaling.scale

    def times(self, model: Array) -> Array:
        """Scores of a model, by one product."""
        return np.asarray(self._rows @ model)

    def transposed_times(self, values: Array) -> Array:
        """Σ (x̃, 1)·values over the rows, by one product."""
        return np.asarray(self._rows.T @ values)

    def squared_transposed_times(self, values: Array) -> Array:
        """Σ (x̃², 1)·values, by one product of squares."""
        return np.asarray((self._rows * self._rows).T @ values)

    @property
    def scaled(self) -> Array:
        """x̃ of each row."""
        return self._rows[:, :-1]

    @cached_property
    def _single(self) -> Any:
        return self._rows.astype(np.float32)

    def products(self, values: Array, *, single: bool = False) -> Array:
        """Weighted products of the columns, with half of the work where no value is negative."""
        rows = self._single if single else self._rows

        def one(column: Any) -> Any:
            if column.min(initial=0.0) < 0.0:
                return rows.T @ (column[:, None] * rows)
            weighted = np.sqrt(column)[:, None] * rows
            return weighted.T @ weighted

        columns = values.T.astype(rows.dtype)
        return np.array(list(mapped(one, columns, min(self._threads, len(columns)))), dtype=np.float64)

    def quadratic_forms(self, matrices: Array, *, single: bool = False) -> Array:
        """Quadratic forms of each row, by one product per matrix."""
        rows = self._single if single else self._rows

        def one(matrix: Any) -> Any:
            return np.einsum("ij,ij->i", rows @ matrix, rows)

        given = matrices.astype(rows.dtype)
        found = np.empty((len(rows), len(given)))
        for k, column in enumerate(mapped(one, given, min(self._threads, len(given)))):
            found[:, k] = column
        return found

    def inner_products(self) -> Array:
        """x̃ᵀx̃ of all pairs of rows, by one product."""
        rows = self._rows[:, :-1]
        return np.asarray(rows @ rows.T)


@dataclass(frozen=True)
class UnscaledRows(ScaledRows):
    """Rows in the user's units; units and origin are accounted for in the sums."""

    part: Any
    scaling: Scaling

    def times(self, model: Array) -> Array:
        """Scores of a model: units divide the model, and the origin moves the intercept."""
        coef = model[:-1] / self.scaling.scale[:, None]
        intercept = model[-1] if self.scaling.shift is None else model[-1] - self.scaling.shift @ coef
        return np.asarray(self.part @ coef + intercept)

    def transposed_times(self, values: Array) -> Array:
        """Σ (x̃, 1)·values: units divide the sums, and the origin is subtracted as often as there are rows."""
        sums, total = self.part.T @ values, values.sum(axis=0)
        if self.scaling.shift is not None:
            sums = sums - self.scaling.shift[:, None] * total
        return np.vstack([sums / self.scaling.scale[:, None], total])

    def products(self, values: Array, *, single: bool = False) -> Array:
        """P = Σ(x, 1)(x, 1)ᵀ·values of the rows as they are, in other units: BPBᵀ with (x̃, 1) = B(x, 1)."""
        found, inverse = self._products(values), 1.0 / self.scaling.scale
        if self.scaling.shift is not None:
            shift, sums, total = self.scaling.shift, found[:, -1, :-1].copy(), found[:, -1, -1]
            mixed = sums[:, :, None] * shift
            found[:, :-1, :-1] -= mixed + mixed.transpose(0, 2, 1) - total[:, None, None] * np.outer(shift, shift)
            found[:, -1, :-1] -= total[:, None] * shift
            found[:, :-1, -1] = found[:, -1, :-1]
        found[:, :-1] *= inverse[:, None]
        found[:, :, :-1] *= inverse
        return found

    def quadratic_forms(self, matrices: Array, *, single: bool = False) -> Array:
        """Quadratic forms of the rows as they are, with BᵀMB in place of M."""
        inverse = np.append(1.0 / self.scaling.scale, 1.0)
        turned = matrices * inverse[:, None] * inverse
        if self.scaling.shift is not None:
            along = turned[:, :-1, :-1] @ self.scaling.shift
            turned[:, -1, -1] += along @ self.scaling.shift - 2.0 * turned[:, -1, :-1] @ self.scaling.shift
            turned[:, -1, :-1] -= along
            turned[:, :-1, -1] = turned[:, -1, :-1]
        return self._quadratic_forms(turned)

    @abstractmethod
    def _products(self, values: Array) -> Array:
        """Σ(x, 1)(x, 1)ᵀ·values, a matrix for each column of ``values``."""

    @abstractmethod
    def _quadratic_forms(self, matrices: Array) -> Array:
        """(x, 1)ᵀM(x, 1) of each row and matrix."""


_WORK = threading.local()


def _work_array(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array for values that are needed once; the next call of this thread overwrites them.

    Memory that is returned to the system after each piece, as in Dask's workers, takes longer than the products.
    """
    known: NDArray[Any] | None = getattr(_WORK, "array", None)
    if known is None or known.dtype != dtype or known.shape[1:] != shape[1:] or known.shape[0] < shape[0]:
        known = _WORK.array = np.empty(shape, dtype)
    return known[: shape[0]]


@final
@dataclass(frozen=True)
class RawRows(UnscaledRows):
    """Dense rows whose columns are not far from 0, relative to their spread: no copy is needed."""

    @property
    def scaled(self) -> Array:
        """x̃ of each row: a copy each time."""
        return DenseRows(self.part, self.scaling).scaled

    def squared_transposed_times(self, values: Array) -> Array:
        """Σ (x̃², 1)·values, from a scaled copy."""
        return DenseRows(self.part, self.scaling).squared_transposed_times(values)

    def inner_products(self) -> Array:
        """x̃ᵀx̃ of all pairs of rows, from a scaled copy."""
        return DenseRows(self.part, self.scaling).inner_products()

    def _products(self, values: Array) -> Array:
        width = self.part.shape[1]
        found = np.empty((values.shape[1], width + 1, width + 1))
        for k, column in enumerate(values.T):
            if column.min(initial=0.0) >= 0.0:
                kind = np.result_type(column, self.part)
                weighted = np.multiply(np.sqrt(column)[:, None], self.part, out=_work_array(self.part.shape, kind))
                found[k, :-1, :-1] = weighted.T @ weighted
            else:
                found[k, :-1, :-1] = self.part.T @ (column[:, None] * self.part)
        found[:, :-1, -1] = found[:, -1, :-1] = (self.part.T @ values).T
        found[:, -1, -1] = values.sum(axis=0)
        return found

    def _quadratic_forms(self, matrices: Array) -> Array:
        linear = self.part @ (2.0 * matrices[:, -1, :-1].T) + matrices[:, -1, -1]
        for k, matrix in enumerate(matrices[:, :-1, :-1]):
            linear[:, k] += np.einsum("ij,ij->i", self.part @ matrix, self.part)
        return np.asarray(linear)


@final
@dataclass(frozen=True)
class SparseRows(UnscaledRows):
    """Sparse rows."""

    def squared_transposed_times(self, values: Array) -> Array:
        """Σ (x̃², 1)·values, with (x − s)² = x² − 2sx + s² in each column."""
        sums, total = self.part.multiply(self.part).T @ values, values.sum(axis=0)
        if self.scaling.shift is not None:
            shift = self.scaling.shift[:, None]
            sums = sums - 2.0 * shift * (self.part.T @ values) + shift**2 * total
        return np.vstack([sums / self.scaling.scale[:, None] ** 2, total])

    def inner_products(self) -> Array:
        """x̃ᵀx̃ of all pairs of rows; the origin is subtracted from both."""
        scaled = self.part.multiply(1.0 / self.scaling.scale[None, :]).tocsr()
        found = np.asarray((scaled @ scaled.T).toarray())
        if self.scaling.shift is None:
            return found
        origin = self.scaling.shift / self.scaling.scale
        along = np.asarray(scaled @ origin)
        return np.asarray(found - along[:, None] - along[None, :] + origin @ origin)

    def _products(self, values: Array) -> Array:
        width = self.part.shape[1]
        found = np.zeros((width + 1, width + 1, values.shape[1]))
        make_add_products(self._types)(*self._arrays, np.ascontiguousarray(values), found)
        return np.asarray(np.ascontiguousarray(np.moveaxis(found, 2, 0)))

    def _quadratic_forms(self, matrices: Array) -> Array:
        found: Array = np.zeros((self.part.shape[0], len(matrices)))
        turned = np.ascontiguousarray(np.moveaxis(matrices, 0, 2))
        make_quadratic_forms(self._types)(*self._arrays, turned, found)
        return found

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.part.data, self.part.indices, self.part.indptr

    @property
    def _types(self) -> str:
        return " ".join(str(array.dtype) for array in self._arrays)


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
