"""Types of the columns of a CSV file, which are read as strings: all cells of a column decide.

In a file that is read in parts, those of its beginning do: see :mod:`sgdone.data.csv_cells`.

- Numbers become float64. Blanks and words for gaps (`?`, `NA`, `nan`, ...) among them are nulls. Integers of more than
  15 digits are rounded to the nearest float, as every model does with them; as categories, identifiers and labels they
  are kept as they are written. Numbers that begin with a needless zero (``02134``) are codes, and stay strings.
- ``true`` and ``false``, also as ``True`` or ``TRUE``, become booleans.
- ISO dates become timestamps, unless they state time zones, which may differ from cell to cell.
- All others stay strings.
"""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdone.tables.date_values import parsed_dates
from sgdone.tables.string_cells import first_cells_fit, look_like_codes, parsed_numbers, without_gap_words

#: Cells of columns of booleans.
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
#: The types of columns other than strings.
NUMBER, BOOLEAN, TIMESTAMP = pa.float64(), pa.bool_(), pa.timestamp("us")


def typed_column(strings: Any) -> Any:
    """A column of strings as numbers, booleans or timestamps, or as it is.

    Examples
    --------
    >>> def typed(*cells):
    ...     return typed_column(pa.chunked_array([pa.array(cells, pa.large_string())])).to_pylist()
    >>> typed("1", "?", "2.5"), typed("true", "FALSE"), typed("02134", "94110")
    ([1.0, None, 2.5], [True, False], ['02134', '94110'])
    """
    for parse in (_numbers, _booleans, partial(timestamps, some_in_utc=False)):
        parsed = parse(strings)
        if parsed is not None and parsed.null_count < len(parsed):
            return parsed
    return strings


def type_of_column(strings: Any) -> Any | None:
    """The type of a column of strings; None if it has no value.

    Examples
    --------
    >>> def type_of(*cells):
    ...     return str(type_of_column(pa.chunked_array([pa.array(cells, pa.large_string())])))
    >>> type_of("1", "?"), type_of("NA", ""), type_of("1", "one")
    ('double', 'None', 'large_string')
    """
    found = typed_column(strings).type
    if found == strings.type and without_gap_words(strings).null_count == len(strings):
        return None
    return found


def as_type(strings: Any, kind: Any) -> Any | None:
    """A column of strings as a type that was found for other cells of the column; None if a cell does not fit.

    Examples
    --------
    >>> cells = pa.chunked_array([pa.array(["1", " ?", "02"], pa.large_string())])
    >>> as_type(cells, NUMBER).to_pylist(), as_type(cells, BOOLEAN)
    ([1.0, None, 2.0], None)
    """
    parse = {NUMBER: parsed_numbers, BOOLEAN: _booleans, TIMESTAMP: timestamps}
    return parse[kind](strings) if kind in parse else strings


def _numbers(strings: Any) -> Any | None:
    numbers = parsed_numbers(strings)
    return None if numbers is None or look_like_codes(strings) else numbers


def _booleans(strings: Any) -> Any | None:
    if not first_cells_fit(strings, (*TRUE, *FALSE).__contains__):
        return None
    cells = without_gap_words(strings)
    true, false = (pc.is_in(cells, value_set=pa.array(words, strings.type)) for words in (TRUE, FALSE))
    known = pc.or_(true, false)
    if not pc.all(pc.or_(known, pc.is_null(cells)), min_count=0).as_py():
        return None
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def timestamps(strings: Any, *, some_in_utc: bool = True) -> Any | None:
    """Dates without a time zone; those of some cells may state that they are in UTC, but not those of all."""
    dates = parsed_dates(strings)
    if dates is None or (dates.zone == "UTC" and not some_in_utc) or not np.array_equal(dates.utc, dates.wall):
        return None
    return pa.chunked_array([pa.array(dates.utc, pa.timestamp("us"), mask=dates.missing)])
