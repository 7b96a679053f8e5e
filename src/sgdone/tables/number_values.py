"""Columns of numbers as float64 arrays, with NaN for gaps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.message_text import RowError, shortened
from sgdone.tables.arrow_arrays import numpy_of
from sgdone.tables.string_cells import Misprints, first_that_does_not_fit, is_number, parsed_numbers
from sgdone.tables.warn_user import warn_user


def number_values(name: str, column: Any) -> NDArray[np.float64]:
    """Numbers, booleans (0 and 1), durations (in seconds) or strings of numbers as float64, with NaN for gaps.

    Examples
    --------
    >>> import pyarrow as pa
    >>> number_values("x", pa.chunked_array([pa.array(["1", "?", " 2.5"], pa.large_string())]))
    array([1. , nan, 2.5])
    >>> number_values("x", pa.chunked_array([pa.array(["1", "one"], pa.large_string())]))
    Traceback (most recent call last):
        ...
    sgdone.message_text.RowError: column 'x' is a column of numbers, but row 1 holds 'one'. Correct the cell, or fit \
with columns={'x': 'category'}
    """
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
        f"column {name!r} has {shortened(misprints.first)} in {place} ({misprints.share})"
        for name, place, misprints in found[:5]
    ]
    others = f"; so have {len(found) - 5} other columns" if len(found) > 5 else ""
    names = all(misprints.first.strip() == name for name, _, misprints in found)
    header = " Is the header repeated?" if names else ""
    if kept:
        warn_user(
            f"cells that are not numbers are read as missing values: {'; '.join(cells)}{others}.{header} Correct them, "
            f"or pass columns={{{found[0][0]!r}: 'category'}} if the column is no number",
            topic="misprints",
        )
    else:
        warn_user(
            f"columns that are almost all numbers are read as categories: {'; '.join(cells)}{others}.{header} Correct "
            f"the cells, or pass columns={{{found[0][0]!r}: 'category'}} if that is what it is",
            topic="almost numbers",
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
