"""Whether rows are sorted, by label or by a column: no stochastic method can make up for that."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.rows.cells import named_column

#: Rows count as sorted if more than this share of a variance lies between groups of neighbouring rows.
SORTED = 0.3
#: A variance below this share of the mean square is rounding.
_ROUNDING = 1e-13
#: Neighbouring rows in a group.
GROUP = 256
#: Such a share for a column of X, which may have trends; and the number of groups needed to tell.
_DRIFTS, _FEWEST_GROUPS = 0.5, 3


@final
@dataclass
class GroupMeans:
    """Sums over groups of rows: the share of each column's variance between the groups."""

    rows: float = 0.0
    groups: int = 0
    sums: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    squares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    between: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def add(self, sums: NDArray[np.float64], squares: NDArray[np.float64], rows: float) -> None:
        """Add a group: sums and sums of squares of its columns, from an origin near them."""
        if not self.sums.size:
            self.sums, self.squares, self.between = (np.zeros(sums.size) for _ in range(3))
        self.rows += rows
        self.groups += 1
        self.sums += sums
        self.squares += squares
        self.between += sums * sums / rows

    def copy(self) -> "GroupMeans":
        """A copy that shares nothing that changes."""
        return replace(self, sums=self.sums.copy(), squares=self.squares.copy(), between=self.between.copy())

    def shares(self) -> NDArray[np.float64]:
        """η² of each column, the share of its variance between groups, less what chance would put there."""
        if self.groups < 2 or self.rows <= self.groups:
            return np.zeros(self.sums.size)
        mean = self.sums * self.sums / self.rows
        total = self.squares - mean
        share = np.divide(self.between - mean, total, out=np.zeros(total.size), where=total > _ROUNDING * self.squares)
        chance = (self.groups - 1) / (self.rows - 1)
        found: NDArray[np.float64] = np.maximum(0.0, (share - chance) / (1.0 - chance))
        return found


def drift_advice(groups: GroupMeans, feature_names: Sequence[Any] | None) -> str:
    """Advice for rows that are sorted by a column; empty if they are not."""
    shares = groups.shares()
    if groups.groups < _FEWEST_GROUPS or shares.max(initial=0.0) < _DRIFTS:
        return ""
    column = int(np.argmax(shares))
    name = named_column(int(column), feature_names)
    return (
        f"The rows are sorted by {name} ({shares[column]:.0%} of its variance lies between distant rows), and the last "
        "rows have the most influence. Shuffle them if possible."
    )


@final
@dataclass
class LabelOrder:
    """Group means of the labels; with several classes, of the indicator of each class."""

    pivot: float = 0.0
    groups: GroupMeans = field(default_factory=GroupMeans)

    def observe(self, labels: NDArray[np.float64], n_classes: int) -> None:
        """Add rows in the order of training; labels are class numbers if there are several classes."""
        if not self.groups.rows:
            self.pivot = float(labels[0]) if n_classes <= 1 else 0.0
        for first in range(0, len(labels), GROUP):
            some = labels[first : first + GROUP]
            if n_classes <= 1:
                values = some[:, None] - self.pivot
            else:
                values = (some[:, None] == np.arange(n_classes)).astype(np.float64)
            self.groups.add(values.sum(axis=0), (values * values).sum(axis=0), len(some))

    def copy(self) -> "LabelOrder":
        """A copy that shares nothing that changes."""
        return replace(self, groups=self.groups.copy())

    @property
    def share_between(self) -> float:
        """The largest share of a variance that lies between groups."""
        return float(self.groups.shares().max(initial=0.0))

    @property
    def advice(self) -> str:
        """Advice for rows that are sorted by label; empty if they are not."""
        share = self.share_between
        if share < SORTED:
            return ""
        return (
            f"The rows are sorted by label (groups of {GROUP} neighbouring rows explain {share:.0%} of the variance). "
            "Use shuffle=True, or shuffle the file before streaming it."
        )
