"""Columns that say nothing, or nothing new."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.diagnose.data_summary.duplicate_columns import column_hashes, identical_columns
from sgdone.diagnose.separability.least_squares import is_sparse

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

#: Cells of a dense block that is looked at at a time.
BLOCK = 1_000_000


@final
@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What the columns of a matrix hold.

    Attributes
    ----------
    nonzeros : int
        Values that are not 0.
    largest : array
        Of each column, the largest absolute value.
    zero, constant : arrays of int
        Columns that are 0 in every row, and those of another value that is the same in every row. With a single row no
        column counts as constant.
    duplicates : list of tuples
        Columns that are equal to the last bit, the first of each group first; constant ones are not among them.
    """

    nonzeros: int
    largest: Array
    zero: Columns
    constant: Columns
    duplicates: list[tuple[int, ...]]

    def telling(self, fit_intercept: bool) -> Columns:
        """The columns that are left when all that are spanned by a single other one are dropped."""
        dropped = np.zeros(self.largest.size, dtype=bool)
        dropped[self.zero] = True
        dropped[self.constant[0 if fit_intercept else 1 :]] = True
        for group in self.duplicates:
            dropped[list(group[1:])] = True
        return np.flatnonzero(~dropped)


def summarise_columns(X: Any) -> ColumnSummary:
    """Look at every value once, and at those of columns that look alike once more.

    Examples
    --------
    >>> found = summarise_columns(np.array([[1.0, 0.0, 3.0, 1.0], [2.0, 0.0, 3.0, 2.0]]))
    >>> found.zero.tolist(), found.constant.tolist(), found.duplicates
    ([1], [2], [(0, 3)])
    """
    by_columns: Any = sparse.csc_array(X) if is_sparse(X) else X
    nonzeros, lowest, highest = _sparse_extremes(by_columns) if is_sparse(X) else _dense_extremes(X)
    same = lowest == highest
    zero = np.flatnonzero(same & (highest == 0.0))
    if X.shape[0] < 2:
        return ColumnSummary(nonzeros, np.maximum(-lowest, highest), zero, np.array([], dtype=np.intp), [])
    others = np.flatnonzero(~same)
    duplicates = identical_columns(by_columns, others, column_hashes(by_columns, BLOCK)[others])
    return ColumnSummary(
        nonzeros, np.maximum(-lowest, highest), zero, np.flatnonzero(same & (highest != 0.0)), duplicates
    )


def _dense_extremes(X: NDArray[Any]) -> tuple[int, Array, Array]:
    nonzeros = 0
    lowest, highest = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    step = max(1, BLOCK // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        block = X[first : first + step]
        nonzeros += int(np.count_nonzero(block))
        lowest, highest = np.minimum(lowest, block.min(axis=0)), np.maximum(highest, block.max(axis=0))
    return nonzeros, lowest, highest


def _sparse_extremes(X: Any) -> tuple[int, Array, Array]:
    lowest, highest = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    lengths = np.diff(X.indptr)
    filled = np.flatnonzero(lengths)
    if filled.size:
        starts = X.indptr[filled]
        lowest[filled], highest[filled] = np.minimum.reduceat(X.data, starts), np.maximum.reduceat(X.data, starts)
    gaps = lengths < X.shape[0]
    lowest[gaps], highest[gaps] = np.minimum(lowest[gaps], 0.0), np.maximum(highest[gaps], 0.0)
    return int(np.count_nonzero(X.data)), lowest, highest
