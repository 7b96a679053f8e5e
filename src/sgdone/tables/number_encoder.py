"""Numbers as they are, with missing values replaced by the mean, and an indicator of them."""

from collections.abc import Iterable
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.tables.column_encoder import ColumnEncoder, ColumnState, Entries, NewFeatures, StateFields
from sgdone.tables.kinds import Column

#: Rows that are added up at a time.
_PIECE_ROWS = 1024


@final
class MeanImputer:
    """Replace missing numbers by their mean, with an indicator feature.

    The indicator exists from the first missing value in training on. From then on the mean stays that of the training
    rows so far, because the coefficient of the indicator is learnt beside it. Before, the mean is that of all rows.
    """

    def __init__(self) -> None:
        # Sums of weighted values and of weights.
        self.total, self.count = 0.0, 0.0
        self.mean = 0.0
        self.indicator: int | None = None

    def fill(self, values: NDArray[np.float64], new: NewFeatures | None) -> Entries:
        """The values, with the mean for those that are missing (NaN), and the indicators of these."""
        missing = np.isnan(values)
        any_missing = bool(missing.any())
        if new is not None and self.indicator is None:
            self.learn(values, new.weight)
            if any_missing:
                self.indicator = int(new.take(1)[0])
        dense = np.where(missing, self.mean, values) if any_missing else values
        if self.indicator is None:
            return Entries([dense], new_missing=any_missing)
        return Entries([dense], [np.where(missing, np.int32(self.indicator), np.int32(-1))])

    def learn(self, values: NDArray[np.float64], weight: NDArray[np.float64] | None) -> None:
        """Add rows to the mean; NaN is a missing value. Infinite values, which a fit refuses, change nothing."""
        known = ~np.isnan(values)
        if weight is not None:
            known &= weight > 0
        values = values[known]
        if not values.size:
            return
        weights = np.ones(values.size) if weight is None else weight[known]
        count = self.count + float(weights.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.total + float((values if weight is None else values * weights).sum())
            mean = total / count
            if not np.isfinite(mean):
                # A sum of large numbers may exceed the largest float; a sum of shares does not.
                mean = self.mean * (self.count / count) + float((values * (weights / count)).sum())
        if np.isfinite(mean):
            self.total, self.count, self.mean = total, count, mean

    def add(self, total: float, count: float) -> bool:
        """Add the sum of ``count`` weighted values to the mean; False, and nothing is added, if that is not finite."""
        total, count = self.total + total, self.count + count
        mean = total / count if count > 0 else np.nan
        if not np.isfinite(mean):
            return False
        self.total, self.count, self.mean = total, count, mean
        return True

    def merge(self, other: "MeanImputer", new: NewFeatures) -> None:
        """Add the rows of another imputer: the mean is that of the rows of both."""
        if self.count + other.count > 0 and not self.add(other.total, other.count):
            # A sum of large numbers may exceed the largest float; means do not.
            share = other.count / (self.count + other.count)
            self.mean += share * (other.mean - self.mean)
            self.total, self.count = self.total + other.total, self.count + other.count
        if other.indicator is not None and self.indicator is None:
            self.indicator = int(new.take(1)[0])

    #: Names and types of what `state` returns.
    fields: ClassVar[dict[str, Any]] = {
        "total": np.float64,
        "mean": np.float64,
        "count": np.float64,
        "indicator": np.int32,
    }

    def state(self) -> dict[str, Any]:
        """Plain values."""
        numbers = {"total": self.total, "mean": self.mean, "count": self.count}
        return {**numbers, "indicator": -1 if self.indicator is None else self.indicator}

    def sparse_numbers(self) -> NDArray[np.int32]:
        """The number of the indicator, if there is one."""
        return np.array([] if self.indicator is None else [self.indicator], dtype=np.int32)

    def sparse_names(self, name: str) -> list[tuple[int, str]]:
        """The number and name of the indicator, if there is one."""
        return [] if self.indicator is None else [(self.indicator, f"{name} missing")]

    @classmethod
    def from_state(cls, state: ColumnState) -> "MeanImputer":
        """The imputer with this state."""
        made = cls()
        # A sum of large numbers may be infinite; the mean is finite then, too.
        made.total, made.mean = float(state.values["total"]), state.number("mean")
        made.count = state.number("count")
        if made.count < 0:
            raise ValueError(f"'count' must not be negative; got {made.count}")
        indicator = state.integer("indicator", -1)
        made.indicator = None if indicator < 0 else indicator
        return made


@final
class NumberEncoder(ColumnEncoder):
    """A column of numbers or booleans: one dense feature, and an indicator where values of training rows are missing.

    Examples
    --------
    >>> from sgdone.tables.kinds import Kind
    >>> encoder = NumberEncoder("x", boolean=False)
    >>> found = encoder.encode(Column(Kind.NUMBER, "number", "", np.array([1.0, np.nan, 3.0])), NewFeatures(0))
    >>> found.dense, found.indicators
    ([array([1., 2., 3.])], [array([-1,  0, -1], dtype=int32)])
    >>> encoder.dense_names(), list(encoder.sparse_names())
    (['x'], [(0, 'x missing')])
    """

    fields = StateFields({"boolean": np.bool_, **MeanImputer.fields})

    def __init__(self, name: str, boolean: bool) -> None:
        self.name, self.boolean = name, boolean
        self.imputer = MeanImputer()

    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""
        return self.imputer.fill(column.values, new)

    def merge(self, other: "NumberEncoder", new: NewFeatures) -> None:
        """Add what another encoder of the column has learnt."""
        self.imputer.merge(other.imputer, new)

    def dense_names(self) -> list[str]:
        """Names of the dense features."""
        return [f"{self.name}=True" if self.boolean else self.name]

    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""
        return self.imputer.sparse_names(self.name)

    def missing_feature(self) -> int | None:
        """Number of the sparse feature that indicates missing values; None if there were none."""
        return self.imputer.indicator

    def sparse_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features, in any order."""
        return self.imputer.sparse_numbers()

    def description(self) -> str:
        """Description of the encoding, for people."""
        if self.imputer.indicator is None:
            return ""
        return f"missing values replaced by the mean {self.imputer.mean:.6g}, with an indicator"

    def state(self, words: NDArray[np.bool_] | None) -> ColumnState:
        """State of the encoder as plain values, arrays and levels."""
        return ColumnState({"boolean": self.boolean, **self.imputer.state()})

    @classmethod
    def from_state(cls, name: str, state: ColumnState) -> "NumberEncoder":
        """The encoder with this state."""
        made = cls(name, bool(state.values["boolean"]))
        made.imputer = MeanImputer.from_state(state)
        return made


def column_sums(X: NDArray[Any], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Weighted sums of the columns, added up in pieces of rows, which keeps their digits and fits a cache."""
    total = np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, X.shape[0], _PIECE_ROWS):
            part = X[first : first + _PIECE_ROWS]
            if weight is not None:
                own = weight[first : first + _PIECE_ROWS, None]
                part = np.where(own > 0, part, 0.0) * own
            total += part.sum(axis=0, dtype=np.float64)
    return total
