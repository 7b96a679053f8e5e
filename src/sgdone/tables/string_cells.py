"""Arrow arrays in one form, and the strings in their cells."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.message_text import shortened


def numpy_of(column: Any) -> NDArray[Any]:
    """The values of an Arrow array, as its ``to_numpy(zero_copy_only=False)``; those of a chunked array are copied."""
    if not isinstance(column, pa.ChunkedArray):
        return _values(column)
    if not column.num_chunks:
        found: NDArray[Any] = column.to_numpy()
        return found
    return np.concatenate([_values(chunk) for chunk in column.chunks])


def _values(array: Any) -> NDArray[Any]:
    types, count = pa.types, len(array)
    if types.is_boolean(array.type) and not array.null_count:
        return _values(array.cast(pa.uint8())).view(np.bool_)
    is_float = types.is_float32(array.type) or types.is_float64(array.type)
    if count and (is_float or (types.is_integer(array.type) and not array.null_count)):
        kind = np.dtype(array.type.to_pandas_dtype())
        values = np.frombuffer(array.buffers()[1], dtype=kind, count=count, offset=array.offset * kind.itemsize)
        return np.where(_values(array.is_null()), kind.type(np.nan), values) if array.null_count else values
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


def arrow_of(values: NDArray[Any]) -> Any:
    """An Arrow array of integers or floats, which shares their memory if it can."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, pa.py_buffer(values)])


#: Strings that mean "no value" among numbers and dates. Among categories they are levels like others.
MISSING_WORDS = ("?", "-", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "NULL", "Null", "null", "None", "none")
#: Cells examined before a whole column is parsed: one that does not fit settles the question.
_FIRST_CELLS = 64
#: A column of numbers may have one cell in this many that is none: a misprint, or the header of another file.
CELLS_PER_MISPRINT = 1000
#: Cells turned into Python strings at a time, in search of one for a message.
_PIECE = 2**14

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_SPACES = "".join(map(chr, range(ord(" ") + 1)))
_SPACE, _PLUS, _MINUS, _ZERO, _NINE = map(ord, " +-09")
#: ISO dates, and the same with slashes, which mean nothing else.
DATE = r"(\d{4}-\d{2}-\d{2}|\d{4}/\d{2}/\d{2})([T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?)?"
_DATE = re.compile(DATE)
#: Numbers with commas, spaces, currencies or percent signs, and days before months or months before days.
_UNREAD = (
    r"^\s*[$€£]?\s*[+-]?(\d{1,3}([., ']\d{3})+|\d+)([.,]\d+)?\s*[$€£%]?\s*$"
    r"|^\s*\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})(\s+\d{1,2}:\d{2}(:\d{2})?)?\s*$"
)


def without_blanks(column: Any) -> Any:
    """The column with blank strings as nulls."""
    if len(column) == 0:
        return column
    # Most columns have none; utf8_trim would copy them.
    blank = pc.or_(pc.equal(pc.binary_length(column), 0), pc.utf8_is_space(column))
    if not pc.any(blank).as_py():
        return column
    return pc.if_else(blank, pa.scalar(None, column.type), column)


def without_missing_words(column: Any) -> Any:
    """The column, trimmed, with blank strings and :data:`MISSING_WORDS` as nulls."""
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, value_set=pa.array(["", *MISSING_WORDS], column.type))
    return pc.if_else(missing, pa.scalar(None, column.type), trimmed)


def first_cells_fit(column: Any, fits: Callable[[str], Any], *, most: bool = False) -> bool:
    """Whether the first cells with a value, or ``most`` of them, fit; a cheap way to see that a column does not."""
    found = 0
    for chunk in column.chunks:
        for first in range(0, len(chunk), _PIECE):
            cells = [cell for cell in chunk.slice(first, _FIRST_CELLS).to_pylist() if cell and cell.strip()]
            cells = [cell for cell in map(str.strip, cells) if cell not in MISSING_WORDS]
            if 2 * sum(map(bool, map(fits, cells))) < len(cells) if most else not all(map(fits, cells)):
                return False
            found += len(cells)
            if found:
                return True
    return True


def is_number(text: str) -> bool:
    """Whether a string is a number as files have it: "-2.5e3" and ".5" are, "1_000" and "1,5" are not."""
    return _NUMBER.fullmatch(text) is not None


def is_date(text: str) -> bool:
    """Whether a string has the shape of an ISO date, with or without a time: "2011/07/13" or "2011-07-13T12:30Z"."""
    return _DATE.fullmatch(text) is not None


def parsed_numbers(column: Any) -> Any | None:
    """Strings as float64 with nulls for missing values, or None if one is not a number."""
    if not first_cells_fit(column, is_number):
        return None
    try:
        # Most columns have neither missing values nor spaces; "nan" is a number to Arrow, and a missing value here.
        numbers = pc.cast(column, pa.float64())
        if not pc.any(pc.is_nan(numbers)).as_py():
            return numbers
    except pa.ArrowInvalid:
        pass
    cells = without_missing_words(column)
    try:
        # Arrow's parser does not take a leading plus sign.
        return pc.cast(pc.utf8_ltrim(cells, "+"), pa.float64())
    except pa.ArrowInvalid:
        return None


