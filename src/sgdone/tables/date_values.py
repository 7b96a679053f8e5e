"""Columns of dates and times as microseconds: in UTC for the trend, on the wall clock for month, weekday and hour."""

import datetime
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.message_text import RowError
from sgdone.tables.string_cells import (
    DATE,
    first_cells_fit,
    first_that_does_not_fit,
    is_date,
    numpy_of,
    without_missing_words,
)

#: Zones of columns of strings whose cells state different ones, and of those in which some cells state none.
SEVERAL, MIXED = "several", "some with, some without"
_UTC = ("Etc/UTC", "Etc/GMT", "GMT", "Zulu", "+00:00", "-00:00")

#: Microseconds of a day.
DAY = 86_400_000_000
_HOUR = 3_600_000_000

#: A time zone at the end of a string; a date alone ends like one (-01), so there must be a time before it.
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_TIME = r":[0-9]{2}(?:[.][0-9]+)?"


@final
@dataclass(frozen=True)
class DateValues:
    """A column of dates, in microseconds since 1970; of times of the day, in microseconds since midnight."""

    #: Times in UTC, and as a clock at the place shows them. Equal if the column has no time zone.
    utc: NDArray[np.int64]
    wall: NDArray[np.int64]
    missing: NDArray[np.bool_]
    #: False for a column of times of the day.
    has_days: bool = True
    #: Time zone of the column: "Europe/Berlin", "+02:00", `SEVERAL` or `MIXED`; empty if it has none, and None if it
    #: has no values that would tell.
    zone: str | None = ""

    def in_zone(self, zone: str) -> "DateValues":
        """Instants of the column on the clocks of another zone."""
        return replace(
            self, wall=_integers(pc.local_timestamp(pa.array(self.utc).cast(pa.timestamp("us", zone)))), zone=zone
        )

    def days(self) -> NDArray[np.float64]:
        """Days since 1970 (or since midnight), with fractions; NaN for missing values."""
        return np.where(self.missing, np.nan, self.utc / DAY)

    def months(self) -> NDArray[np.int64]:
        """Months from 0 to 11."""
        days: Any = np.floor_divide(self.wall, DAY)
        months: NDArray[np.int64] = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        return months

    def weekdays(self) -> NDArray[np.int64]:
        """Days of the week from 0 (Monday) to 6."""
        return (np.floor_divide(self.wall, DAY) + 3) % 7  # 1970 began on a Thursday

    def hours(self) -> NDArray[np.int64]:
        """Hours from 0 to 23."""
        return self.wall % DAY // _HOUR

    def has_times(self) -> bool:
        """Whether a time is other than midnight."""
        return bool(np.any((self.wall % DAY != 0) & ~self.missing))


