"""Whether rows come sorted, by their labels or by some column, which no stochastic method can mend."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

#: The share of a variance that lies between groups of neighbours above which rows count as sorted.
SORTED = 0.3
#: A variance below this share of the mean square is rounding.
_ROUNDING = 1e-13
#: Neighbouring rows that make a group.
GROUP = 256
#: The same share for a column of X, which may well have trends; and groups that it takes to tell.
_DRIFTS, _FEWEST_GROUPS = 0.5, 3


@final
@dataclass
class Between:
    """Sums over groups of rows: how much of each column's variance lies between the groups."""

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

    def copy(self) -> "Between":
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


def drift_advice(groups: Between, feature_names: Sequence[str] | None) -> str:
    """What to do about rows that are sorted by a column; nothing if they are not."""
    shares = groups.shares()
    if groups.groups < _FEWEST_GROUPS or shares.max(initial=0.0) < _DRIFTS:
        return ""
    column = int(np.argmax(shares))
    name = f"column {column}" if feature_names is None else str(feature_names[column])
    return (
        f"The rows come in the order of {name} ({shares[column]:.0%} of its variance lies between rows far apart), and "
        "the last ones read weigh most: shuffle them if they can be."
    )


@final
@dataclass
class LabelOrder:
    """The same of labels; of several classes, an indicator each counts as a column."""

    pivot: float = 0.0
    groups: Between = field(default_factory=Between)

    def observe(self, labels: NDArray[np.float64], n_classes: int) -> None:
        """Add rows in the order they are learnt from; labels are class numbers if there are several classes."""
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
        """What to do about rows that are sorted; nothing if they are not."""
        share = self.share_between
        if share < SORTED:
            return ""
        return (
            f"The rows come sorted by their labels (groups of {GROUP} neighbours explain {share:.0%} of their "
            "variance), and the last ones read weigh too much: use shuffle=True, or shuffle the stream before it comes."
        )
