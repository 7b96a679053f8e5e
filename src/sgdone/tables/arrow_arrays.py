"""Arrow arrays as NumPy arrays and back, without pandas, which pyarrow imports for its own conversions."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numpy_of(column: Any) -> NDArray[Any]:
    """The values of an Arrow array, as its ``to_numpy(zero_copy_only=False)``; those of a chunked array are copied.

    Examples
    --------
    >>> numpy_of(pa.chunked_array([[1, 2], [3]])), numpy_of(pa.array([True, False]))
    (array([1, 2, 3]), array([ True, False]))
    """
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
    """An Arrow array of integers or floats, which shares their memory if it can.

    Examples
    --------
    >>> arrow_of(np.array([1, 2])).to_pylist()
    [1, 2]
    """
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, pa.py_buffer(values)])
