"""Numbered rows in blocks: cut by the global number of the row, from tables that are encoded or from arrays."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.csr_entries import NO_NUMBER, number_columns
from sgdone.machine.memory import check_training_memory
from sgdone.matrices.csr import as_unsigned, csr_of, with_unique_entries
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.row_hash import row_hashes
from sgdone.matrices.stacking import ReusedArrays, rows_between, rows_together
from sgdone.readers.table import Table, errors_located, tables_of_rows
from sgdone.rows.rows import Rows, check_row, roles_of_features
from sgdone.tables import Encoded, TableEncoding

#: Rows in a block, unless they are so wide that a block would not fit into its share of memory.
BLOCK_ROWS = 65_536
#: Pieces of a block that later passes read by themselves: a buffer of pieces from all over the rows is a better sample
#: of them than one of a few blocks, above all if the rows are sorted.
PIECES = 16
#: Share of the memory that one block may take.
_BLOCK_SHARE = 1 / 16
#: Values below this have squares that can be added up in any number.
_LARGE = 1e140
#: Smallest block, and the number of rows whose size is measured, or the share of the memory that they may take.
_FEWEST_ROWS, _MEASURED_ROWS, _MEASURED_SHARE = 256, 4096, 1 / 8
#: Bytes of a column that may never appear: its number, and its coefficient in the fitted model.
_COLUMN_BYTES = 12
#: Columns for which there is room at first.
_ROOM = 1 << 10


@final
@dataclass(frozen=True)
class EncodedRows:
    """Consecutive rows of a source, with labels and weights, as they are encoded and cached.

    They become the `sgdone.rows.rows.Block` that is trained on, which adds an order. What they have and it does not are
    numbers and hashes, which tell which of them are validation rows.
    """

    #: Features, in an array, a CSR array or a `MixedMatrix`; no row has a column twice.
    X: Any
    #: −1 and 1, class numbers, or targets.
    labels: NDArray[np.float64]
    #: Sample weights; None if all are 1.
    weights: NDArray[np.float64] | None
    #: Hashes of the rows as they were before they were encoded.
    hashes: NDArray[np.uint64]
    #: Global numbers of the rows.
    numbers: NDArray[np.int64]
    #: What the columns are part of, as in `sgdone.rows.rows.ENTRIES`.
    roles: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.labels.size)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_bytes(self) -> int:
        """Bytes of the features, with indices of 32 bits, as in a cache."""
        parts = (self.X.dense, self.X.sparse) if isinstance(self.X, MixedMatrix) else (self.X,)
        return sum(_bytes_of(part) for part in parts)

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_rows) if self.weights is None else float(self.weights.sum())

    def at(self, rows: NDArray[np.intp] | slice) -> "EncodedRows":
        """Some of the rows; those of a slice share the memory of these."""
        X = rows_between(self.X, rows.start, rows.stop) if isinstance(rows, slice) else self.X[rows]
        weights = None if self.weights is None else self.weights[rows]
        own = {name: getattr(self, name)[rows] for name in ("labels", "hashes", "numbers")}
        return replace(self, X=X, weights=weights, **own)

    def pieces(self) -> "Iterator[EncodedRows]":
        """The rows in `PIECES` parts of nearly the same size; fewer if there are fewer rows."""
        for rows in np.array_split(np.arange(self.n_rows), min(PIECES, self.n_rows)):
            yield self.at(slice(int(rows[0]), int(rows[-1]) + 1))

    def cut(self, size: int) -> "Iterator[EncodedRows]":
        """The rows in parts of ``size`` rows; only the last has fewer. They share the memory of this block."""
        if self.n_rows <= size:
            return iter([self])
        return (self.at(slice(first, min(first + size, self.n_rows))) for first in range(0, self.n_rows, size))


def joined(blocks: Sequence[EncodedRows], arrays: ReusedArrays | None = None) -> EncodedRows:
    """The rows of several blocks, one after the other, with the features of the last; in ``arrays``, if given."""
    if len(blocks) == 1:
        return blocks[0]
    weights = None
    if any(block.weights is not None for block in blocks):
        weights = np.concatenate([np.ones(b.n_rows) if b.weights is None else b.weights for b in blocks])
    return EncodedRows(
        rows_together([block.X for block in blocks], arrays),
        np.concatenate([block.labels for block in blocks]),
        weights,
        np.concatenate([block.hashes for block in blocks]),
        np.concatenate([block.numbers for block in blocks]),
        max(blocks, key=lambda block: block.n_features).roles,
    )


def in_groups(blocks: Iterable[EncodedRows], size: int) -> Iterator[list[EncodedRows]]:
    """Blocks in lists of ``size``; only the last has fewer."""
    group: list[EncodedRows] = []
    for block in blocks:
        group.append(block)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _bytes_of(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes
    return int(part.data.nbytes + 4 * (part.indices.size + part.indptr.size))


@final
class ColumnNumbers(Sequence[int]):
    """Numbers for the columns of sparse rows that have entries.

    Files with hashed features, or with a few very large indices, have many columns that never appear. A fit that knows
    columns by these numbers does not pay for the others. ``columns`` are those that are known already, in the order of
    their numbers, and ``n_features`` counts those, too, that have not appeared.
    """

    def __init__(self, columns: NDArray[np.int64] | None = None, n_features: int = 0) -> None:
        known = np.empty(0, dtype=np.int64) if columns is None else columns
        self._columns, self._count = np.concatenate([known, np.empty(_ROOM, dtype=np.int64)]), known.size
        self._numbers = np.empty(0, dtype=np.int32)
        self.n_features = 0
        self._widen(n_features)
        self._numbers[known] = np.arange(known.size, dtype=np.int32)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        """The column that has a number; the number itself if the columns have none."""
        return int(self.columns[number]) if self.n_features else number

    @property
    def columns(self) -> NDArray[np.int64]:
        """The columns, in the order of their numbers."""
        return self._columns[: self._count]

    def of(self, X: Any, arrays: ReusedArrays | None = None) -> Any:
        """The rows of a CSR matrix, with numbers in place of its columns; in the same memory if ``arrays`` made it."""
        self._widen(X.shape[1])
        in_place = arrays is not None and X.indices.dtype == np.int32 and arrays.made(X.indices)
        found = X.indices if in_place else np.empty(X.nnz, np.int32)
        indices, place = as_unsigned(X.indices), 0
        number = number_columns(str(indices.dtype))
        while True:
            place, self._count = number(indices, place, self._numbers, self._columns, self._count, found)
            if place == indices.size:
                return csr_of(X.data, found, X.indptr, (X.shape[0], max(1, self._count)))
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])

    def _widen(self, n_features: int) -> None:
        self.n_features = max(self.n_features, n_features)
        missing = self.n_features - self._numbers.size
        if missing > 0:
            check_training_memory(_COLUMN_BYTES * self.n_features, self.n_features, 1)
            room = max(missing, min(self._numbers.size, self.n_features))
            self._numbers = np.concatenate([self._numbers, np.full(room, NO_NUMBER, dtype=np.int32)])


def numbered(X: Any, numbers: ColumnNumbers, arrays: ReusedArrays | None = None) -> Any:
    """Rows that no encoder made, with unique entries and numbered columns if they are sparse."""
    return numbers.of(with_unique_entries(X), arrays) if sparse.issparse(X) else X


@final
class ArrayBlocks:
    """Blocks of a matrix, its labels and weights, as in `EncodedRows`; it takes the place of a `BlockCache`."""

    is_complete: ClassVar[Literal[True]] = True

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        roles: NDArray[np.int32] | None = None,
        numbers: ColumnNumbers | None = None,
    ) -> None:
        self._X, self._labels, self._weights, self._roles = X, labels, weights, roles
        self._numbers = ColumnNumbers() if numbers is None else numbers

    def __len__(self) -> int:
        full, rest = divmod(self._labels.size, BLOCK_ROWS)
        return full * PIECES + min(rest, PIECES)

    def close(self) -> None:
        """Do nothing: no file is open."""

    def read(self, number: int) -> EncodedRows:
        """A piece of a block, by its number."""
        block, piece = divmod(number, PIECES)
        first = block * BLOCK_ROWS
        n_rows = min(BLOCK_ROWS, self._labels.size - first)
        cuts = [part.size for part in np.array_split(np.arange(n_rows), min(PIECES, n_rows))]
        first += sum(cuts[:piece])
        return self._rows(first, first + cuts[piece])

    def in_order(self) -> Iterator[EncodedRows]:
        """All blocks, in the order of the rows."""
        n_rows = self._labels.size
        return (self._rows(first, min(first + BLOCK_ROWS, n_rows)) for first in range(0, n_rows, BLOCK_ROWS))

    def _rows(self, first: int, last: int) -> EncodedRows:
        X = self._X[first:last]
        weights = None if self._weights is None else self._weights[first:last]
        own = numbered(X, self._numbers)
        return EncodedRows(own, self._labels[first:last], weights, row_hashes(X), np.arange(first, last), self._roles)


@final
class BlockMaker:
    """Cuts tables into blocks by the global number of the row, and encodes them.

    ``encoder`` learns as it goes; arrays and sparse matrices have none. ``target`` gives the labels and weights of a
    table as training needs them. The rows of ``together`` blocks lie one behind the other, if they are not encoded.
    """

    def __init__(
        self,
        encoder: TableEncoding,
        target: Callable[[Table, int], tuple[NDArray[np.float64], NDArray[np.float64] | None]],
        block_rows: int = BLOCK_ROWS,
        together: int = 1,
    ) -> None:
        self._encoder, self._target = encoder, target
        self._block_rows, self._together = block_rows, together
        self._arrays = ReusedArrays()
        self._roles: NDArray[np.int32] | None = None
        #: The columns of sparse rows that have no encoder, as they are numbered in the blocks.
        self.numbers = ColumnNumbers()

    def blocks(self, tables: Iterable[Table]) -> Iterator[EncodedRows]:
        """Yield the blocks of the rows."""
        first = 0
        for table in tables_of_rows(tables, self._together * self._block_rows, self._arrays):
            yield from self._block(table, first).cut(self._block_rows)
            first += table.X.shape[0]

    def _block(self, table: Table, first: int) -> EncodedRows:
        hashes = row_hashes(table.X)  # before its columns are numbered in place
        with errors_located(table.place):
            labels, weights = self._target(table, first)
            X, roles = self._rows(table, weights)
            _check_sizes(X)
        return EncodedRows(X, labels, weights, hashes, np.arange(first, first + labels.size), roles)

    def _rows(self, table: Table, weights: NDArray[np.float64] | None) -> tuple[Any, NDArray[np.int32] | None]:
        if not isinstance(table.X, pa.Table):
            return numbered(table.X, self.numbers, self._arrays), None
        X = rows_of(self._encoder.partial_fit_encode(table.X, weights))
        if self._roles is None or self._roles.size != X.shape[1]:
            self._roles = roles_of_features(self._encoder.n_dense_, self._encoder.texts())
        return X, self._roles


def _check_sizes(X: Any) -> None:
    """Raise for the first row whose squared norm overflows; a pass over blocks cannot say where it is in a file."""
    parts = [X.dense, X.sparse] if isinstance(X, MixedMatrix) else [X]
    values = [part if isinstance(part, np.ndarray) else part.data for part in parts]
    if all(own.max(initial=0.0) < _LARGE and own.min(initial=0.0) > -_LARGE for own in values):
        return
    rows = Rows.of(X)
    for row in range(rows.n_rows):
        check_row(rows, row)


def rows_of(encoded: Encoded) -> Any:
    """One matrix: dense, sparse, or both."""
    if not encoded.sparse.shape[1]:
        return encoded.dense
    return MixedMatrix(encoded.dense, encoded.sparse) if encoded.dense.shape[1] else encoded.sparse


def block_rows_for(head: Sequence[Table], max_memory: int) -> int:
    """Rows in a block: `BLOCK_ROWS`, halved until a block of rows like the first ones takes its share of memory.

    ``head`` are the first tables, which are larger than the rows that are measured: how the rows are cut into tables
    does not matter.
    """
    per_row, rows = bytes_of_row(head, max_memory), BLOCK_ROWS
    while rows > _FEWEST_ROWS and rows * per_row > _BLOCK_SHARE * max_memory:
        rows //= 2
    return rows


def bytes_of_row(head: Sequence[Table], max_memory: int) -> float:
    """Mean size of the first rows."""
    sizes = _row_bytes(next(tables_of_rows(head, _MEASURED_ROWS)).X)
    measured = 1 + int(np.searchsorted(np.cumsum(sizes), _MEASURED_SHARE * max_memory))
    return float(sizes[:measured].mean())


def _row_bytes(X: Any) -> NDArray[np.float64]:
    """Bytes of each row; of a table, what does not depend on how it is stored."""
    n_rows = X.shape[0]
    if isinstance(X, pa.Table):
        sizes = np.full(n_rows, 8.0 * X.num_columns)
        for column in X.columns:
            if pa.types.is_large_string(column.type):
                sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy()
        return sizes
    if isinstance(X, np.ndarray):
        return np.full(n_rows, X.nbytes / n_rows)
    if isinstance(X, MixedMatrix):
        return np.asarray(X.dense.nbytes / n_rows + 12.0 * np.diff(X.sparse.indptr))
    return np.asarray(12.0 * np.diff(X.indptr))