@final
@dataclass(frozen=True)
class Misprints:
    """Cells of a column of numbers that are none."""

    #: Their rows, from 0.
    rows: NDArray[np.int64]
    #: The first of them.
    first: str
    #: Number of cells with a value, these included.
    cells: int

    @property
    def are_few(self) -> bool:
        """Whether the others make the column one of numbers."""
        return CELLS_PER_MISPRINT * self.rows.size <= self.cells


def numbers_and_misprints(column: Any, *, most: float = 0.5) -> tuple[Any, Misprints | None] | None:
    """Strings as float64, with nulls for missing values and cells that are no numbers; None if these exceed a share."""
    numbers = parsed_numbers(column)
    if numbers is not None:
        return numbers, None
    if most < 1 and not first_cells_fit(column, is_number, most=True):
        return None
    cells = without_missing_words(column)
    fits = pc.match_substring_regex(cells, f"^(?:{_NUMBER.pattern})$", ignore_case=True)
    rows: NDArray[np.int64] = np.flatnonzero(numpy_of(pc.invert(fits).fill_null(False)))
    n_cells = len(cells) - cells.null_count
    if rows.size == 0 or rows.size > most * n_cells:
        return None
    try:
        kept = pc.if_else(fits, pc.utf8_ltrim(cells, "+"), pa.scalar(None, cells.type))
        return pc.cast(kept, pa.float64()), Misprints(rows, column[int(rows[0])].as_py(), n_cells)
    except pa.ArrowInvalid:
        return None


def without_misprints(column: Any, misprints: Misprints | None) -> Any:
    """The column with nulls for cells that are no numbers."""
    if misprints is None:
        return column
    fits = np.ones(len(column), dtype=np.bool_)
    fits[misprints.rows] = False
    return pc.if_else(pa.array(fits), column, pa.scalar(None, column.type))


def look_like_codes(column: Any) -> bool:
    """Whether a string begins with a needless zero, as in ``02134``.

    Examples
    --------
    >>> [look_like_codes(pa.chunked_array([pa.array([text], pa.large_string())])) for text in ("02134", "0.5", " -07")]
    [True, False, True]
    """
    return any(_has_code(chunk) for chunk in column.chunks)


def _has_code(strings: Any) -> bool:
    data, where = utf8(strings)
    if data.size < 2:
        return False
    start, end = where[:-1], where[1:]
    first = data[np.minimum(start, data.size - 1)]  # an empty string may begin where the bytes end
    if np.any(first <= _SPACE) and np.any((first <= _SPACE) & (start < end)):
        return _has_code(pc.utf8_ltrim(strings, _SPACES))
    signed = np.flatnonzero((first == _PLUS) | (first == _MINUS))
    unsigned = np.flatnonzero(first == _ZERO)
    return _needless_zero(data, start[unsigned], end[unsigned]) or _needless_zero(data, start[signed] + 1, end[signed])


def _needless_zero(data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]) -> bool:
    """Whether a zero and a digit stand at the beginning of one of the given strings."""
    start = start[start + 1 < end]
    second = data[start + 1]
    return bool(np.any((data[start] == _ZERO) & (second >= _ZERO) & (second <= _NINE)))


def looks_unread(column: Any) -> bool:
    """Whether all strings look like numbers or dates, in a format that is not read.

    Examples
    --------
    >>> cells = ["1,75", "12"], ["$1,200.50"], ["31.1.2024"], ["10.0.0.1"], ["a"]
    >>> [looks_unread(pa.chunked_array([column])) for column in cells]
    [True, True, True, False, False]
    """
    if not first_cells_fit(column, re.compile(_UNREAD).match):
        return False
    return bool(pc.all(pc.match_substring_regex(without_missing_words(column).unique(), _UNREAD), min_count=0).as_py())


def first_that_does_not_fit(column: Any, fits: Callable[[str], Any]) -> tuple[int, str]:
    """Row and value of the first cell that does not fit."""
    row = 0
    for chunk in column.chunks:
        for piece in (chunk.slice(first, _PIECE) for first in range(0, len(chunk), _PIECE)):
            for cell in piece.to_pylist():
                text = "" if cell is None else cell.strip()
                if text and text not in MISSING_WORDS and not fits(text):
                    return row, shortened(cell)
                row += 1
    raise AssertionError("all cells fit")


def utf8(strings: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a large_string array without nulls, and where each string begins and the last one ends."""
    _, offsets, data = strings.buffers()
    # Slices of bytes objects are read-only as Arrow's buffers are: one compiled form takes both.
    if len(strings) == 0 or offsets is None:
        return np.frombuffer(b"", dtype=np.uint8), np.frombuffer(bytes(8), dtype=np.int64)
    where = np.frombuffer(offsets, dtype=np.int64)[strings.offset : strings.offset + len(strings) + 1]
    return np.frombuffer(b"" if data is None else data, dtype=np.uint8), where
