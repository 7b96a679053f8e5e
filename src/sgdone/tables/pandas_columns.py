"""Columns of pandas as Arrow arrays; object columns are checked for cells of several kinds."""

from typing import Any

import numpy as np
import pyarrow as pa

from sgdone.message_text import shortened
from sgdone.tables.string_cells import CELLS_PER_MISPRINT

#: What pandas calls the kinds of object columns that are one kind to us.
_ONE_KIND = {
    "string",
    "boolean",
    "integer",
    "floating",
    "mixed-integer-float",
    "decimal",
    "date",
    "datetime",
    "datetime64",
    "time",
    "timedelta",
    "timedelta64",
    "empty",
}


def from_pandas(name: str, series: Any) -> Any:
    """One column as an Arrow array; missing values are nulls, or NaN among floats.

    Examples
    --------
    >>> import pandas as pd
    >>> from_pandas("c", pd.Series(["a", None, "b"], dtype=object)).to_pylist()
    ['a', None, 'b']
    >>> from_pandas("c", pd.Series([1, "two"], dtype=object))
    Traceback (most recent call last):
        ...
    TypeError: column 'c' holds cells of different kinds: 1 (int) in row 0 and 'two' (str) in row 1. Convert the \
column to one kind, for example with frame['c'].astype(str)
    """
    kind = series.dtype
    if isinstance(kind, np.dtype):
        if kind.kind == "O":
            return _from_objects(name, series.to_numpy())
        if kind.kind == "c":
            raise TypeError(f"column {name!r} holds complex numbers: give real and imaginary parts as two columns")
        if kind.kind in "fiub":
            values = series.to_numpy()
            return pa.array(values.astype(np.float64) if kind.itemsize in (2, 16) and kind.kind == "f" else values)
    if str(kind).startswith("Sparse"):
        return pa.array(np.asarray(series))
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TypeError(f"column {name!r} of type {kind} cannot be read: convert or drop it ({error})") from error


def _from_objects(name: str, cells: Any) -> Any:
    from pandas.api.types import infer_dtype

    if infer_dtype(cells, skipna=True) not in _ONE_KIND:
        cells = _numbers_as_strings(cells)
        _refuse_mixed(name, cells)
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        _refuse_mixed(name, cells)
        raise TypeError(f"column {name!r} cannot be read: {error}") from error


def _numbers_as_strings(cells: Any) -> Any:
    """Cells that are numbers, but for few strings, all as strings: what they are is decided as for a file."""
    from pandas import isna

    kinds = [None if np.ndim(cell) == 0 and isna(cell) else _kind(cell) or "" for cell in cells.tolist()]
    n_strings, n_numbers = kinds.count("string"), kinds.count("number")
    if n_strings + n_numbers + kinds.count(None) < len(kinds) or CELLS_PER_MISPRINT * n_strings > n_strings + n_numbers:
        return cells
    texts = [None if kind is None else str(cell) for kind, cell in zip(kinds, cells.tolist(), strict=True)]
    return np.array(texts, dtype=object)


def _refuse_mixed(name: str, cells: Any) -> None:
    """Raise for the first cell whose kind is not that of the first one; return if there is none."""
    from pandas import isna

    first: tuple[int, str] | None = None
    for row, cell in enumerate(cells.tolist()):
        if np.ndim(cell) == 0 and isna(cell):
            continue
        kind = _kind(cell)
        if kind is None:
            raise TypeError(
                f"row {row} of column {name!r} holds {shortened(cell)} ({type(cell).__name__}), which is neither "
                f"number, string nor date: convert or drop the column"
            )
        if first is None:
            first = row, kind
        elif kind != first[1]:
            before = cells[first[0]]
            raise TypeError(
                f"column {name!r} holds cells of different kinds: {shortened(before)} ({type(before).__name__}) in row "
                f"{first[0]} and {shortened(cell)} ({type(cell).__name__}) in row {row}. Convert the column to one "
                f"kind, for example with frame[{name!r}].astype(str)"
            )


def _kind(cell: Any) -> str | None:
    import datetime
    from decimal import Decimal

    kinds: tuple[tuple[str, Any], ...] = (
        ("string", str),
        ("boolean", (bool, np.bool_)),
        ("number", (int, float, np.integer, np.floating, Decimal)),
        ("datetime", (datetime.datetime, np.datetime64)),
        ("date", datetime.date),
        ("time", datetime.time),
        ("duration", (datetime.timedelta, np.timedelta64)),
    )
    return next((kind for kind, types in kinds if isinstance(cell, types)), None)
