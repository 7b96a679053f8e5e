"""Dates as a trend in days, and as month, weekday and hour."""

from collections.abc import Iterable
from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.tables.column_encoder import (
    ColumnEncoder,
    ColumnState,
    Entries,
    LevelGroup,
    NewFeatures,
    StateFields,
    level_group,
)
from sgdone.tables.date_values import MIXED, SEVERAL, DateValues
from sgdone.tables.kinds import Column
from sgdone.tables.number_encoder import MeanImputer

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: The parts of dates and the names of their levels.
PARTS = {"month": [str(month + 1) for month in range(12)], "weekday": WEEKDAYS, "hour": [str(h) for h in range(24)]}


@final
class DatePart:
    """Months, weekdays or hours: a feature for each one that training rows have."""

    def __init__(self, n_levels: int) -> None:
        self.features = np.full(n_levels, -1, dtype=np.int32)
        self.counts = np.zeros(n_levels, dtype=np.int64)

    def encode(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], new: NewFeatures | None
    ) -> list[NDArray[np.int32]]:
        """The feature of each row's level, −1 for rows without a date and for levels that were not in training."""
        if new is not None:
            counts = np.bincount(codes[~missing], minlength=self.counts.size)
            unseen = np.flatnonzero((counts > 0) & (self.features < 0))
            # One level is constant, or the contrary of a missing value, which has a feature.
            if not (new.all_rows and np.count_nonzero(counts) < 2):
                self.features[unseen] = new.take(unseen.size)
                self.counts += counts
        if self.features.max() < 0:
            return []
        return [np.where(missing, np.int32(-1), self.features[codes])]

    def merge(self, other: "DatePart", new: NewFeatures) -> None:
        """Add the levels that another encoder has met, in the order in which it numbered them."""
        unseen = np.flatnonzero((other.features >= 0) & (self.features < 0))
        unseen = unseen[np.argsort(other.features[unseen])]
        self.features[unseen] = new.take(unseen.size)
        self.counts += other.counts


