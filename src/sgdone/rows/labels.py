"""Labels: kinds that cannot be used, and whether rows are sorted by them or by a column."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.message_text import RowError
from sgdone.readers.table import shortened
from sgdone.rows.cells import is_missing, named_column


def check_labels(y: Any, name: str = "y") -> None:
    """Raise a ValueError for labels that are missing, or of kinds that cannot be compared; it names the rows.

    Labels of more dimensions than one are left for others to refuse.
    """
    if isinstance(y, (list, tuple)):
        labels: Sequence[Any] = y
        if any(isinstance(label, (list, tuple, np.ndarray)) for label in labels):
            return
    else:
        array = np.asarray(y)
        check_finite_labels(array, name)
        if array.dtype != object or array.ndim != 1:
            return
        labels = array.tolist()
    kinds: dict[str, int] = {}
    # The usual case takes little time: all labels have the same type.
    if set(map(type, labels)) not in ({str}, {int}, {bool}):
        for row, label in enumerate(labels):
            if is_missing(label):
                raise RowError(f"Input {name} contains NaN: the label of ", row, f" is {label}, drop the row")
            kinds.setdefault(_kind(label), row)
    for kind, row in kinds.items():
        if kind not in ("text", "number"):
            label = shortened(repr(labels[row]))
            raise RowError("the label of ", row, f" of {name} is {label} ({kind}): use text or numbers")
    if len(kinds) > 1:
        found = " and ".join(f"{shortened(repr(labels[row]))} in row {row}" for row in kinds.values())
        raise ValueError(f"{name} holds labels of different types, {found}: convert all of them to text or to numbers")
    _check_integers(labels, name)


def as_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Convert class labels that are integer-valued floats, as in svmlight files, to integers.

    Examples
    --------
    >>> as_classes(np.array([1.0, -1.0])), as_classes(np.array([0.5]))
    (array([ 1, -1]), array([0.5]))
    """
    if y.dtype.kind == "f" and np.all(y == np.rint(y)) and np.all(np.abs(y) < 2**53):
        return y.astype(np.int64)
    return y


def check_finite_labels(y: NDArray[Any], name: str = "y") -> None:
    """Raise a ValueError that names the first label which is NaN or infinite."""
    if y.dtype.kind == "f" and y.ndim == 1 and not np.all(np.isfinite(y)):
        row = int(np.argmin(np.isfinite(y)))
        found = "NaN" if np.isnan(y[row]) else "infinity"
        after = f" is {y[row]}, correct or drop the row"
        raise RowError(f"Input {name} contains {found}: the label of ", row, after)


def _kind(label: Any) -> str:
    """``text``, ``number`` or the name of another type."""
    if isinstance(label, str):
        return "text"
    return "number" if isinstance(label, (int, float, np.number, np.bool_)) else type(label).__name__


def _check_integers(labels: Sequence[Any], name: str) -> None:
    """Raise for integers that arrays cannot hold, or that become floats which are not the same."""
    large = [row for row, label in enumerate(labels) if isinstance(label, int) and not -(2**53) <= label <= 2**53]
    if not large:
        return
    integers = all(isinstance(label, (int, np.integer)) for label in labels)
    if integers and any(low <= min(labels) and max(labels) < high for low, high in ((-(2**63), 2**63), (0, 2**64))):
        return
    for row in large:
        if integers or abs(labels[row]) >= 2**1023 or int(float(labels[row])) != labels[row]:
            raise ValueError(f"the integer that is the label of row {row} of {name} has too many digits: use text")


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