def date_values(name: str, column: Any) -> DateValues:
    """Dates, timestamps, times of the day or strings of ISO dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = date_values("d", pa.chunked_array([pa.array(["1969-07-20T20:17:40Z", "NA"], pa.large_string())]))
    >>> found.days().round(3), found.months()[0] + 1, found.hours()[0]
    (array([-164.154,      nan]), np.int64(7), np.int64(20))
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return date_values(name, column.cast(kind.value_type))
    if pa.types.is_large_string(kind):
        found = parsed_dates(column)
        if found is None:
            row, cell = first_that_does_not_fit(column, _is_real_date)
            raise RowError(
                f"column {name!r} is a column of dates, but ",
                row,
                f" holds {cell}. Dates in strings must be like 2026-07-13 or 2026-07-13T12:30:00+02:00: correct the "
                "cell, or convert the column to dates",
            )
        return found
    if not pa.types.is_temporal(kind) or pa.types.is_duration(kind):
        raise TypeError(f"column {name!r} of type {kind} cannot be a date: convert it to dates, which says their unit")
    try:
        if pa.types.is_time(kind):
            return _from_times(column.cast(pa.time64("us"), safe=False), has_days=False)
        zone = getattr(kind, "tz", None)
        # Nanoseconds are cut off; seconds beyond the range of microseconds are an error.
        column = column.cast(pa.timestamp("us", zone), safe=getattr(kind, "unit", "s") != "ns")
        found = _from_times(column, None if zone is None else pc.local_timestamp(column))
        return replace(found, zone="" if zone is None else _zone_name(zone))
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r} of type {kind} cannot be read as dates: {error}") from error


def parsed_dates(column: Any) -> DateValues | None:
    """Strings as dates, or None if one is not an ISO date."""
    if not first_cells_fit(column, is_date):
        return None
    # Days repeat: each string is parsed once.
    coded = pa.concat_arrays(column.chunks).dictionary_encode()
    found = _parsed(pa.chunked_array([coded.dictionary]))
    if found is None:
        return None
    codes: NDArray[np.int32] = numpy_of(coded.indices.fill_null(len(coded.dictionary)))
    padded = [np.append(values, last) for values, last in ((found.utc, 0), (found.wall, 0), (found.missing, True))]
    utc, wall, missing = (values[codes] for values in padded)
    return DateValues(utc, wall, missing, zone=found.zone)


def _parsed(strings: Any) -> DateValues | None:
    """Strings as dates, each parsed by itself; None if one is not an ISO date."""
    cells = without_missing_words(strings)
    if not pc.all(pc.match_substring_regex(cells, f"^{DATE}$"), min_count=0).as_py():
        return None
    zones = pc.extract_regex(cells, pattern=f"{_TIME} ?{_ZONE}")
    plain = pc.replace_substring_regex(cells, f"({_TIME}) ?{_ZONE}", r"\1")
    plain = pc.replace_substring_regex(plain, r"([.][0-9]{6})[0-9]+$", r"\1")
    plain = pc.replace_substring(plain, "/", "-")
    try:
        wall = _from_times(pc.cast(plain, pa.timestamp("us")))
    except pa.ArrowInvalid:
        return None
    if zones.null_count == len(zones):
        return replace(wall, zone=None if wall.missing.all() else "")
    encoded = pa.concat_arrays(pc.struct_field(zones, "zone").chunks).dictionary_encode()
    minutes = [0 if text == "Z" else _minutes(text) for text in encoded.dictionary.to_pylist()]
    codes: NDArray[np.int32] = numpy_of(encoded.indices.fill_null(-1))
    ahead = np.array([*minutes, 0], dtype=np.int64)[codes] * (_HOUR // 60)
    zone = _zone_name(_offset(minutes[0])) if len(set(minutes)) == 1 else SEVERAL
    stated = bool(np.all((codes >= 0) | wall.missing))
    return DateValues(wall.utc - ahead, wall.wall, wall.missing, zone=zone if stated else MIXED)


def _zone_name(zone: str) -> str:
    """One name for the zone that has many."""
    return "UTC" if zone in _UTC else zone


def _offset(minutes: int) -> str:
    """Minutes ahead of UTC as Arrow writes them."""
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _minutes(zone: str) -> int:
    """Minutes of a zone such as +02, +0200 or -05:30."""
    sign = -1 if zone[0] == "-" else 1
    return sign * (60 * int(zone[1:3]) + int(zone[3:].lstrip(":") or 0))


def _from_times(utc: Any, wall: Any = None, *, has_days: bool = True) -> DateValues:
    at = _integers(utc)
    missing: NDArray[np.bool_] = numpy_of(pc.is_null(utc))
    return DateValues(at, at if wall is None else _integers(wall), missing, has_days)


def _integers(times: Any) -> NDArray[np.int64]:
    values: NDArray[np.int64] = numpy_of(times.cast(pa.int64()).fill_null(0))
    return values


def _is_real_date(text: str) -> bool:
    """Whether a string is the date of a day that exists."""
    if not is_date(text):
        return False
    try:
        datetime.date.fromisoformat(text[:10])
        datetime.time.fromisoformat((text[11:] or "00:00").replace(" ", "")[:5])
    except ValueError:
        return False
    return True
