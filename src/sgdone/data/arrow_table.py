"""Conversion of an Arrow table to a feature matrix and a label array."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.data.table import DataError, ReadOptions, Table, all_finite, reads_as_number, shortened

#: Values copied from columns to rows at a time, so that they fit in a core's cache.
_PIECE = 2**17
#: Texts converted to Python at a time, in search of one that is not a number.
_TEXTS = 2**14

#: Maps a 0-based row number to its place in the file: "line 18" or "row 17".
Place = Callable[[int], str]


def assemble(table: Any, features: list[str], label: str | None, options: ReadOptions, place: Place) -> Table:
    """Build a :class:`Table` from the columns of an Arrow table; ``place`` locates a row in the file."""
    if table.num_rows == 0:
        raise options.error("has column names but no rows")
    for name in features:
        _check_numeric(table.column(name), name, options, place)
    labels = None if label is None else _labels(table.column(label), label, options, place)
    return Table(_matrix(table.select(features), options, place), labels, features, label, options.path)


def _matrix(table: Any, options: ReadOptions, place: Place) -> NDArray[Any]:
    single = all(pa.types.is_float32(kind) for kind in table.schema.types)
    shape = (table.num_rows, table.num_columns)
    X: NDArray[Any] = np.empty(shape, dtype=np.float32 if single else np.float64)
    start = 0
    for batch in table.to_batches(max_chunksize=max(64, _PIECE // table.num_columns)):
        rows = X[start : start + batch.num_rows]
        for j, column in enumerate(batch.columns):
            rows[:, j] = _floats(column).to_numpy(zero_copy_only=False)
        if not options.allow_missing and not all_finite(rows):
            for j, name in enumerate(table.column_names):
                _check_finite(rows[:, j], start, name, options, place)
        start += batch.num_rows
    return X


def _labels(column: Any, name: str, options: ReadOptions, place: Place) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise options.error("missing label: drop the row", place=f"{place(row)}, column {name!r}")
    if _is_text(column.type):
        return _text_labels(column, name, options, place)
    if pa.types.is_decimal(column.type) and not _exact_as_floats(column):
        return _text_labels(column.cast(pa.string()), name, options, place)
    if not _is_numeric(column.type):
        advice = "text must be UTF-8" if pa.types.is_binary(column.type) else "write classes as text or numbers"
        raise options.error(
            f"the label {_shown(column[0])} ({column.type}) is neither a class nor a number: {advice}",
            place=f"{place(0)}, column {name!r}",
        )
    values: NDArray[Any] = _floats(column).to_numpy()
    _check_finite(values, 0, name, options, place)
    return values


def _text_labels(column: Any, name: str, options: ReadOptions, place: Place) -> NDArray[Any]:
    encoded = pa.concat_arrays(column.cast(pa.large_string()).chunks).dictionary_encode()
    classes = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy()
    for code, text in enumerate(classes):
        if text.strip() and "\n" not in text:
            continue
        problem = 'the label contains a line break: is a quote (") not closed?'
        row = int(np.argmax(codes == code))
        raise options.error(
            problem if text.strip() else "missing label: drop the row",
            place=f"{place(row)}, column {name!r}",
        )
    result: NDArray[Any] = np.array(classes, dtype=np.str_)[codes]
    return result


def _check_numeric(column: Any, name: str, options: ReadOptions, place: Place) -> None:
    if not (_is_numeric(column.type) or pa.types.is_null(column.type)):
        raise _not_a_number(column, name, options, place)
    if column.null_count and not options.allow_missing:
        row = pc.index(column.is_null(), True).as_py()
        raise _missing(row, name, column.null_count, options, place)


def _check_finite(values: NDArray[Any], first: int, name: str, options: ReadOptions, place: Place) -> None:
    if all_finite(values):
        return
    at = int(np.argmin(np.isfinite(values)))
    if math.isnan(values[at]):
        raise _missing(first + at, name, int(np.isnan(values).sum()), options, place)
    where = f"{place(first + at)}, column {name!r}"
    raise options.error(f"infinite value ({values[at]}): clip or drop it", place=where)


def _not_a_number(column: Any, name: str, options: ReadOptions, place: Place) -> DataError:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count == len(column):
        return _missing(0, name, len(column), options, place)
    row = _first_not_a_number(column)
    if not _is_text(column.type):
        found = f"{_shown(column[row])} ({column.type}) is"
    else:
        value = column[row].as_py()
        if not value.strip():
            return _missing(row, name, 1, options, place)
        found = f"{shortened(value)!r} is text,"
    return options.error(
        f"{found} not a number: correct it, encode the column as numbers (for example one-hot) or drop the column",
        place=f"{place(row)}, column {name!r}",
    )


def _first_not_a_number(column: Any) -> int:
    """The first row with a text that is not a number, or else the first row with a value."""
    start = 0
    for chunk in column.chunks if _is_text(column.type) else []:
        for piece in (chunk.slice(first, _TEXTS) for first in range(0, len(chunk), _TEXTS)):
            for row, value in enumerate(piece.to_pylist(), start):
                if value is not None and not reads_as_number(value):
                    return row
            start += len(piece)
    return int(pc.index(column.is_valid(), True).as_py())


def _shown(value: Any) -> str:
    """A value for a message; times and dates in a file may be ones that Python does not have."""
    try:
        return shortened(str(value.as_py()))
    except (ArithmeticError, ImportError, LookupError, TypeError, ValueError):
        return "a value"


def _missing(row: int, name: str, count: int, options: ReadOptions, place: Place) -> DataError:
    others = f" ({count:,} in this column)" if count > 1 else ""
    return options.error(f"missing value{others}: impute or drop it", place=f"{place(row)}, column {name!r}")


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    # Compare names: older versions of pyarrow have no test for string_view.
    return str(kind) in {"string", "large_string", "string_view"}


def _floats(column: Any) -> Any:
    """Cast decimals to float64, which NumPy would convert to Python objects; return other columns unchanged."""
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def _exact_as_floats(column: Any) -> bool:
    """Whether decimals that are whole numbers are the same as floats; others are measurements, not classes."""
    distinct = column.unique().to_pylist()
    whole = all(value == value.to_integral_value() for value in distinct)
    return not whole or all(int(value) == int(float(value)) for value in distinct)