@final
class DateEncoder(ColumnEncoder):
    """A column of dates: the days since 1970 as a dense feature, and a feature for each month, weekday and hour.

    Hours are encoded if times other than midnight occur in training. The trend is in UTC; month, weekday and hour are
    those of the column's time zone in training, whatever zone later rows have. Times of the day have a dense feature in
    days, and hours.

    Attributes
    ----------
    zone : str or None
        Time zone of the training rows, as `DateValues` has it; None until it is known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sgdone.tables.kinds import settle
    >>> encoder = DateEncoder("d", has_days=True)
    >>> dates = pa.chunked_array([pa.array(["2011-07-13", "2011-08-14"], pa.large_string())])
    >>> encoder.encode(settle("d", dates), NewFeatures(0)).dense
    [array([15168., 15200.])]
    >>> [name for _, name in encoder.sparse_names()]
    ['d.month=7', 'd.month=8', 'd.weekday=Wed', 'd.weekday=Sun']
    """

    fields = StateFields(
        {"has_days": np.bool_, **MeanImputer.fields}, {"part_features": np.int32, "part_counts": np.int64}
    )

    def __init__(self, name: str, has_days: bool) -> None:
        self.name, self.has_days = name, has_days
        self.zone: str | None = None
        self.imputer = MeanImputer()
        self.parts = {part: DatePart(len(PARTS[part])) for part in (PARTS if has_days else ["hour"])}

    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""
        dates = self._in_zone_of_fit(column.values, learns=new is not None)
        indicators = []
        for name, part in self.parts.items():
            hours = name == "hour"
            if hours and part.features.max() < 0 and not dates.has_times():
                continue
            codes = dates.hours() if hours else dates.months() if name == "month" else dates.weekdays()
            indicators += part.encode(codes, dates.missing, new)
        trend = self.imputer.fill(dates.days(), new)
        return Entries(trend.dense, indicators + trend.indicators, new_missing=trend.new_missing)

    def _in_zone_of_fit(self, dates: DateValues, *, learns: bool) -> DateValues:
        """The dates on the clocks of the training rows; a column with a zone is not compared with one without."""
        found, known = dates.zone, self.zone
        if not self.has_days or found is None or dates.missing.all():
            return dates
        if learns and (known is None or _are_offsets(known, found)):
            self._learn_zone(found)
            return dates
        if known in (None, found, MIXED) or (known == SEVERAL and found not in ("", MIXED)):
            return dates
        if not known:
            raise ValueError(
                f"column {self.name!r} had no time zone in fit, and has {_text(found)} now: convert it to the zone of "
                "the times in fit, and remove the zone, for example with "
                f"frame[{self.name!r}].dt.tz_convert(zone).dt.tz_localize(None)"
            )
        if found in ("", MIXED):
            raise ValueError(
                f"column {self.name!r} had {_text(known)} in fit, and has {_text(found)} now: state the time zone of "
                f"all times, for example with frame[{self.name!r}].dt.tz_localize(zone)"
            )
        try:
            return dates.in_zone(known)
        except pa.ArrowInvalid as error:
            raise ValueError(f"column {self.name!r} cannot be converted to {_text(known)} of fit: {error}") from error

    def _learn_zone(self, found: str | None) -> None:
        """Note the zone of training rows; cells that state different offsets keep their own clocks."""
        self.zone = found if self.zone in (None, found) else self.zone if found is None else SEVERAL

    def merge(self, other: "DateEncoder", new: NewFeatures) -> None:
        """Add what another encoder of the column has learnt."""
        if self.zone is None or other.zone is None or _are_offsets(self.zone, other.zone):
            self._learn_zone(other.zone)
        elif self.zone != other.zone:
            raise ValueError(
                f"column {self.name!r} has {_text(self.zone)} in some rows and {_text(other.zone)} in others: convert "
                "it to one"
            )
        for own, part in zip(self.parts.values(), other.parts.values(), strict=True):
            own.merge(part, new)
        self.imputer.merge(other.imputer, new)

    def dense_names(self) -> list[str]:
        """Names of the dense features."""
        return [self.name]

    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""
        for name, part in self.parts.items():
            for code in np.flatnonzero(part.features >= 0).tolist():
                yield int(part.features[code]), f"{self.name}.{name}={PARTS[name][code]}"
        yield from self.imputer.sparse_names(self.name)

    def sparse_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features, in any order."""
        features = [part.features[part.features >= 0] for part in self.parts.values()]
        return np.concatenate([*features, self.imputer.sparse_numbers()])

    def description(self) -> str:
        """Description of the encoding, for people."""
        shown = [name for name, part in self.parts.items() if part.features.max() >= 0]
        missing = [] if self.imputer.indicator is None else ["an indicator of missing values"]
        return ", ".join(["trend in days", *shown, *missing])

    def groups(self) -> list[LevelGroup]:
        """Features of which a row has at most one."""
        found = []
        for name, part in self.parts.items():
            used = part.features >= 0
            if used.any():
                found.append(level_group(f"{self.name}.{name}", part.features[used], part.counts[used]))
        return found

    def missing_feature(self) -> int | None:
        """Number of the sparse feature that indicates missing values; None if there were none."""
        return self.imputer.indicator

    def state(self, words: NDArray[np.bool_] | None) -> ColumnState:
        """State of the encoder as plain values, arrays and levels."""
        arrays = {
            "part_features": np.concatenate([part.features for part in self.parts.values()]),
            "part_counts": np.concatenate([part.counts for part in self.parts.values()]),
        }
        return ColumnState({"has_days": self.has_days, **self.imputer.state()}, arrays)

    @classmethod
    def from_state(cls, name: str, state: ColumnState) -> "DateEncoder":
        """The encoder with this state."""
        made = cls(name, bool(state.values["has_days"]))
        made.imputer = MeanImputer.from_state(state)
        features, counts = state.arrays["part_features"], state.counts("part_counts")
        ends = np.cumsum([part.features.size for part in made.parts.values()])
        if features.size != ends[-1] or counts.size != ends[-1] or features.min() < -1:
            raise ValueError(f"column {name!r} must have {ends[-1]} months, weekdays and hours")
        for part, own, count in zip(
            made.parts.values(), np.split(features, ends[:-1]), np.split(counts, ends[:-1]), strict=True
        ):
            part.features, part.counts = own.copy(), count.copy()
        return made


def _are_offsets(*zones: str) -> bool:
    """Whether zones are offsets from UTC, as cells state them: those of one place change in summer."""
    return all(zone in ("UTC", SEVERAL) or zone[:1] in ("+", "-") for zone in zones)


def _text(zone: str) -> str:
    """A zone for a message."""
    words = {"": "no time zone", SEVERAL: "several time zones", MIXED: "times with and without a time zone"}
    return words.get(zone, f"the time zone {zone}")
