"""Columns of sparse rows, numbered in the order in which they first appear."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.csr import csr_of
from sgdone.data.csr_duplicates import with_unique_entries
from sgdone.data.memory import check_training_memory
from sgdone.data.reused_arrays import ReusedArrays

#: Bytes of a column that may never appear: its number, and its coefficient in the fitted model.
_COLUMN_BYTES = 12


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
        self._columns, self._count = known.copy(), known.size
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
        """The rows of a CSR matrix, with numbers in place of its columns; in ``arrays``, if given."""
        self._widen(X.shape[1])
        indices = np.empty(X.nnz, np.int32) if arrays is None else arrays.empty(X.nnz, np.int32)
        self._numbers.take(X.indices, out=indices, mode="clip")  # all are in range, and a check would copy them
        if indices.size and indices.min() < 0:
            self._add(X.indices[indices < 0])
            self._numbers.take(X.indices, out=indices, mode="clip")
        return csr_of(X.data, indices, X.indptr, (X.shape[0], max(1, self._count)))

    def _add(self, found: NDArray[Any]) -> None:
        """Number columns that have not appeared before; ``found`` may have them several times."""
        places = np.arange(found.size, dtype=np.int32)
        self._numbers[found[::-1]] = places[::-1]  # of a column that is there several times, the first place stays
        columns = found[self._numbers[found] == places].astype(np.int64)
        last = self._count + columns.size
        if last > self._columns.size:
            self._columns = np.concatenate([self.columns, np.empty(last, dtype=np.int64)])
        self._columns[self._count : last] = columns
        self._numbers[columns] = np.arange(self._count, last, dtype=np.int32)
        self._count = last

    def _widen(self, n_features: int) -> None:
        self.n_features = max(self.n_features, n_features)
        missing = self.n_features - self._numbers.size
        if missing > 0:
            check_training_memory(_COLUMN_BYTES * self.n_features, self.n_features, 1)
            room = max(missing, min(self._numbers.size, self.n_features))
            self._numbers = np.concatenate([self._numbers, np.full(room, -1, dtype=np.int32)])


def numbered(X: Any, numbers: ColumnNumbers, arrays: ReusedArrays | None = None) -> Any:
    """Rows that no encoder made, with unique entries and numbered columns if they are sparse."""
    return numbers.of(with_unique_entries(X), arrays) if sparse.issparse(X) else X
