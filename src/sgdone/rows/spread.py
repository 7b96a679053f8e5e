"""Columns whose scales differ by orders of magnitude."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.matrices.mixed_matrix import in_one_storage
from sgdone.rows.faults import named_column
from sgdone.rows.rows import Rows

#: A column is an outlier in scale if it differs from the median column by this factor.
FAR = 1000.0
#: Number of columns named in a message.
_NAMED = 3


@final
@dataclass(frozen=True)
class Spread:
    """Columns much larger or much smaller than the median column, and the largest factors."""

    large: NDArray[np.int64]
    larger_by: float
    small: NDArray[np.int64]
    smaller_by: float

    @classmethod
    def of(cls, rows: Rows, some: NDArray[np.uint64], far: float = FAR) -> "Spread | None":
        """Compare the root mean squares of the non-zero values of each column in the rows ``some``.

        Returns None if no column differs from the median column by a factor of ``far`` or more.

        Examples
        --------
        >>> rows = Rows.of(np.array([[1.0, 2e6, 3.0], [2.0, 1e6, 1.0]]))
        >>> Spread.of(rows, np.array([0, 1], dtype=np.uint64)).in_words(["age", "income", "rooms"])
        'income is up to 710,000 times as large as the median column'
        """
        sizes, columns = _sizes(rows, some)
        if sizes.size < 2:
            return None
        # The lower median: of two columns, the smaller one.
        typical = np.sort(sizes)[(sizes.size - 1) // 2]
        with np.errstate(over="ignore"):
            large, small = sizes >= far * typical, sizes * far <= typical
            if not (large.any() or small.any()):
                return None
            return cls(columns[large], sizes.max() / typical, columns[small], typical / sizes.min())

    def in_words(self, names: Sequence[Any] | None = None) -> str:
        """Describe which columns differ, and by which factor."""
        kinds = [(self.large, self.larger_by, "large"), (self.small, self.smaller_by, "small")]
        return " and ".join(
            f"{_listed(columns, names)} {'is' if columns.size == 1 else 'are'} up to {_rounded(times)} times as {kind} "
            "as the median column"
            for columns, times, kind in kinds
            if columns.size
        )


def _sizes(rows: Rows, some: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Root mean square of the finite non-zero values of each column, and the columns that have any."""
    if not some.size:
        return np.empty(0), np.empty(0, dtype=np.int64)
    matrix: Any = in_one_storage(rows.matrix(some))
    if rows.is_dense:
        values = np.asarray(matrix, dtype=np.float64).ravel()
        places = np.tile(np.arange(rows.n_features), some.size)
    else:
        values, places = np.asarray(matrix.data, dtype=np.float64), matrix.indices
    used = (values != 0) & np.isfinite(values)
    values, places = np.abs(values[used]), places[used]
    largest = np.zeros(rows.n_features)
    np.maximum.at(largest, places, values)
    columns = np.flatnonzero(largest)
    # Divide by the largest value, so that squares neither overflow nor underflow.
    counts = np.bincount(places, minlength=rows.n_features)[columns]
    squares = np.bincount(places, (values / largest[places]) ** 2, minlength=rows.n_features)[columns]
    return largest[columns] * np.sqrt(squares / counts), columns


def _listed(columns: NDArray[np.int64], names: Sequence[Any] | None) -> str:
    named = [named_column(int(k), names) for k in columns[:_NAMED]]
    rest = columns.size - len(named)
    if rest > 0:
        return f"{', '.join(named)} and {rest:,} more"
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _rounded(factor: float) -> str:
    return f"{float(f'{factor:.2g}'):,.0f}" if factor < 1e7 else f"{factor:.1e}"
