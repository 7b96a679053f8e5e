"""CSR matrices with a column twice in a row: the squared norm of a row needs their sum.

Rows need not be sorted, and SciPy's ``has_canonical_format`` is not asked: it is False of rows that are merely
unsorted, and where it is remembered it may be out of date.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.csr_validation import check_csr, check_indptr
from sgdone.kernels.csr_duplicates import NO_ROW, make_first_duplicate, make_first_unsorted


def has_duplicates(indices: NDArray[Any], indptr: NDArray[Any], n_features: int) -> bool:
    """Whether a row has a column twice; raise for a row with more entries than columns if indices are out of range.

    Examples
    --------
    >>> indptr = np.array([0, 2, 4])
    >>> has_duplicates(np.array([2, 0, 0, 1]), indptr, 3), has_duplicates(np.array([2, 0, 1, 1]), indptr, 3)
    (False, True)
    """
    columns, boundaries = as_unsigned(indices), indptr.astype(np.uint64)
    types = str(columns.dtype)
    row = make_first_unsorted(types)(columns, boundaries)
    if row != NO_ROW:
        row = make_first_duplicate(types)(columns, boundaries, row, np.zeros(n_features, dtype=np.int64))
    # A row that is longer than its matrix is wide would overflow the buffers of the loops.
    if row == NO_ROW and np.diff(indptr).max(initial=0) > n_features:
        check_csr(indices, indptr, n_features)
    return row != NO_ROW


def without_duplicates(X: Any) -> Any:
    """A copy with the duplicates of each row summed."""
    check_csr(X.indices, X.indptr, X.shape[1])
    # Built again, because a copy keeps what SciPy remembers of the format.
    summed = sparse.csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), X.shape)
    summed.sum_duplicates()
    return summed


def with_unique_entries(X: Any) -> Any:
    """A CSR matrix with the duplicates of each row summed; raise if indices are out of range."""
    check_indptr(X.indptr, min(X.indices.size, X.data.size))
    check_csr(X.indices, X.indptr, X.shape[1])
    return without_duplicates(X) if has_duplicates(X.indices, X.indptr, X.shape[1]) else X


def as_unsigned(indices: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of indices as the loops read them: unsigned, negative ones then being too large."""
    unsigned: NDArray[Any] = np.ascontiguousarray(indices).view(f"u{indices.dtype.itemsize}")
    unsigned.flags.writeable = False
    return unsigned
