"""Fixed numbers of rows at a time, in other units."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.rows import Rows, Scaling
from sgdone.data.source import Block
from sgdone.data.threads import mapped
from sgdone.kernels.csr_gram import make_add_products, make_quadratic_forms

Array = NDArray[np.float64]
Found = TypeVar("Found")

#: Rows whose scaled copy is made at once. It is part of the result: sums over other pieces round differently.
PIECE = 4096
#: Entries of scaled copies that are kept for the next sum: making them takes as long as a product, and this is little
#: memory.
KEPT = 1 << 20
#: Entries up to which scaled copies, which are kept, take less time than rows as they are.
_SMALL = 1 << 17
#: Columns from which products take so long that several threads pay.
_WIDE = 32
#: Means, in standard deviations, up to which products of columns as they are keep enough digits.
_FAR = 100.0
#: Units and origins up to which products of two columns, of all rows, neither overflow nor underflow.
_EXTREME = 1e60


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
        """One product."""
        return np.asarray(self._rows @ model)

    def transposed_times(self, values: Array) -> Array:
        """One product."""
        return np.asarray(self._rows.T @ values)

    def squared_transposed_times(self, values: Array) -> Array:
        """One product of squares."""
        return np.asarray((self._rows * self._rows).T @ values)

    @cached_property
    def _single(self) -> Any:
        return self._rows.astype(np.float32)

    def products(self, values: Array, *, single: bool = False) -> Array:
        """One product each; half of the work where no value is negative."""
        rows = self._single if single else self._rows

        def one(column: Any) -> Any:
            if column.min(initial=0.0) < 0.0:
                return rows.T @ (column[:, None] * rows)
            weighted = np.sqrt(column)[:, None] * rows
            return weighted.T @ weighted

        columns = values.T.astype(rows.dtype)
        return np.array(list(mapped(one, columns, min(self._threads, len(columns)))), dtype=np.float64)

    def quadratic_forms(self, matrices: Array, *, single: bool = False) -> Array:
        """One product each."""
        rows = self._single if single else self._rows

        def one(matrix: Any) -> Any:
            return np.einsum("ij,ij->i", rows @ matrix, rows)

        given = matrices.astype(rows.dtype)
        found = np.empty((len(rows), len(given)))
        for k, column in enumerate(mapped(one, given, min(self._threads, len(given)))):
            found[:, k] = column
        return found

    def inner_products(self) -> Array:
        """One product."""
        rows = self._rows[:, :-1]
        return np.asarray(rows @ rows.T)


@dataclass(frozen=True)
class RowsAsTheyAre(ScaledRows):
    """Rows in the user's units; units and origin are accounted for in the sums."""

    part: Any
    scaling: Scaling

    def times(self, model: Array) -> Array:
        """Units divide the model, and the origin moves the intercept."""
        coef = model[:-1] / self.scaling.scale[:, None]
        intercept = model[-1] if self.scaling.shift is None else model[-1] - self.scaling.shift @ coef
        return np.asarray(self.part @ coef + intercept)

    def transposed_times(self, values: Array) -> Array:
        """Units divide the sums, and the origin is taken off as often as there are rows."""
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
        """The forms BᵀMB of the rows as they are."""
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


@final
@dataclass(frozen=True)
class RawRows(RowsAsTheyAre):
    """Dense rows whose columns are not far from 0, relative to their spread: no copy is needed."""

    def squared_transposed_times(self, values: Array) -> Array:
        """Of a scaled copy."""
        return DenseRows(self.part, self.scaling).squared_transposed_times(values)

    def inner_products(self) -> Array:
        """Of a scaled copy."""
        return DenseRows(self.part, self.scaling).inner_products()

    def _products(self, values: Array) -> Array:
        width = self.part.shape[1]
        found = np.empty((values.shape[1], width + 1, width + 1))
        for k, column in enumerate(values.T):
            if column.min(initial=0.0) >= 0.0:
                weighted = np.sqrt(column)[:, None] * self.part
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
class SparseRows(RowsAsTheyAre):
    """Sparse rows."""

    def squared_transposed_times(self, values: Array) -> Array:
        """(x − s)² = x² − 2sx + s² in each column."""
        sums, total = self.part.multiply(self.part).T @ values, values.sum(axis=0)
        if self.scaling.shift is not None:
            shift = self.scaling.shift[:, None]
            sums = sums - 2.0 * shift * (self.part.T @ values) + shift**2 * total
        return np.vstack([sums / self.scaling.scale[:, None] ** 2, total])

    def inner_products(self) -> Array:
        """xᵀx′ in each unit; the origin is taken off both."""
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


