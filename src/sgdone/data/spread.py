"""Columns whose values are of very different sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Rows

#: A column is far larger or smaller than the others if its values are, by this factor, than those of the typical one.
_FAR = 1000.0
#: Columns that are named one by one.
_NAMED = 3


@final
@dataclass(frozen=True)
class Spread:
    """Columns far larger, and far smaller, than the typical one, and by which factor the furthest is."""

    large: NDArray[np.int64]
    larger_by: float
    small: NDArray[np.int64]
    smaller_by: float

    @classmethod
    def of(cls, rows: Rows, some: NDArray[np.uint64]) -> "Spread | None":
        """Look at some rows: the root mean square of each column's values that are not 0. None if they are alike.

        Examples
        --------
        >>> rows = Rows.of(np.array([[1.0, 2e6, 3.0], [2.0, 1e6, 1.0]]))
        >>> Spread.of(rows, np.array([0, 1], dtype=np.uint64)).in_words(["age", "income", "rooms"])
        'income is up to 710,000 times as large as the typical column'
        """
        sizes, columns = _sizes(rows, some)
        if sizes.size < 2:
            return None
        # A size that a column has; of two columns, the smaller one's.
        typical = np.sort(sizes)[(sizes.size - 1) // 2]
        large, small = sizes >= _FAR * typical, sizes * _FAR <= typical
        if not (large.any() or small.any()):
            return None
        with np.errstate(over="ignore"):
            return cls(columns[large], sizes.max() / typical, columns[small], typical / sizes.min())

    def in_words(self, names: Sequence[str] | None = None) -> str:
        """Which columns, and by how much."""
        kinds = [(self.large, self.larger_by, "large"), (self.small, self.smaller_by, "small")]
        return " and ".join(
            f"{_listed(columns, names)} {'is' if columns.size == 1 else 'are'} up to {_rounded(times)} times as {kind} "
            "as the typical column"
            for columns, times, kind in kinds
            if columns.size
        )


def _sizes(rows: Rows, some: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Root mean squares of the values that are finite and not 0, of the columns that have any."""
    if not some.size:
        return np.empty(0), np.empty(0, dtype=np.int64)
    matrix: Any = rows.matrix(some)
    if rows.access.vectors_first:
        values = np.asarray(matrix, dtype=np.float64).ravel()
        places = np.tile(np.arange(rows.n_features), some.size)
    else:
        values, places = np.asarray(matrix.data, dtype=np.float64), matrix.indices
    used = (values != 0) & np.isfinite(values)
    values, places = np.abs(values[used]), places[used]
    largest = np.zeros(rows.n_features)
    np.maximum.at(largest, places, values)
    columns = np.flatnonzero(largest)
    # Relative to the largest, so that squares of huge and of tiny values are numbers.
    counts = np.bincount(places, minlength=rows.n_features)[columns]
    squares = np.bincount(places, (values / largest[places]) ** 2, minlength=rows.n_features)[columns]
    return largest[columns] * np.sqrt(squares / counts), columns


def _listed(columns: NDArray[np.int64], names: Sequence[str] | None) -> str:
    named = [str(names[k]) if names is not None else f"column {k}" for k in columns[:_NAMED]]
    rest = columns.size - len(named)
    if rest > 0:
        return f"{', '.join(named)} and {rest:,} more"
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _rounded(factor: float) -> str:
    return f"{float(f'{factor:.2g}'):,.0f}" if factor < 1e7 else f"{factor:.1e}"
