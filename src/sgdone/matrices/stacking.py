"""Rows of several matrices as one, in arrays whose memory is used again; some rows; and rows with more columns."""

import itertools
import sys
import threading
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from sgdone.matrices.csr import csr_of
from sgdone.matrices.mixed_matrix import MixedMatrix

#: Arrays below this size are left to the allocator, which keeps their memory by itself.
_SMALL = 1 << 20
#: Arrays that are kept although they are free.
_MOST_FREE = 64
#: References to an array that nobody else has: from the list, and from the count itself.
_OWN = 2


@final
class ReusedArrays:
    """Large arrays that are needed again and again, a few at a time.

    The system clears new memory before a process may use it, which takes as long as filling it. An array made here is a
    view of memory that is kept, and given out again when no view of it is left.

    Examples
    --------
    >>> arrays = ReusedArrays()
    >>> first = arrays.empty(1 << 18, np.float64)
    >>> address = first.ctypes.data
    >>> arrays.empty(1 << 18, np.float64).ctypes.data == address
    False
    >>> del first
    >>> arrays.empty(1 << 18, np.float64).ctypes.data == address
    True
    """

    def __init__(self) -> None:
        self._kept: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def empty(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of one dimension, with any contents."""
        n_bytes = size * np.dtype(dtype).itemsize
        if n_bytes < _SMALL:
            return np.empty(size, dtype=dtype)
        with self._lock:
            return self._memory(n_bytes)[:n_bytes].view(dtype)

    def made(self, array: NDArray[Any]) -> bool:
        """Whether an array lies in memory that was given out here."""
        return any(array.base is kept for kept in self._kept)

    def _memory(self, n_bytes: int) -> NDArray[np.uint8]:
        """Memory that is free, and at most twice as much as is needed; others that are free are given up if many."""
        found, free = None, list[int]()
        for place in range(len(self._kept)):
            if sys.getrefcount(self._kept[place]) == _OWN:
                if found is None and n_bytes <= self._kept[place].size <= 2 * n_bytes:
                    found = place
                else:
                    free.append(place)
        made = np.empty(n_bytes + n_bytes // 8, dtype=np.uint8) if found is None else self._kept[found]
        for place in free[_MOST_FREE:][::-1]:
            del self._kept[place]
        if found is None:
            self._kept.append(made)
        return made


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
        pairs = [(part.dense, part.sparse) if isinstance(part, MixedMatrix) else _split(part) for part in parts]
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


def rows_between(X: Any, first: int, last: int) -> Any:
    """Some rows of a matrix, which share its memory."""
    if isinstance(X, MixedMatrix):
        return MixedMatrix(X.dense[first:last], rows_between(X.sparse, first, last))
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


def _split(part: Any) -> tuple[NDArray[Any], Any]:
    """Dense and sparse columns of rows from before the first sparse column, or without dense columns."""
    if isinstance(part, np.ndarray):
        return part, sparse.csr_array((part.shape[0], 0), dtype=part.dtype)
    return np.empty((part.shape[0], 0), dtype=part.dtype), part
