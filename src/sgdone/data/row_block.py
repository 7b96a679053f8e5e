"""Blocks of consecutive rows of a stream, cut by the global number of the row."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.csr import csr_of
from sgdone.data.mixed_matrix import MixedMatrix
from sgdone.data.reused_arrays import ReusedArrays
from sgdone.data.row_places import joined_places, places_among
from sgdone.data.table import Table

#: Rows in a block, unless they are so wide that a block would not fit into its share of memory.
BLOCK_ROWS = 65_536
#: Pieces of a block that later passes read by themselves: a buffer of pieces from all over the rows is a better sample
#: of them than one of a few blocks, above all if the rows are sorted.
PIECES = 16


@final
@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows as they are trained on.

    Parameters
    ----------
    X : ndarray, csr_array or MixedMatrix
        Features; no row has a column twice.
    labels : ndarray of float64
        −1 and 1, class numbers, or targets.
    weights : ndarray of float64 or None
        Sample weights; None if all are 1.
    hashes : ndarray of uint64
        Hashes of the rows as they were before they were encoded.
    numbers : ndarray of int64
        Global numbers of the rows.
    roles : ndarray of int32 or None
        What the columns are part of, as in `sgdone.data.column_roles`.
    """

    X: Any
    labels: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    hashes: NDArray[np.uint64]
    numbers: NDArray[np.int64]
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
        """Bytes of the features, indices counted as those of 32 bits that a cache has."""
        parts = (self.X.dense, self.X.sparse) if isinstance(self.X, MixedMatrix) else (self.X,)
        return sum(_bytes_of(part) for part in parts)

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_rows) if self.weights is None else float(self.weights.sum())

    def at(self, rows: NDArray[np.intp]) -> "RowBlock":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self,
            X=self.X[rows],
            labels=self.labels[rows],
            weights=weights,
            hashes=self.hashes[rows],
            numbers=self.numbers[rows],
        )

    def pieces(self) -> "Iterator[RowBlock]":
        """The rows in `PIECES` parts of nearly the same size; fewer if there are fewer rows."""
        for rows in np.array_split(np.arange(self.n_rows), min(PIECES, self.n_rows)):
            yield self._part(int(rows[0]), int(rows[-1]) + 1)

    def cut(self, size: int) -> "Iterator[RowBlock]":
        """The rows in parts of ``size`` rows; only the last has fewer. They share the memory of this block."""
        if self.n_rows <= size:
            return iter([self])
        return (self._part(first, min(first + size, self.n_rows)) for first in range(0, self.n_rows, size))

    def _part(self, first: int, last: int) -> "RowBlock":
        rows = slice(first, last)
        weights = None if self.weights is None else self.weights[rows]
        own = {name: getattr(self, name)[rows] for name in ("labels", "hashes", "numbers")}
        return replace(self, X=_rows_of(self.X, first, last), weights=weights, **own)


def joined(blocks: Sequence[RowBlock], arrays: ReusedArrays | None = None) -> RowBlock:
    """The rows of several blocks, one after the other, with the features of the last; in ``arrays``, if given."""
    if len(blocks) == 1:
        return blocks[0]
    weights = None
    if any(block.weights is not None for block in blocks):
        weights = np.concatenate([np.ones(b.n_rows) if b.weights is None else b.weights for b in blocks])
    return RowBlock(
        rows_together([block.X for block in blocks], arrays),
        np.concatenate([block.labels for block in blocks]),
        weights,
        np.concatenate([block.hashes for block in blocks]),
        np.concatenate([block.numbers for block in blocks]),
        max((block for block in blocks), key=lambda block: block.n_features).roles,
    )


