"""Rows of a CSR matrix in which a column occurs twice."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled

#: In place of a row's number, if there is none.
NO_ROW: Final = -1


@lru_cache(maxsize=4)
def make_first_unsorted(types: str) -> Callable[..., int]:
    """A loop that returns the first row whose indices do not increase: no other row can have duplicates."""
    mark = fingerprint(types)

    @compiled(mark)
    def first_unsorted(indices: Any, indptr: Any) -> int:
        _ = mark
        for i in range(indptr.size - 1):
            falls = 0
            # Counted to the end of the row: a loop that may break off is not vectorised.
            for k in range(indptr[i] + np.uint64(1), indptr[i + 1]):
                falls += indices[k] <= indices[k - np.uint64(1)]
            if falls > 0:
                return i
        return NO_ROW

    return first_unsorted


@lru_cache(maxsize=4)
def make_first_duplicate(types: str) -> Callable[..., int]:
    """A loop that returns the first row, from ``first`` on, that has a column twice.

    ``marks`` is 0 for each column; it is where the last row that has the column is noted. Indices outside the matrix
    are left for the training loop to report.
    """
    mark = fingerprint(types)

    @compiled(mark)
    def first_duplicate(indices: Any, indptr: Any, first: Any, marks: Any) -> int:
        _ = mark
        n_features = np.uint64(marks.size)
        for i in range(first, indptr.size - 1):
            number = i + 1
            for k in range(indptr[i], indptr[i + 1]):
                j = np.uint64(indices[k])
                if j >= n_features:
                    continue
                if marks[j] == number:
                    return i
                marks[j] = number
        return NO_ROW

    return first_duplicate
