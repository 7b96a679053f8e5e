"""Faults of rows that a user gives: cells that are not numbers, labels that cannot be used, sorted rows, weights."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.message_text import RowError, counted
from sgdone.readers.table import reads_as_number, shortened

#: How the names of types for dates, times and durations begin, in pandas, Polars and Arrow.
_DATES = ("date", "time", "duration", "period")
#: scikit-learn prints an array of the wrong shape whole.
_PRINTED_ARRAY = re.compile(r"\s*array=.*?\]\.\s*", re.DOTALL)


def refuse_masked(name: str, values: Any) -> None:
    """Raise for an array some of whose values are masked."""
    if np.ma.is_masked(values):
        count = int(np.sum(np.ma.getmaskarray(values)))
        raise ValueError(
            f"{counted(count, 'value')} of {name} {'is' if count == 1 else 'are'} masked: drop the masked rows, or "
            f"impute the values and pass {name}.filled(...)"
        )


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or ``pandas.NA``.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if label is None or type(label).__name__ == "NAType":
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # an array
        return False


@contextmanager
def bad_cells_named(X: Any) -> Iterator[None]:
    """Raise for columns of dates; convert errors about a cell that is not a number to one that says where it is."""
    _check_types(X)
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        place = find_bad_cell(X)
        if place is None and not isinstance(error, OverflowError):
            text = _PRINTED_ARRAY.sub(" ", str(error))
            if text == str(error):
                raise
            raise type(error)(text) from error
        place = place or "X holds an integer that exceeds the largest float: rescale or drop it"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place} ({shortened(str(error), 200)})") from error


def column_text(column: int, names: Sequence[Any] | None) -> str:
    """A column in a message: its name in quotes if there is one, else its number; ``names`` may be numbers, too."""
    name = column if names is None else names[column]
    return str(name) if isinstance(name, int) else repr(str(name))


def named_column(column: int, names: Sequence[Any] | None) -> str:
    """A column in a sentence: its name if there is one, else "column" and its number."""
    name = column if names is None else names[column]
    return f"column {name}" if isinstance(name, int) else str(name)


def _names(X: Any) -> list[Any] | None:
    """Names of the columns of a data frame or an Arrow table."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)


def _check_types(X: Any) -> None:
    """Raise for complex numbers, and for dates: NumPy refuses them in some tables and makes large numbers of others."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns")
    names = _names(X)
    types = [X.dtype] if kind in ("M", "m") else [] if names is None else _types(X)
    dates = {found for found in set(types) if str(found).lower().startswith(_DATES)}
    for column, found in enumerate(types if dates else ()):
        if found in dates:
            of = "X" if names is None else f"column {column_text(column, names)} of X"
            raise ValueError(
                f"{of} holds dates or times ({found}): replace them by numbers, for example the days since a date, or "
                "the month"
            )


def _types(X: Any) -> list[Any]:
    schema: Any = getattr(X, "schema", None)
    return list(schema.types if hasattr(schema, "types") else getattr(X, "dtypes", []))


def find_bad_cell(X: Any) -> str | None:
    """Describe the first cell that is not a number, and what to do."""
    if sparse.issparse(X) or not hasattr(X, "__len__"):
        return None
    try:
        cells = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    except (TypeError, ValueError):
        return None
    if cells.ndim != 2 or cells.dtype.kind not in "OSU":
        return None
    names = _names(X)
    for row, values in enumerate(cells):
        for column, value in enumerate(values.tolist()):
            problem = _problem(value)
            if problem is not None:
                return f"row {row}, column {column_text(column, names)} of X holds {problem}"
    return None


def _problem(value: Any) -> str | None:
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode(errors="backslashreplace")
        found = f"the text {shortened(text)!r}: encode it as numbers or drop the column"
        return None if reads_as_number(text) else found
    # NumPy converts None and NaN, which are reported where rows are checked, but not the missing value of pandas.
    if is_missing(value) and value is not None and not isinstance(value, (float, np.floating)):
        return f"a missing value ({value}): impute or drop it"
    try:
        float(value)
    except OverflowError:
        return "an integer that exceeds the largest float: rescale or drop it"
    except (TypeError, ValueError):
        return None if value is None else f"{shortened(repr(value))}: encode it as a number or drop the column"
    return None


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
    """Convert class labels that are integer-valued floats, as in svmlight files, to integers."""
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


#: Share of a variance, or of the association between levels and groups of rows, from which the order of rows matters.
ORDER_MATTERS = 0.05
#: Rows of a group of which entries are counted; sparse columns that are counted, the first ones; and of these, columns
#: for each row of a group: comparing groups must take less time than training on them.
_ROWS_OF_GROUP, _MOST_COLUMNS, _COLUMNS_A_ROW = 4096, 1 << 16, 4


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
    >>> round(order.share, 2)
    0.99
    """

    #: Entries of each column in all rows, and Σg²/r over groups of r rows, g of which have the column.
    counts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    between: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rows: float = 0.0
    groups: int = 0

    def observe(self, counts: NDArray[np.float64], rows: float) -> None:
        """Take the rows since the last group, if they are enough for another one; given are the sums over all rows."""
        counts, new = counts[:_MOST_COLUMNS], rows - self.rows
        if counts.size and new >= max(_ROWS_OF_GROUP, counts.size / _COLUMNS_A_ROW):
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


#: The largest sample weight must lie between the inverse of this and this: weights are multiplied by squares of values.
_LARGEST_WEIGHT = 1e150


class BadRowError(RowError):
    """Raised for a row with NaN, infinity or values whose squares overflow."""


def label_fault(labels: NDArray[np.float64], row: int) -> BadRowError:
    """The error for a label that is not finite."""
    return BadRowError("the label of ", row, f" is {labels[row]}: impute or drop it before fit")


def check_weights(sample_weight: NDArray[np.float64]) -> None:
    """Raise for weights that are not finite or negative, and for weights whose products with rows leave the floats."""
    bad = np.flatnonzero(~((sample_weight >= 0) & (sample_weight < np.inf)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {sample_weight[bad[0]]:g}: weights must be finite and 0 or more")
    largest = float(sample_weight.max())
    if largest > _LARGEST_WEIGHT or 0 < largest < 1.0 / _LARGEST_WEIGHT:
        extreme = "large" if largest > 1 else "small"
        raise ValueError(
            f"the sample weights are too {extreme} for floating-point arithmetic: the largest is {largest:.3g}. "
            "Divide all of them by a common factor, for example the largest"
        )
