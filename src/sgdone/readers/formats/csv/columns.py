"""Types of the columns of a CSV file, which are read as strings: all cells of a column decide.

In a file that is read in parts, those of its beginning do: see :mod:`sgdone.readers.formats.csv.cells`.

- Numbers become float64. Blanks and words for missing values (`?`, `NA`, `nan`, ...) among them are nulls, and so is
  one cell in a thousand that is no number, with a warning. Integers of more than 15 digits are rounded to the nearest
  float; as categories, identifiers and labels they are kept as they are written. Numbers that begin with
  a needless zero (``02134``) are codes, and stay strings.
- ``true`` and ``false``, also as ``True`` or ``TRUE``, become booleans.
- ISO dates become timestamps, unless they state time zones, which may differ from cell to cell.
- All others stay strings.
"""

from functools import partial
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from sgdone.tables.date_values import parsed_dates
from sgdone.tables.string_cells import (
    CELLS_PER_MISPRINT,
    Misprints,
    first_cells_fit,
    look_like_codes,
    numbers_and_misprints,
    parsed_numbers,
    without_misprints,
    without_missing_words,
)

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


def typed_feature(strings: Any) -> tuple[Any, Misprints | None]:
    """A feature as `typed_column` has it; few cells of a column of numbers may be none, and are nulls then."""
    found = typed_column(strings)
    if found is not strings:
        return found, None
    numbers, misprints = numbers_and_misprints(strings) or (None, None)
    if misprints is None or look_like_codes(without_misprints(strings, misprints)):
        return strings, None
    return (numbers, misprints) if misprints.are_few else (strings, None)


@final
class ColumnType:
    """The type of a column, by the cells of its blocks.

    Examples
    --------
    >>> def type_of(*blocks):
    ...     found = ColumnType()
    ...     for cells in blocks:
    ...         found.add(pa.chunked_array([pa.array(cells, pa.large_string())]))
    ...     return str(found.type)
    >>> type_of(["1"], ["?"]), type_of(["NA", ""]), type_of(["1", "one"]), type_of(["one", "2"], ["1"] * 998)
    ('double', 'None', 'large_string', 'double')
    """

    def __init__(self) -> None:
        self._types: set[Any] = set()
        self.cells = self.misprints = 0

    def add(self, strings: Any) -> None:
        """Take the cells of a block into account."""
        found = typed_column(strings)
        if found is strings:
            # The last block of a file may be a single row.
            found_so_far = numbers_and_misprints(strings, most=1.0 if self.is_number else 0.5)
            numbers, misprints = found_so_far or (None, None)
            if misprints is not None and not look_like_codes(without_misprints(strings, misprints)):
                found, self.misprints = numbers, self.misprints + misprints.rows.size
                self.cells += misprints.rows.size
        if found is strings and without_missing_words(strings).null_count == len(strings):
            return
        self._types.add(found.type)
        self.cells += len(found) - found.null_count

    def add_numbers(self, numbers: Any) -> None:
        """Take a block into account that is all numbers."""
        self._types.add(NUMBER)
        self.cells += len(numbers) - numbers.null_count

    @property
    def is_number(self) -> bool:
        """Whether all blocks so far are of numbers."""
        return self._types == {NUMBER}

    @property
    def type(self) -> Any | None:
        """The type so far; None if there was no value."""
        if len(self._types) > 1 or CELLS_PER_MISPRINT * self.misprints > self.cells:
            return pa.large_string()
        return next(iter(self._types), None)

    @property
    def is_text(self) -> bool:
        """Whether no other block can change that these are strings."""
        return len(self._types) > 1 or self._types == {pa.large_string()}


def as_type(strings: Any, kind: Any) -> Any | None:
    """A column of strings as a type that was found for other cells of the column; None if a cell does not fit."""
    parse = {NUMBER: parsed_numbers, BOOLEAN: _booleans, TIMESTAMP: timestamps}
    return parse[kind](strings) if kind in parse else strings


def _numbers(strings: Any) -> Any | None:
    numbers = parsed_numbers(strings)
    return None if numbers is None or look_like_codes(strings) else numbers


def _booleans(strings: Any) -> Any | None:
    if not first_cells_fit(strings, (*TRUE, *FALSE).__contains__):
        return None
    cells = without_missing_words(strings)
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


def typed_labels(labels: Any) -> Any:
    """Convert labels to the type that Arrow infers for them, or leave them as text.

    Whole numbers stay text if numbers would not be the same labels: with leading zeros (``007``), or with more digits
    than integers and floats can tell apart. Dates and times stay text too: as labels they are names of classes.
    """
    if labels.null_count == len(labels):
        return labels
    encoded = pa.concat_arrays(labels.cast(pa.large_binary()).chunks).dictionary_encode()
    try:
        distinct = encoded.dictionary.cast(pa.large_string())
    except pa.ArrowInvalid:  # not UTF-8
        return labels
    inferred = _inferred(distinct)
    if pa.types.is_temporal(inferred.type) or _are_codes(distinct, inferred.type):
        inferred = distinct
    return pa.chunked_array([inferred.take(encoded.indices)])


def labels_as(labels: Any, kind: Any) -> Any | None:
    """Labels as the type that was found for others; None if one does not fit."""
    if labels.null_count == len(labels):
        return pa.chunked_array([pa.nulls(len(labels), kind)])
    encoded = pa.concat_arrays(labels.chunks).dictionary_encode()
    try:
        return pa.chunked_array([_inferred(encoded.dictionary, kind).take(encoded.indices)])
    except pa.ArrowInvalid:
        return None


def _are_codes(distinct: Any, inferred: Any) -> bool:
    """Whether labels are whole numbers, some of which differ from the numbers that they are read as."""
    texts = pc.utf8_trim_whitespace(distinct)
    if not pc.all(pc.match_substring_regex(texts, "^[+-]?[0-9]+$")).as_py():
        return False
    if pc.any(pc.match_substring_regex(texts, "^[+-]?0[0-9]")).as_py():
        return True
    # Integers of 64 bits and floats of up to 15 digits are exact; infinity has more than 308 digits.
    long = texts.filter(pc.greater(pc.utf8_length(texts), 15)).to_pylist() if pa.types.is_floating(inferred) else []
    return any(len(text) > 308 or int(text) != int(float(text)) for text in long)


def _inferred(distinct: Any, kind: Any = None) -> Any:
    """The values of a type, by default the one that Arrow infers from CSV."""
    sink = pa.BufferOutputStream()
    quoted = arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid")
    arrow_csv.write_csv(pa.table({"label": distinct}), sink, quoted)
    table = arrow_csv.read_csv(
        sink.getvalue(),
        read_options=arrow_csv.ReadOptions(column_names=["label"], block_size=max(1 << 20, sink.getvalue().size)),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            quoted_strings_can_be_null=False, column_types={} if kind is None else {"label": kind}
        ),
    )
    return pa.concat_arrays(table["label"].chunks)
