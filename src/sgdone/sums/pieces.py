"""Pieces of rows in the units of a sum: a fixed number of rows at a time, and the products that sums need of them."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.csr_gram import add_products, quadratic_forms
from sgdone.machine.threads import mapped
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.stacking import rows_between
from sgdone.rows.rows import Block, Rows, Scaling
from sgdone.rows.source import Source

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
        """Scores of a model, by one product; those of an output lie next to each other."""
        return np.asarray((model.T @ self._rows.T).T)

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
        if are_many(rows, values.shape[1]):
            return products_at_once(rows, values)

        def one(column: Any) -> Any:
            if column.min(initial=0.0) < 0.0:
                return rows.T @ (column[:, None] * rows)
            weighted = np.sqrt(column)[:, None] * rows
            return weighted.T @ weighted

        columns = values.T.astype(rows.dtype)
        return np.array(list(mapped(one, columns, min(self._threads, len(columns)))), dtype=np.float64)

    def quadratic_forms(self, matrices: Array, *, single: bool = False) -> Array:
        """Quadratic forms of each row, by one product per matrix, or by one for many."""
        rows = self._single if single else self._rows
        if are_many(rows, len(matrices)):
            return forms_at_once(rows, matrices)

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


#: Columns up to which the products of all pairs of them are made for a few rows at a time, and these rows: they stay in
#: the caches.
_FEW_COLUMNS, _ROWS_AT_ONCE = 72, 256


def are_many(rows: NDArray[np.floating], count: int) -> bool:
    """Whether as many products of few columns are faster at once: the pairs of columns times the values of each."""
    return bool(rows.shape[1] <= min(count, _FEW_COLUMNS))


def products_at_once(rows: NDArray[np.floating], values: Array) -> Array:
    """Σ xxᵀ·values, a matrix for each column of ``values``, by one product for all of them."""
    first, second = np.tril_indices(rows.shape[1])
    total = np.zeros((values.shape[1], first.size))
    for some in _parts(len(rows)):
        x = rows[some]
        total += values[some].T.astype(rows.dtype, copy=False) @ (x[:, first] * x[:, second])
    found = np.empty((values.shape[1], rows.shape[1], rows.shape[1]))
    found[:, first, second] = found[:, second, first] = total
    return found


def forms_at_once(rows: NDArray[np.floating], matrices: Array) -> Array:
    """xᵀMx of each row and symmetric matrix, by one product for all of them."""
    first, second = np.tril_indices(rows.shape[1])
    entries = (np.where(first == second, 1.0, 2.0) * matrices[:, first, second]).T.astype(rows.dtype)
    found = np.empty((len(rows), len(matrices)))
    for some in _parts(len(rows)):
        x = rows[some]
        found[some] = (x[:, first] * x[:, second]) @ entries
    return found


def _parts(n_rows: int) -> Iterator[slice]:
    return (slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, n_rows, _ROWS_AT_ONCE))


@dataclass(frozen=True)
class UnscaledRows(ScaledRows):
    """Rows in the user's units; units and origin are accounted for in the sums."""

    part: Any
    scaling: Scaling

    def times(self, model: Array) -> Array:
        """Scores of a model: units divide the model, and the origin moves the intercept."""
        coef = model[:-1] / self.scaling.scale[:, None]
        intercept = model[-1] if self.scaling.shift is None else model[-1] - self.scaling.shift @ coef
        return np.asarray((coef.T @ self.part.T + intercept[:, None]).T)

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
        together = are_many(self.part, values.shape[1])
        if together:
            found[:, :-1, :-1] = products_at_once(self.part, values)
        for k, column in enumerate(() if together else values.T):
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
        squares = matrices[:, :-1, :-1]
        if are_many(self.part, len(squares)):
            return np.asarray(linear + forms_at_once(self.part, squares))
        for k, matrix in enumerate(squares):
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
        add_products(self._types)(*self._arrays, np.ascontiguousarray(values), found)
        return np.asarray(np.ascontiguousarray(np.moveaxis(found, 2, 0)))

    def _quadratic_forms(self, matrices: Array) -> Array:
        found: Array = np.zeros((self.part.shape[0], len(matrices)))
        turned = np.ascontiguousarray(np.moveaxis(matrices, 0, 2))
        quadratic_forms(self._types)(*self._arrays, turned, found)
        return found

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.part.data, self.part.indices, self.part.indptr

    @property
    def _types(self) -> str:
        return " ".join(str(array.dtype) for array in self._arrays)


