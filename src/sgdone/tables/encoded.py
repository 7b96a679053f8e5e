"""The rows of an encoded table: a dense part and a sparse one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from sgdone.kernels.csr_entries import make_place_indicators, make_place_rows, make_sort_rows
from sgdone.tables.column_encoder import Entries


@final
@dataclass(frozen=True)
class Encoded:
    """Rows with dense features first, sparse features after them.

    Attributes
    ----------
    dense : float64 array of shape (n_rows, n_dense), C-contiguous
        Numbers with their gaps filled, and days of dates.
    sparse : scipy.sparse.csr_array of shape (n_rows, n_sparse)
        Indicators of gaps and levels, and words. Columns of each row are sorted and occur once.
    """

    dense: NDArray[np.float64]
    sparse: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of all features."""
        return self.dense.shape[0], self.dense.shape[1] + self.sparse.shape[1]

    def tocsr(self) -> Any:
        """All features as one CSR matrix, without the zeros of the dense ones."""
        if self.dense.shape[1] == 0:
            return self.sparse
        return hstack([csr_array(self.dense), self.sparse], format="csr")


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
    # SciPy wants both index arrays of one type.
    kind = np.int32 if max(total, n_sparse) < 2**31 else np.int64
    indptr = np.zeros(n_rows + 1, dtype=kind)
    np.cumsum(lengths, out=indptr[1:])
    indices: Any = np.empty(total, dtype=kind)
    values = np.empty(total)
    cursor, types = indptr[:-1].copy(), np.dtype(kind).name
    for features in indicators:
        make_place_indicators(types)(features, cursor, indices, values)
    for rows in words:
        first = 0
        for piece in rows.pieces:
            last = first + piece[0].size - 1
            make_place_rows(types)(*piece, rows.features, cursor[first:last], indices, values)
            first = last
    make_sort_rows(types)(indptr, indices, values)
    made: Any = csr_array((values, indices, indptr), shape=(n_rows, n_sparse))
    made.has_canonical_format = True
    return made