def in_groups(blocks: Iterable[RowBlock], size: int) -> Iterator[list[RowBlock]]:
    """Blocks in lists of ``size``; only the last has fewer."""
    group: list[RowBlock] = []
    for block in blocks:
        group.append(block)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def rows_together(parts: Sequence[Any], arrays: ReusedArrays | None = None) -> Any:
    """The rows of several matrices, in ``arrays`` if given; sparse columns that some of them lack are empty there.

    Examples
    --------
    >>> narrow, wide = sparse.csr_array([[1.0]]), sparse.csr_array([[0.0, 2.0]])
    >>> rows_together([narrow, wide]).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    if any(isinstance(part, MixedMatrix) for part in parts):
        pairs = [(part.dense, part.sparse) if isinstance(part, MixedMatrix) else _split(part, parts) for part in parts]
        dense = rows_together([dense for dense, _ in pairs], arrays)
        return MixedMatrix(dense, rows_together([entries for _, entries in pairs], arrays))
    if isinstance(parts[0], np.ndarray):
        width = parts[0].shape[1]
        return _end_to_end([part.reshape(-1) for part in parts], parts[0].dtype, arrays).reshape(-1, width)
    width = max(part.shape[1] for part in parts)
    counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
    total = int(counts.sum())
    index = np.int32 if max(total, width) < 2**31 else np.int64
    return csr_of(
        _end_to_end([part.data for part in parts], parts[0].dtype, arrays),
        _end_to_end([part.indices for part in parts], index, arrays),
        np.cumsum(counts, dtype=index),
        (len(counts) - 1, width),
    )


def _end_to_end(parts: Sequence[NDArray[Any]], dtype: Any, arrays: ReusedArrays | None) -> NDArray[Any]:
    """The items of several arrays of one dimension; not copied if they lie one behind the other in memory."""
    total = sum(part.size for part in parts)
    if _are_adjacent(parts, dtype):
        return np.lib.stride_tricks.as_strided(parts[0], (total,))
    out = np.empty(total, dtype=dtype) if arrays is None else arrays.empty(total, dtype)
    return np.concatenate(parts, out=out)


def _are_adjacent(parts: Sequence[NDArray[Any]], dtype: Any) -> bool:
    """Whether arrays are parts of one array, each beginning where the one before it ends."""
    base = parts[0].base
    if base is None or any(part.base is not base or part.dtype != dtype for part in parts):
        return False
    return all(a.ctypes.data + a.nbytes == b.ctypes.data for a, b in itertools.pairwise(parts))


def _rows_of(X: Any, first: int, last: int) -> Any:
    """Some rows of a matrix, which share its memory."""
    if isinstance(X, MixedMatrix):
        return MixedMatrix(X.dense[first:last], _rows_of(X.sparse, first, last))
    if isinstance(X, np.ndarray):
        return X[first:last]
    entries = slice(int(X.indptr[first]), int(X.indptr[last]))
    indptr = X.indptr[first : last + 1] - X.indptr[first]
    return csr_of(X.data[entries], X.indices[entries], indptr, (last - first, X.shape[1]))


def widened(X: Any, n_features: int) -> Any:
    """The rows with more sparse columns, which are empty."""
    if X.shape[1] == n_features:
        return X
    if isinstance(X, MixedMatrix):
        return MixedMatrix(X.dense, widened(X.sparse, n_features - X.n_dense))
    if isinstance(X, np.ndarray):
        return MixedMatrix(X, sparse.csr_array((X.shape[0], n_features - X.shape[1]), dtype=X.dtype))
    return csr_of(X.data, X.indices, X.indptr, (X.shape[0], n_features))


def _split(part: Any, parts: Sequence[Any]) -> tuple[NDArray[Any], Any]:
    """Dense and sparse columns of rows from before the first sparse column, or without dense columns."""
    if isinstance(part, np.ndarray):
        return part, sparse.csr_array((part.shape[0], 0), dtype=part.dtype)
    return np.empty((part.shape[0], 0), dtype=part.dtype), part


def tables_of_rows(tables: Iterable[Table], size: int, arrays: ReusedArrays | None = None) -> Iterator[Table]:
    """The rows of tables in tables of ``size`` rows, in ``arrays`` if given; only the last has fewer."""
    waiting: list[Table] = []
    count = 0
    for table in tables:
        first, n_rows = 0, table.X.shape[0]
        while n_rows - first > 0:
            taken = min(size - count, n_rows - first)
            waiting.append(_slice(table, first, taken))
            first, count = first + taken, count + taken
            if count == size:
                yield concatenated(waiting, arrays)
                waiting, count = [], 0
    if waiting:
        yield concatenated(waiting, arrays)


def concatenated(tables: Sequence[Table], arrays: ReusedArrays | None = None) -> Table:
    """The rows of several tables, in ``arrays`` if given."""
    if len(tables) == 1:
        return tables[0]
    X: Any
    if isinstance(tables[0].X, pa.Table):
        X = pa.concat_tables([table.X for table in tables])
    else:
        X = rows_together([table.X for table in tables], arrays)
    labels = None if tables[0].y is None else np.concatenate([table.y for table in tables if table.y is not None])
    weights = None
    if tables[0].weights is not None:
        weights = np.concatenate([table.weights for table in tables if table.weights is not None])
    return replace(
        tables[-1],
        X=X,
        y=labels,
        weights=weights,
        labelled=None,
        unlabelled=sum(table.unlabelled for table in tables),
        place=joined_places([table.place for table in tables], [table.X.shape[0] for table in tables]),
    )


def _slice(table: Table, first: int, count: int) -> Table:
    if first == 0 and count == table.X.shape[0]:
        return table
    rows = slice(first, first + count)
    X = table.X.slice(first, count) if isinstance(table.X, pa.Table) else table.X[rows]
    return replace(
        table,
        X=X,
        y=None if table.y is None else table.y[rows],
        weights=None if table.weights is None else table.weights[rows],
        unlabelled=table.unlabelled if first == 0 else 0,
        place=None if table.place is None else places_among(table.place, range(first, first + count)),
    )


def _bytes_of(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes
    return int(part.data.nbytes + 4 * (part.indices.size + part.indptr.size))