@final
class MixedRows(ScaledRows):
    """Rows (x̃, z̃, 1) of (x̃, 1) dense and (z̃, 1) sparse: products of each part by its own methods, and of both."""

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


Value = TypeVar("Value")

#: Rows whose scaled copy is made at once. It is part of the result: sums over other pieces round differently.
PIECE = 4096
#: Columns of sparse rows from which pieces are longer, and by what factor: each piece has a curvature of its own.
_WIDE_SPARSE, _LONGER = 512, 16
#: Entries of scaled copies that are kept for the next sum: making them takes as long as a product, and this is little
#: memory.
KEPT = 1 << 20
#: Entries up to which scaled copies, which are kept, take less time than rows as they are.
_SMALL = 1 << 17
#: Number of columns from which products are faster with several threads.
_WIDE = 96
#: Means, in standard deviations, up to which products of columns as they are keep enough digits.
_FAR = 100.0
#: Units and origins up to which products of two columns, of all rows, neither overflow nor underflow.
_EXTREME = 1e60


class Piece(NamedTuple):
    """Some rows of a `sgdone.rows.rows.Block` in the units of a sum, with their labels and weights."""

    rows: ScaledRows
    labels: Array
    weights: Array


class Pieces(ABC):
    """Rows of positive weight in other units, some at a time, as often as needed."""

    scaling: Scaling
    #: How many rows a row of weight 1 stands for.
    frequency: float
    n_rows: int
    n_features: int
    #: Threads of the sums. They never change a result.
    threads: int

    @abstractmethod
    def __iter__(self) -> Iterator[Piece]:
        """The pieces, in the order of the rows."""

    def map(self, function: Callable[[Piece], Value]) -> Iterable[Value]:
        """Apply a function to each piece, in order."""
        return mapped(function, self, self.threads)

    @property
    def width(self) -> int:
        """Features and the intercept."""
        return self.n_features + 1


@final
class BlockPieces(Pieces):
    """The rows of a block, which is in the user's units, `PIECE` at a time."""

    def __init__(self, block: Block, scaling: Scaling, frequency: float = 1.0, threads: int = 1) -> None:
        self.block, self.scaling, self.frequency = block, scaling, frequency
        self.n_rows, self.n_features = block.n_used, block.rows.n_features
        self._n_dense = block.rows.n_dense
        large = self.n_rows * (self._n_dense + 1) > _SMALL
        self._raw = self._n_dense > 0 and block.rows.dtype == np.float64 and large and _is_mild(scaling)
        self._raw = self._raw and not is_extreme(scaling)
        self._kept: list[Piece] | None = None
        #: Threads over pieces; within the only one, over products.
        threads = threads if self.width >= _WIDE else 1
        self.threads, self._inner = (threads, 1) if self.n_rows > PIECE else (1, threads)

    @classmethod
    def safely(cls, block: Block, scaling: Scaling, frequency: float = 1.0, threads: int = 1) -> "BlockPieces":
        """Pieces of a block; rows whose products would overflow or underflow are copied in their units first."""
        if not is_extreme(scaling):
            return cls(block, scaling, frequency, threads)
        return cls(in_units(block, scaling), scaling.as_given(), frequency, threads)

    def __iter__(self) -> Iterator[Piece]:
        if self._kept is not None:
            return iter(self._kept)
        made = self._made()
        if self._n_dense and not self._raw and self.n_rows * (self._n_dense + 1) > KEPT:
            return made
        self._kept = list(made)
        return iter(self._kept)

    def _made(self) -> Iterator[Piece]:
        size = PIECE if self.block.rows.is_dense or self.width <= _WIDE_SPARSE else _LONGER * PIECE
        used = self.block.all_used().astype(np.intp)
        chosen = (used[first : first + size] for first in range(0, used.size, size))
        for part, labels, weights in parts_of(self.block, chosen):
            rows = rows_in_units(part, self.scaling, raw=self._raw, threads=self._inner)
            yield Piece(rows, labels, weights * self.frequency)

    def sample(self, numbers: NDArray[np.intp]) -> "BlockPieces":
        """Pieces of some of the rows, by their numbers among those of positive weight."""
        weights = np.zeros(self.block.rows.n_rows)
        chosen = self.block.all_used()[numbers]
        weights[chosen] = self.block.weights_of(chosen)
        return BlockPieces(replace(self.block, sample_weight=weights), self.scaling, self.frequency, self.threads)

    def of_rows(self, chosen: Iterable[NDArray[np.intp]]) -> Iterator[Piece]:
        """Pieces of the given rows, in this order."""
        for part, labels, weights in parts_of(self.block, chosen):
            yield Piece(rows_in_units(part, self.scaling), labels, weights * self.frequency)


