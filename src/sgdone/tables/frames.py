"""Any data frame as an Arrow table with few types."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone.message_text import listed, shortened
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
    """One column as an Arrow array; missing values are nulls, or NaN among floats."""
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


def arrow_table(frame: Any) -> Any:
    """Convert a data frame to a :class:`pyarrow.Table`.

    Takes pandas (NumPy, nullable, Arrow and categorical types; object columns of one kind), polars, Arrow tables and
    record batches, and whatever else has ``__arrow_c_stream__`` (DuckDB, ibis). An index is ignored. Strings become
    ``large_string``, and dictionaries ``dictionary<int32, …>``, whatever library they are from. Names of columns that
    are not strings become strings, by :func:`names_of_columns`.

    Raises
    ------
    TypeError
        For what is not a data frame, and for an object column with cells of more than one kind.
    ValueError
        For a frame without columns, and for two columns of the same name.
    """
    names, columns = _columns(frame)
    if not names:
        raise ValueError("the data frame has no columns")
    _check_distinct(names)
    return pa.table([_with_few_types(column) for column in columns], names=names)


def is_frame(X: Any) -> bool:
    """Whether :func:`arrow_table` takes X."""
    # A series offers a stream too, but has no names of columns.
    streams = hasattr(X, "__arrow_c_stream__") and (hasattr(X, "columns") or hasattr(X, "schema"))
    return _is_pandas(X) or isinstance(X, (pa.Table, pa.RecordBatch)) or streams


def _columns(frame: Any) -> tuple[list[Any], list[Any]]:
    if _is_pandas(frame):
        names = names_of_columns(frame)
        return names, [from_pandas(name, series) for name, (_, series) in zip(names, frame.items(), strict=True)]
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    elif not isinstance(frame, pa.Table):
        if not is_frame(frame):
            raise TypeError(f"expected a data frame (pandas, polars or Arrow); got {_described(frame)}")
        frame = _with_narrow_integers(frame)
        frame = frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)
    return list(frame.column_names), list(frame.columns)


def _with_narrow_integers(frame: Any) -> Any:
    """A polars frame with float64 in place of integers of 128 bits, which Arrow does not have."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(frame, polars.DataFrame):
        return frame
    wide = [name for name, kind in frame.schema.items() if str(kind) in ("Int128", "UInt128")]
    return frame.cast(dict.fromkeys(wide, polars.Float64)) if wide else frame


def _is_pandas(frame: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _described(thing: Any) -> str:
    kind = f"{type(thing).__module__.split('.')[0]}.{type(thing).__name__}"
    if hasattr(thing, "collect"):
        return f"{kind}: call .collect() first"
    if hasattr(thing, "to_frame"):
        return f"{kind}, a single column: call .to_frame() first"
    if isinstance(thing, np.ndarray):
        return f"{kind}: arrays of numbers need no encoder, and others need names, as in pandas.DataFrame(X, columns=…)"
    return kind


def names_of_columns(frame: Any) -> list[str]:
    """Names of the columns of a frame of pandas as strings, by which columns are matched: 5 is "5".

    Examples
    --------
    >>> import pandas as pd
    >>> names_of_columns(pd.DataFrame([[1, 2, 3]], columns=["age", 5, ("a", 1)]))
    ['age', '5', "('a', 1)"]
    """
    names = list(map(column_name, frame.columns))
    _check_distinct(names, list(frame.columns))
    return names


def column_name(name: Any) -> str:
    """The name of a column as a string."""
    return name if isinstance(name, str) else str(_plain_name(name))


def _plain_name(name: Any) -> Any:
    """The name without types of NumPy; 5.0 is 5, which pandas also takes for the same name."""
    if isinstance(name, tuple):
        return tuple(map(_plain_name, name))
    name = name.item() if isinstance(name, np.generic) else name
    return int(name) if isinstance(name, float) and name.is_integer() else name


def _check_distinct(names: Sequence[str], given: Sequence[Any] | None = None) -> None:
    """Raise if a name occurs twice; ``given`` are the names before they became strings."""
    if len(set(names)) == len(names):
        return
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    kinds = sorted({type(own).__name__ for name, own in zip(names, given or (), strict=False) if name == twice[0]})
    types = f" ({shortened(twice[0])} as {' and as '.join(kinds)})" if len(kinds) > 1 else ""
    raise ValueError(f"several columns have the same name: {listed(twice)}{types}. Rename or drop all but one of each")


def _with_few_types(column: Any) -> Any:
    """The column with strings as large_string, dictionaries with int32 indices, and storage instead of extensions."""
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], type=column.type.storage_type)
    if pa.types.is_run_end_encoded(column.type):
        import pyarrow.compute as pc

        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        values = column.type.value_type
        wanted = pa.dictionary(pa.int32(), pa.large_string() if is_string(values) else values)
        return column if column.type == wanted else _recoded(column, wanted)
    return column.cast(pa.large_string()) if is_string(column.type) else column


def _recoded(column: Any, wanted: Any) -> Any:
    """Dictionary chunks with other index and value types; Arrow's own cast does not know all of them."""
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary.cast(wanted.value_type))
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, type=wanted)


def is_string(kind: Any) -> bool:
    """Whether an Arrow type is one of strings."""
    # Compare names: older versions of pyarrow have no test for string_view.
    return str(kind) in {"string", "large_string", "string_view"}
