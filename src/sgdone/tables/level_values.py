"""Columns of categories as a code for each row and the levels that occur."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.tables.arrow_arrays import arrow_of, numpy_of
from sgdone.tables.string_cells import without_blanks


@final
@dataclass(frozen=True)
class LevelValues:
    """A column of categories.

    Attributes
    ----------
    codes : int32 array of shape (n_rows,)
        Position of the row's level in ``levels``; −1 for a gap. Codes are numbered by first occurrence: two columns
        that divide the rows in the same way have the same codes.
    levels : pyarrow.LargeStringArray
        The levels that occur, each once.
    """

    codes: NDArray[np.int32]
    levels: Any

    @property
    def has_gaps(self) -> bool:
        """Whether a row has no level."""
        return bool(self.codes.size and self.codes.min() < 0)


def level_values(name: str, column: Any) -> LevelValues:
    """Strings, dictionaries, numbers, booleans or dates as levels; blank strings and NaN are gaps.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = level_values("c", pa.chunked_array([pa.array(["b", " ", "a", "b"], pa.large_string())]))
    >>> found.codes, found.levels.to_pylist()
    (array([ 0, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    if any(pa.types.is_dictionary(chunk.type) and chunk.dictionary.null_count for chunk in column.chunks):
        column = column.cast(column.type.value_type)  # Arrow cannot unify dictionaries that have a gap as a level
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
    """Levels as strings; whole numbers without a decimal point, as the same column without gaps would have them."""
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
    """Leave out levels that are gaps or do not occur, merge equal ones, and number the others by first occurrence."""
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