@final
class SourcePieces(Pieces):
    """The rows of a source that is read block by block, in the user's units.

    Blocks have multiples of `PIECE` rows, except the last, so that their size does not matter.
    """

    def __init__(self, source: Source, scaling: Scaling, threads: int = 1) -> None:
        self._source, self.scaling, self.threads = source, scaling, threads
        self.n_rows, self.n_features, self.frequency = source.n_rows or 0, scaling.scale.size, 1.0

    def __iter__(self) -> Iterator[Piece]:
        for block in self._source.blocks_in_order(self.n_features):
            used = block.all_used()
            numbers = used // np.uint64(PIECE)
            ends = np.flatnonzero(np.diff(numbers)) + 1
            chosen = [part.astype(np.intp) for part in np.split(used, ends) if part.size]
            yield from BlockPieces.safely(block, self.scaling).of_rows(chosen)


def _is_mild(scaling: Scaling) -> bool:
    """Whether products of columns as they are keep their digits."""
    known = np.isfinite(scaling.scale)
    if scaling.shift is None:
        return True
    return bool(np.all(np.abs(scaling.shift[known]) <= _FAR * scaling.scale[known]))


def is_extreme(scaling: Scaling) -> bool:
    """Whether products of columns as they are may overflow or underflow."""
    scale = scaling.scale[np.isfinite(scaling.scale)]
    largest = 0.0 if scaling.shift is None else float(np.abs(scaling.shift).max(initial=0.0))
    return bool(np.any((scale < 1.0 / _EXTREME) | (scale > _EXTREME))) or largest > _EXTREME


def in_units(block: Block, scaling: Scaling) -> Block:
    """A copy of a block in other units, for columns whose products would overflow or underflow."""
    return replace(
        block, rows=Rows.of(_in_units(block.rows.whole(), scaling), None, block.rows.names, block.rows.roles)
    )


def _in_units(matrix: Any, scaling: Scaling) -> Any:
    if isinstance(matrix, MixedMatrix):
        columns = slice(0, matrix.n_dense), slice(matrix.n_dense, None)
        numbers, entries = (
            _in_units(*pair) for pair in zip((matrix.dense, matrix.sparse), map(scaling.of, columns), strict=True)
        )
        return MixedMatrix(numbers, entries)
    inverse = 1.0 / scaling.scale
    if isinstance(matrix, np.ndarray):
        shift = 0.0 if scaling.shift is None else scaling.shift
        return np.ascontiguousarray((matrix - shift) * inverse)
    entries = matrix.data * inverse[matrix.indices]
    return sparse.csr_array((entries, matrix.indices, matrix.indptr), matrix.shape)


def pieces_of(block: Block) -> Iterator[tuple[Any, Array, Array]]:
    """Rows of positive weight in the user's units, labels and weights, `PIECE` rows at a time."""
    used = block.all_used().astype(np.intp)
    return parts_of(block, (used[first : first + PIECE] for first in range(0, used.size, PIECE)))


def parts_of(block: Block, chosen: Iterable[NDArray[np.intp]]) -> Iterator[tuple[Any, Array, Array]]:
    """Chosen rows in the user's units, their labels and weights."""
    matrix = block.rows.whole()
    for rows in chosen:
        together = bool(rows.size == rows[-1] - rows[0] + 1 and np.all(rows[1:] > rows[:-1]))
        # Neighbouring rows are not copied.
        first, last = int(rows[0]), int(rows[-1]) + 1
        if not together:
            part = matrix[rows]
        else:
            part = matrix[first:last] if isinstance(matrix, np.ndarray) else rows_between(matrix, first, last)
        weights = (
            block.sample_weight[rows] if block.sample_weight.size > 1 else np.full(rows.size, block.sample_weight[0])
        )
        yield part, block.labels[first:last] if together else block.labels[rows], weights
