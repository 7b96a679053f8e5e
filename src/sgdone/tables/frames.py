"""Any data frame as an Arrow table with few types."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone.message_text import listed, shortened
from sgdone.tables.pandas_columns import from_pandas


def arrow_table(frame: Any) -> Any:
    """Convert a data frame to a :class:`pyarrow.Table`.

    Takes pandas (NumPy, nullable, Arrow and categorical types; object columns of one kind), polars, Arrow tables and
    record batches, and whatever else has ``__arrow_c_stream__`` (DuckDB, ibis). An index is ignored. Strings become
    ``large_string``, and dictionaries ``dictionary<int32, …>``, whatever library they are from.

    Raises
    ------
    TypeError
        For what is not a data frame, for names of columns that are not strings, and for an object column with cells of
        more than one kind.
    ValueError
        For a frame without columns, and for two columns of the same name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [str(kind) for kind in arrow_table(pa.table({"x": [1.5, None], "c": ["a", "b"]})).schema.types]
    ['double', 'large_string']
    """
    names, columns = _columns(frame)
    _check_names(names)
    return pa.table([_with_few_types(column) for column in columns], names=names)


def is_frame(X: Any) -> bool:
    """Whether :func:`arrow_table` takes X.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> is_frame(pa.table({"x": [1]})), is_frame(np.zeros((2, 2)))
    (True, False)
    """
    return _is_pandas(X) or isinstance(X, (pa.Table, pa.RecordBatch)) or _has_columns_and_stream(X)


def _columns(frame: Any) -> tuple[list[Any], list[Any]]:
    if _is_pandas(frame):
        names = list(frame.columns)
        _check_names(names)
        return names, [from_pandas(name, series) for name, series in frame.items()]
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


def _has_columns_and_stream(frame: Any) -> bool:
    """Whether an object offers its data as a stream of Arrow batches and has names of columns (a series has none)."""
    return hasattr(frame, "__arrow_c_stream__") and (hasattr(frame, "columns") or hasattr(frame, "schema"))


def _described(thing: Any) -> str:
    kind = f"{type(thing).__module__.split('.')[0]}.{type(thing).__name__}"
    if hasattr(thing, "collect"):
        return f"{kind}: call .collect() first"
    if hasattr(thing, "to_frame"):
        return f"{kind}, a single column: call .to_frame() first"
    if isinstance(thing, np.ndarray):
        return f"{kind}: arrays of numbers need no encoder, and others need names, as in pandas.DataFrame(X, columns=…)"
    return kind


def _check_names(names: Sequence[Any]) -> None:
    if not names:
        raise ValueError("the data frame has no columns")
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(
                f"names of columns must be strings; column {number} is named {shortened(name)} "
                f"({type(name).__name__}). Rename them, for example with frame.columns = frame.columns.map(str)"
            )
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"several columns have the same name: {listed(twice)}. Rename or drop all but one of each")


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
