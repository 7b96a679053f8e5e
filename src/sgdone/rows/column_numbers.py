"""Columns of sparse rows, numbered in the order in which they first appear."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.column_numbers import NO_NUMBER, make_number_columns
from sgdone.machine.memory import check_training_memory
from sgdone.matrices.csr import as_unsigned, csr_of, with_unique_entries
from sgdone.matrices.reused_arrays import ReusedArrays

#: Bytes of a column that may never appear: its number, and its coefficient in the fitted model.
_COLUMN_BYTES = 12
#: Columns for which there is room at first.
_ROOM = 1 << 10


@final
class ColumnNumbers(Sequence[int]):
    """Numbers for the columns of sparse rows that have entries.

    Files with hashed features, or with a few very large indices, have many columns that never appear. A fit that knows
    columns by these numbers does not pay for the others.

    Parameters
    ----------
    columns : ndarray of int64, optional
        Columns that are known already, in the order of their numbers.
    n_features : int
        Number of columns, with those that have not appeared.

    Examples
    --------
    >>> numbers = ColumnNumbers()
    >>> numbers.of(sparse.csr_array([[0.0, 0.0, 5.0, 7.0]])).toarray()
    array([[5., 7.]])
    >>> numbers.of(sparse.csr_array([[0.0, 1.0, 0.0, 7.0]])).toarray()
    array([[0., 7., 1.]])
    >>> numbers.columns, numbers.n_features
    (array([2, 3, 1]), 4)
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
        number_columns = make_number_columns(str(indices.dtype))
        while True:
            place, self._count = number_columns(indices, place, self._numbers, self._columns, self._count, found)
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
