"""Columns of svmlight files: those that occur, if the largest index is far beyond their number."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Columns are left out if there are more than this many, of which less than a quarter occur. The rule depends on the
#: file alone, and a model of the others takes at most four times the memory that it needs.
_NARROW, _SPARSE = 1 << 16, 4

_NAME = re.compile(r"feature ([0-9]{1,18})")


def occurring(X: Any) -> NDArray[np.int64] | None:
    """The columns of a CSR matrix that have entries, if most have none; else None."""
    width = X.shape[1]
    if width <= _NARROW:
        return None
    # A mark per column would take more memory than the entries if there are many more columns.
    if width > _SPARSE * max(1, X.nnz):
        return np.unique(X.indices).astype(np.int64)
    marks = np.zeros(width, dtype=bool)
    marks[X.indices] = True
    columns = np.flatnonzero(marks)
    return columns if width > _SPARSE * columns.size else None


def names_of(columns: NDArray[np.int64], first: int) -> list[str]:
    """Names for columns by their index in the file, where indices start at ``first``."""
    return [f"feature {index}" for index in (columns + first).tolist()]


def columns_of(names: Sequence[str], first: int) -> NDArray[np.int64] | None:
    """The columns that `names_of` named; None if a name is of another kind, or before the first index.

    Examples
    --------
    >>> columns_of(["feature 7", "feature 1000"], 1), columns_of(["age", "income"], 1)
    (array([  6, 999]), None)
    """
    found = [_NAME.fullmatch(name) for name in names]
    columns = np.array([-1 if match is None else int(match[1]) - first for match in found], dtype=np.int64)
    return None if columns.size == 0 or columns.min() < 0 else columns


def select(X: Any, columns: NDArray[np.int64]) -> Any:
    """The given columns of a CSR matrix, in this order; entries of others are left out.

    Examples
    --------
    >>> X = sparse.csr_array(([1.0, 2.0, 3.0], [4, 9_999, 4], [0, 2, 3]), shape=(2, 10_000))
    >>> select(X, np.array([9_999, 7, 4])).toarray()
    array([[2., 0., 1.],
           [0., 0., 3.]])
    """
    order = np.argsort(columns, kind="stable")
    ascending = columns[order]
    places = np.minimum(np.searchsorted(ascending, X.indices), columns.size - 1)
    wanted = ascending[places] == X.indices
    counts = np.concatenate([[0], np.cumsum(wanted)])
    parts = X.data[wanted], order[places[wanted]], counts[X.indptr]
    found = sparse.csr_array(parts, shape=(X.shape[0], columns.size))
    found.sort_indices()
    return found
