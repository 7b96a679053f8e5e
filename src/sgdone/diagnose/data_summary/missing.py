"""Missing and infinite values, and where they are."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.rows.label_kinds import is_missing

#: Number of values of a dense matrix processed at a time.
_BLOCK = 2_000_000
#: Largest number of cells listed.
NAMED = 20


class Cell(NamedTuple):
    """Position of a missing or infinite value; rows and columns start at 0."""

    row: int
    column: int
    found: str


@final
@dataclass(frozen=True, eq=False)
class Missing:
    """Values that are missing (NaN) or infinite.

    Attributes
    ----------
    count : int
        Number of such values in X.
    cells : tuple of Cell
        The first of them, row by row.
    columns : dict
        Number of such values in each column that has any.
    labels : array of int
        Rows without a label.
    complete : mask
        Rows without such values and with a label.
    """

    count: int
    cells: tuple[Cell, ...]
    columns: dict[int, int]
    labels: NDArray[np.intp]
    complete: NDArray[np.bool_]

    @property
    def any(self) -> bool:
        """Whether any value or label is missing."""
        return bool(self.count or self.labels.size)

    @property
    def rows(self) -> int:
        """Number of rows with a missing value or label."""
        return int(np.count_nonzero(~self.complete))


def missing_values(X: Any, y: NDArray[Any]) -> Missing:
    """Find values that are not finite.

    Examples
    --------
    >>> found = missing_values(np.array([[1.0, np.nan], [np.inf, 2.0], [1.0, 2.0]]), np.array([0.0, 1.0, 1.0]))
    >>> found.count, found.cells, found.complete.tolist()
    (2, (Cell(row=0, column=1, found='NaN'), Cell(row=1, column=0, found='infinity')), [False, False, True])
    """
    cells: list[Cell] = []
    per_column = np.zeros(X.shape[1], dtype=np.int64)
    complete = np.ones(X.shape[0], dtype=bool)
    for rows, columns, values in _faults(X):
        per_column += np.bincount(columns, minlength=X.shape[1])
        complete[rows] = False
        for row, column, value in list(zip(rows, columns, values, strict=True))[: NAMED - len(cells)]:
            cells.append(Cell(int(row), int(column), "NaN" if np.isnan(value) else "infinity"))
    without = np.flatnonzero(_unlabelled(y))
    complete[without] = False
    found = np.flatnonzero(per_column)
    counts = {int(column): int(per_column[column]) for column in found}
    return Missing(int(per_column.sum()), tuple(cells), counts, without, complete)


def _faults(X: Any) -> Any:
    """Yield rows, columns and values that are not finite, block by block."""
    if is_sparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        yield np.searchsorted(X.indptr, bad, side="right") - 1, X.indices[bad], X.data[bad]
        return
    step = max(1, _BLOCK // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        block = X[first : first + step]
        finite = np.isfinite(block)
        if not finite.all():
            rows, columns = np.nonzero(~finite)
            yield rows + first, columns, block[rows, columns]


def _unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.asarray(~np.isfinite(y))
    if y.dtype.kind == "O":
        return np.array([is_missing(label) for label in y.tolist()], dtype=bool)
    if y.dtype.kind in "Mm":
        return np.asarray(np.isnat(y))
    return np.zeros(y.size, dtype=bool)
