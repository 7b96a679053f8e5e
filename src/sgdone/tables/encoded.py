"""The rows of an encoded table: a dense part and a sparse one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sgdone.kernels.csr_entries import join_rows, place_indicators, place_rows, sort_rows
from sgdone.tables.column_encoder import Entries


@final
@dataclass(frozen=True)
class Encoded:
    """Rows with dense features first, sparse features after them."""

    #: Numbers, with the mean for missing values, and days of dates; C-contiguous.
    dense: NDArray[np.float64]
    #: Indicators of missing values and levels, and words: a CSR array whose rows are sorted, without duplicates.
    sparse: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of all features."""
        return self.dense.shape[0], self.dense.shape[1] + self.sparse.shape[1]

    def tocsr(self) -> Any:
        """All features as one CSR matrix, without the zeros of the dense ones."""
        if self.dense.shape[1] == 0:
            return self.sparse
        total = int(np.count_nonzero(self.dense)) + self.sparse.nnz
        indptr, indices, values = _empty_rows(self.shape, total)
        entries = self.sparse.indptr, self.sparse.indices, self.sparse.data
        types = f"{indices.dtype.name} {self.sparse.indices.dtype.name}"
        join_rows(types)(self.dense, *entries, indptr, indices, values)
        return _canonical(values, indices, indptr, self.shape)


def assemble(entries: Sequence[Entries], n_rows: int, n_sparse: int) -> Encoded:
    """Put the entries of all columns together."""
    columns = [column for found in entries for column in found.dense]
    dense = np.empty((n_rows, len(columns)))
    for j, column in enumerate(columns):
        dense[:, j] = column
    return Encoded(dense, _sparse(entries, n_rows, n_sparse))


def _sparse(entries: Sequence[Entries], n_rows: int, n_sparse: int) -> Any:
    indicators = [column for found in entries for column in found.indicators]
    words = [rows for found in entries for rows in found.words]
    lengths = np.zeros(n_rows, dtype=np.int64)
    for features in indicators:
        lengths += features >= 0
    for rows in words:
        lengths += rows.lengths()
    total = int(lengths.sum())
    indptr, indices, values = _empty_rows((n_rows, n_sparse), total)
    np.cumsum(lengths, out=indptr[1:])
    cursor, types = indptr[:-1].copy(), indptr.dtype.name
    for features in indicators:
        place_indicators(types)(features, cursor, indices, values)
    for rows in words:
        first = 0
        for piece in rows.pieces:
            last = first + piece[0].size - 1
            place_rows(types)(*piece, rows.features, cursor[first:last], indices, values)
            first = last
    sort_rows(types)(indptr, indices, values)
    return _canonical(values, indices, indptr, (n_rows, n_sparse))


def _empty_rows(shape: tuple[int, int], total: int) -> tuple[Any, Any, NDArray[np.float64]]:
    """Empty arrays ``indptr``, ``indices`` and ``values`` of ``total`` entries; SciPy wants one type of index."""
    kind = np.int32 if max(total, shape[1]) < 2**31 else np.int64
    return np.zeros(shape[0] + 1, dtype=kind), np.empty(total, dtype=kind), np.empty(total)


def _canonical(values: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """A CSR matrix of rows that are sorted by column, without duplicates."""
    made: Any = csr_array((values, indices, indptr), shape=shape)
    made.has_canonical_format = True
    return made
