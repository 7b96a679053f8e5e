"""Values of the cells of a column: levels, numbers and words."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.message_text import RowError, shortened
from sgdone.tables.string_cells import (
    Misprints,
    arrow_of,
    first_that_does_not_fit,
    is_number,
    numpy_of,
    parsed_numbers,
    utf8,
    without_blanks,
)
from sgdone.tables.warn_user import warn_user


@final
@dataclass(frozen=True)
class LevelValues:
    """A column of categories.

    Codes are numbered by first occurrence: two columns that divide the rows in the same way have the same codes.
    """

    #: Position of each row's level in ``levels``; −1 for a missing value.
    codes: NDArray[np.int32]
    #: The levels that occur, each once: a `pyarrow.LargeStringArray`.
    levels: Any

    @property
    def has_missing(self) -> bool:
        """Whether a row has no level."""
        return bool(self.codes.size and self.codes.min() < 0)


def level_values(name: str, column: Any) -> LevelValues:
    """Strings, dictionaries, numbers, booleans or dates as levels; blank strings and NaN are missing values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = level_values("c", pa.chunked_array([pa.array(["b", " ", "a", "b"], pa.large_string())]))
    >>> found.codes, found.levels.to_pylist()
    (array([ 0, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    if any(pa.types.is_dictionary(chunk.type) and chunk.dictionary.null_count for chunk in column.chunks):
        column = column.cast(column.type.value_type)  # Arrow cannot unify dictionaries that have a null as a level
    encoded = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if encoded.num_chunks == 0:
        return LevelValues(np.zeros(0, dtype=np.int32), pa.array([], pa.large_string()))
    codes = np.concatenate([numpy_of(chunk.indices.fill_null(-1)) for chunk in encoded.chunks])
    levels = encoded.chunk(0).dictionary
    if len(levels) > codes.size:  # a few rows of a categorical column, which has all of its levels in each of them
        used = np.unique(codes[codes >= 0])
        codes = np.where(codes >= 0, np.searchsorted(used, codes), -1).astype(np.int32)
        levels = levels.take(arrow_of(used))
    names = without_blanks(_names(name, levels))
    if pa.types.is_large_string(column.type) and names.null_count == 0:
        return LevelValues(codes, names)  # Arrow numbers by first occurrence
    return _numbered_by_occurrence(codes, names)


def _names(name: str, levels: Any) -> Any:
    """Levels as strings; whole numbers without a decimal point, as in the same column without missing values."""
    kind = levels.type
    if pa.types.is_large_string(kind):
        return levels
    if pa.types.is_boolean(kind):
        return pc.if_else(levels, "True", "False").cast(pa.large_string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        levels = levels.cast(pa.timestamp(kind.unit, "UTC"))  # an instant is one level, whatever its zone
    if pa.types.is_float16(kind):
        return _names(name, levels.cast(pa.float32()))  # Arrow cannot compute with them
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(levels), pa.scalar(None, kind), levels)
        return pc.cast(pc.add(values, pa.scalar(0.0, kind)), pa.large_string())  # −0 becomes 0
    try:
        return pc.cast(levels, pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise TypeError(f"column {name!r} of type {kind} cannot be a category: drop or convert it") from error


def _numbered_by_occurrence(codes: NDArray[np.int32], names: Any) -> LevelValues:
    """Leave out levels that are missing or do not occur, merge equal ones, number the others by first occurrence."""
    distinct = names.dictionary_encode()  # equal names of different levels, such as 1 and 1.0
    to_name = np.append(numpy_of(distinct.indices.fill_null(-1)), -1).astype(np.int32)
    codes = to_name[codes]  # −1 is the last
    levels = distinct.dictionary
    first = np.full(len(levels) + 1, codes.size, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # NumPy keeps the last value of a repeated index
    order = np.argsort(first[:-1], kind="stable")
    order = order[first[order] < codes.size]
    if order.size == len(levels) and np.array_equal(order, np.arange(order.size)):
        return LevelValues(codes, levels)
    number = np.full(len(levels) + 1, -1, dtype=np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    return LevelValues(number[codes], levels.take(arrow_of(order)))


def number_values(name: str, column: Any) -> NDArray[np.float64]:
    """Numbers, booleans (0 and 1), durations (in seconds) or strings of numbers as float64; missing ones are NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type):
        parsed = parsed_numbers(column)
        if parsed is None:
            row, cell = first_that_does_not_fit(column, is_number)
            advice = f"Correct the cell, or fit with columns={{{name!r}: 'category'}}"
            raise RowError(f"column {name!r} is a column of numbers, but ", row, f" holds {cell}. {advice}")
        column = parsed
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        raise TypeError(f"column {name!r} of type {column.type} cannot be a number: pass columns={{{name!r}: 'date'}}")
    values = as_floats(column)
    _check_finite(name, values)
    return values


def warn_of_misprints(found: Sequence[tuple[str, str, Misprints]], *, kept: bool = True) -> None:
    """Warn once of cells that are no numbers, given names of columns and places of the first cells.

    They are missing values if ``kept``; otherwise they make the columns categories.
    """
    if not found:
        return
    cells = [
        f"column {name!r} has {shortened(misprints.first)} in {place} "
        f"({misprints.rows.size:,} of {misprints.cells:,} cells)"
        for name, place, misprints in found[:5]
    ]
    others = f"; so have {len(found) - 5} other columns" if len(found) > 5 else ""
    names = all(misprints.first.strip() == name for name, _, misprints in found)
    header = " Is the header repeated?" if names else ""
    problem, advice, topic = (
        ("cells that are not numbers are read as missing values", "if the column is no number", "misprints")
        if kept
        else ("columns that are almost all numbers are read as categories", "if that is what it is", "almost numbers")
    )
    warn_user(
        f"{problem}: {'; '.join(cells)}{others}.{header} Correct {'them' if kept else 'the cells'}, or pass "
        f"columns={{{found[0][0]!r}: 'category'}} {advice}",
        topic=topic,
    )


def as_floats(column: Any) -> NDArray[np.float64]:
    """Arrow numbers, booleans or durations as float64, with NaN for nulls."""
    if pa.types.is_duration(column.type):
        return as_floats(column.cast(pa.int64())) / _PER_SECOND[column.type.unit]
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if not pa.types.is_float64(column.type):
        column = pc.cast(column, pa.float64(), safe=False)
    values: NDArray[np.float64] = numpy_of(column)
    return values


_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def _check_finite(name: str, values: NDArray[np.float64]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise RowError(f"column {name!r} holds an infinite value ({values[row]}) in ", row, ": clip or drop it")


#: Bytes and rows of a piece of text.
_PIECE_BYTES, _PIECE_ROWS = 2**22, 2**16
#: Planes of Unicode with letters, digits and marks: the first four, and variation selectors.
_PLANES = (range(0x34000), range(0xE0100, 0xE01F0))


def text_values(name: str, column: Any) -> Any:
    """Strings as one array without nulls; a missing value is a text without words."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_large_string(column.type):
        raise TypeError(f"column {name!r} of type {column.type} cannot be text: it holds no strings")
    return pa.concat_arrays(column.chunks).fill_null("") if column.num_chunks else pa.array([], pa.large_string())


def lower_case_pieces(texts: Any) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Consecutive pieces of an array of strings, lower-cased: their bytes, and where each string begins.

    Strings with characters beyond ASCII are brought to Unicode's normal form C first: an accent is part of its letter
    whether it was typed as one character or two.
    """
    _, offsets = utf8(texts)
    first = 0
    while first < len(texts):
        last = int(np.searchsorted(offsets, offsets[first] + _PIECE_BYTES, side="right")) - 1
        last = min(max(last, first + 1), first + _PIECE_ROWS, len(texts))
        piece = texts.slice(first, last - first)
        if not pc.all(pc.string_is_ascii(piece)).as_py():
            piece = pc.utf8_normalize(piece, form="NFC")
        yield utf8(pc.utf8_lower(piece))
        first = last


@lru_cache(maxsize=1)
def characters_between_spaces() -> NDArray[np.uint8]:
    """0 for each Unicode character that is white space, 1 for others."""
    table = np.ones(0x110000, dtype=np.uint8)
    table[[code for code in range(0x3001) if chr(code).isspace()]] = 0
    return table


@lru_cache(maxsize=1)
def characters_in_words() -> NDArray[np.uint8]:
    """1 for each Unicode character that is a letter or a digit, 2 for marks that combine with them, 0 for others."""
    table = np.zeros(0x110000, dtype=np.uint8)
    places = {"L": 1, "N": 1, "M": 2}
    for plane in _PLANES:
        for code in plane:
            table[code] = places.get(unicodedata.category(chr(code))[0], 0)
    return table
