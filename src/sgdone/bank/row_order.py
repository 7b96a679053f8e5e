"""Whether rows that keep the user's order differ from those before: rows to come may then differ from all so far."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.sums.units import WINDOW, Units

#: Share of a variance, or of the association between levels and groups of rows, from which the order matters.
ORDERED = 0.05
#: Sparse columns that are compared: the first ones.
_MOST_COLUMNS = 1 << 16
#: Columns for each row of a group: comparing groups must take less time than training on them.
_COLUMNS_A_ROW = 4


@final
@dataclass
class EntryOrder:
    """Entries of sparse columns in groups of consecutive rows.

    Two measures say whether the groups differ, both 0 for rows in random order: the largest share of a column's
    variance that lies between groups, for columns that many rows have; and V² (Cramér 1946), the association of columns
    with groups, for levels each of which few rows have.

    Examples
    --------
    >>> order = EntryOrder()
    >>> for group in np.eye(3):  # a level in each of three groups
    ...     order.add(100.0 * group, 100)
    >>> order.share
    1.0
    """

    #: Entries of each column in all rows, and Σg²/r over groups of r rows, g of which have the column.
    counts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    between: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rows: float = 0.0
    groups: int = 0

    def observe(self, units: Units) -> None:
        """Take the rows that were measured since the last group, if they are enough for another one."""
        counts = units.firsts[units.n_dense :][:_MOST_COLUMNS]
        new = units.rows - self.rows
        if counts.size and new >= max(WINDOW, counts.size / _COLUMNS_A_ROW):
            before = np.zeros(counts.size)
            before[: self.counts.size] = self.counts
            self.add(counts - before, new)

    def add(self, counts: NDArray[np.float64], rows: float) -> None:
        """Add a group of rows; there may be more columns than before."""
        wider = counts.size - self.counts.size
        self.counts, self.between = (np.append(sums, np.zeros(wider)) for sums in (self.counts, self.between))
        self.counts += counts
        self.between += counts * counts / rows
        self.rows += rows
        self.groups += 1

    @property
    def share(self) -> float:
        """The larger one of the two measures."""
        if self.groups < 2:
            return 0.0
        found = self.counts > 0
        counts, between, more = self.counts[found], self.between[found], self.groups - 1
        # Sums of squares between groups, and those in all, of indicators.
        apart, total = between - counts * counts / self.rows, counts - counts * counts / self.rows
        shares = np.divide(apart, total, out=np.zeros(counts.size), where=total > 0)
        largest = float(shares.max(initial=0.0)) - more / self.rows
        squares = float((apart * self.rows / counts).sum())
        association = (squares - more * float((total / counts).sum())) / max(1.0, more * float(counts.sum()))
        return max(0.0, largest, association)

    def copy(self) -> "EntryOrder":
        """A copy that shares nothing that changes."""
        return EntryOrder(self.counts.copy(), self.between.copy(), self.rows, self.groups)
