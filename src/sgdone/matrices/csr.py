"""CSR matrices: made of arrays as they are, validated, and searched for columns that occur twice in a row.

Compiled loops, SciPy's included, would read outside the arrays of an invalid matrix, and the squared norm of a row
needs the sum of duplicates. Rows need not be sorted, and SciPy's ``has_canonical_format`` is not asked: it is False of
rows that are merely unsorted, and where it is remembered it may be out of date.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.csr_entries import NO_ROW, first_duplicate, first_unsorted

_ADVICE = "rebuild it from (row, column, value) triples, for example with scipy.sparse.coo_array"


def csr_of(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> sparse.csr_array:
    """A CSR matrix of these very arrays.

    SciPy's constructor copies arrays that are a small part of another one.

    Examples
    --------
    >>> data = np.arange(100.0)[:2]
    >>> X = csr_of(data, np.array([1, 0]), np.array([0, 1, 2]), (2, 2))
    >>> X.toarray(), X.data is data
    (array([[0., 0.],
           [1., 0.]]), True)
    """
    made = sparse.csr_array(shape, dtype=data.dtype)
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def check_indptr(indptr: NDArray[Any], n_entries: int) -> None:
    """Raise unless ``indptr`` increases from 0 to at most the number of entries."""
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size or indptr[0] != 0 or indptr[-1] > n_entries:
        where = f" at row {falls[0]}" if falls.size else ""
        raise ValueError(f"indptr of the CSR matrix X is invalid{where}: {_ADVICE}")


def check_csr(indices: NDArray[Any], indptr: NDArray[Any], n_features: int) -> None:
    """Raise for an invalid ``indptr`` and for column indices outside the matrix."""
    check_indptr(indptr, indices.size)
    # Viewed as unsigned, negative indices are too large: one comparison finds both faults.
    unsigned = indices[: int(indptr[-1])].view(f"u{indices.dtype.itemsize}")
    if unsigned.size and unsigned.max() >= n_features:
        place = int(np.argmax(unsigned >= n_features))
        row = int(np.searchsorted(indptr, place, side="right")) - 1
        found = unsigned.view(f"i{indices.dtype.itemsize}")[place]
        raise ValueError(
            f"row {row} of the CSR matrix X has the column index {found}, but X has {n_features} columns: {_ADVICE}"
        )


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
    row = first_unsorted(types)(columns, boundaries)
    if row != NO_ROW:
        row = first_duplicate(types)(columns, boundaries, row, np.zeros(n_features, dtype=np.int64))
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