class Piece(NamedTuple):
    """Some rows, their labels and weights."""

    rows: ScaledRows
    labels: Array
    weights: Array


@final
class Pieces:
    """Rows of positive weight in other units, `PIECE` rows at a time, as often as needed.

    Parameters
    ----------
    block : Block
        Rows in the user's units.
    scaling : Scaling
        Their units in the sums.
    frequency : float
        What a sample weight of 1 stands for.
    threads : int
        Threads of the sums. They never change a result.
    """

    def __init__(self, block: Block, scaling: Scaling, frequency: float = 1.0, threads: int = 1) -> None:
        self.block, self.scaling, self.frequency = block, scaling, frequency
        self.n_rows, self.n_features = block.n_used, block.rows.n_features
        self._dense = block.rows.access.vectors_first
        large = self.n_rows * self.width > _SMALL
        self._raw = self._dense and block.rows.dtype == np.float64 and large and _is_mild(scaling)
        self._raw = self._raw and not is_extreme(scaling)
        self._kept: list[Piece] | None = None
        #: Threads over pieces; within the only one, over products.
        threads = threads if self.width >= _WIDE else 1
        self.threads, self._inner = (threads, 1) if self.n_rows > PIECE else (1, threads)

    def map(self, function: Callable[[Piece], Found]) -> Iterable[Found]:
        """Apply a function to each piece, in order."""
        return mapped(function, self, self.threads)

    @property
    def width(self) -> int:
        """Features and the intercept."""
        return self.n_features + 1

    def __iter__(self) -> Iterator[Piece]:
        if self._kept is not None:
            return iter(self._kept)
        made = self._made()
        if self._dense and not self._raw and self.n_rows * self.width > KEPT:
            return made
        self._kept = list(made)
        return iter(self._kept)

    def _made(self) -> Iterator[Piece]:
        make: Any = partial(DenseRows, threads=self._inner)
        if not self._dense or self._raw:
            make = RawRows if self._dense else SparseRows
        for part, labels, weights in pieces_of(self.block):
            yield Piece(make(part, self.scaling), labels, weights * self.frequency)


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
    matrix, inverse = block.rows.whole(), 1.0 / scaling.scale
    if isinstance(matrix, np.ndarray):
        shift = 0.0 if scaling.shift is None else scaling.shift
        scaled: Any = np.ascontiguousarray((matrix - shift) * inverse)
    else:
        entries = matrix.data * inverse[matrix.indices]
        scaled = sparse.csr_array((entries, matrix.indices, matrix.indptr), matrix.shape)
    return replace(block, rows=Rows.of(scaled, names=block.rows.names))


def pieces_of(block: Block) -> Iterator[tuple[Any, Array, Array]]:
    """Rows of positive weight in the user's units, labels and weights, `PIECE` rows at a time."""
    used = block.all_used().astype(np.intp)
    matrix = block.rows.whole()
    for first in range(0, used.size, PIECE):
        rows = used[first : first + PIECE]
        together = rows.size == rows[-1] - rows[0] + 1
        part = _neighbours(matrix, int(rows[0]), int(rows[-1]) + 1) if together else matrix[rows]
        if block.sample_weight.size == 1:
            weights = np.full(rows.size, block.sample_weight[0])
        else:
            weights = block.sample_weight[rows]
        labels = block.labels[rows[0] : rows[-1] + 1] if together else block.labels[rows]
        yield part, labels, weights


def _neighbours(matrix: Any, first: int, last: int) -> Any:
    """Neighbouring rows, without copying their entries."""
    if isinstance(matrix, np.ndarray):
        return matrix[first:last]
    begin, end = int(matrix.indptr[first]), int(matrix.indptr[last])
    arrays = matrix.data[begin:end], matrix.indices[begin:end], matrix.indptr[first : last + 1] - begin
    return sparse.csr_array(arrays, (last - first, matrix.shape[1]))
