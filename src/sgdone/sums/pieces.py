"""Rows in other units, a fixed number at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.machine.threads import mapped
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Block, Rows, Scaling
from sgdone.rows.source import Source
from sgdone.sums.scaled_rows import ScaledRows, rows_in_units

Array = NDArray[np.float64]
Found = TypeVar("Found")

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
    """Some rows, their labels and weights."""

    rows: ScaledRows
    labels: Array
    weights: Array


class Pieces(ABC):
    """Rows of positive weight in other units, some at a time, as often as needed.

    Attributes
    ----------
    scaling : Scaling
        Units of the rows.
    frequency : float
        How many rows a row of weight 1 stands for.
    n_rows, n_features : int
        Number of rows, and of features.
    threads : int
        Threads of the sums. They never change a result.
    """

    scaling: Scaling
    frequency: float
    n_rows: int
    n_features: int
    threads: int

    @abstractmethod
    def __iter__(self) -> Iterator[Piece]:
        """The pieces, in the order of the rows."""

    def map(self, function: Callable[[Piece], Found]) -> Iterable[Found]:
        """Apply a function to each piece, in order."""
        return mapped(function, self, self.threads)

    @property
    def width(self) -> int:
        """Features and the intercept."""
        return self.n_features + 1


@final
class BlockPieces(Pieces):
    """The rows of a block, `PIECE` at a time.

    Parameters
    ----------
    block : Block
        Rows in the user's units.
    scaling : Scaling
        Their units in the sums.
    frequency : float
        How many rows a row of weight 1 stands for.
    threads : int
        Threads of the sums.
    """

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

    def of_rows(self, chosen: Iterable[NDArray[np.intp]]) -> Iterator[Piece]:
        """Pieces of the given rows, in this order."""
        for part, labels, weights in parts_of(self.block, chosen):
            yield Piece(rows_in_units(part, self.scaling), labels, weights * self.frequency)


@final
class SourcePieces(Pieces):
    """The rows of a source that is read block by block.

    Blocks have multiples of `PIECE` rows, except the last, so that their size does not matter.

    Parameters
    ----------
    source : Source
        Rows in the user's units.
    scaling : Scaling
        Their units in the sums.
    threads : int
        Threads of the sums.
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
    if isinstance(matrix, MixedMatrix):
        return MixedMatrix(*(_neighbours(part, first, last) for part in (matrix.dense, matrix.sparse)))
    begin, end = int(matrix.indptr[first]), int(matrix.indptr[last])
    arrays = matrix.data[begin:end], matrix.indices[begin:end], matrix.indptr[first : last + 1] - begin
    return sparse.csr_array(arrays, (last - first, matrix.shape[1]))
