"""Levels of categories as the bytes of an Arrow stream, and back from bytes that nobody has checked."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_SCHEMA = pa.schema([pa.field("level", pa.large_string(), nullable=False)])


def to_stream(levels: Any) -> NDArray[np.uint8]:
    """An array of strings as an Arrow IPC stream of one record batch, not compressed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([levels], schema=_SCHEMA))
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def from_stream(stream: NDArray[Any]) -> Any:
    """The array of strings; a stream that `to_stream` does not write is a ValueError.

    Examples
    --------
    >>> from_stream(to_stream(pa.array(["a", "é"], pa.large_string()))).to_pylist()
    ['a', 'é']
    """
    if not isinstance(stream, np.ndarray) or stream.dtype != np.uint8 or stream.ndim != 1:
        raise ValueError("levels are no stream of bytes")
    try:
        reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(stream.tobytes()))
        messages = list(itertools.islice(reader, 3))
        if [message.type for message in messages] != ["schema", "record batch"]:
            raise ValueError("levels are no stream of one record batch")
        schema, batch = messages
        if pa.ipc.read_schema(schema) != _SCHEMA:
            raise ValueError("levels are no column of strings")
        if _is_compressed(batch.metadata.to_pybytes()):
            raise ValueError("levels are compressed")  # a few bytes could become more than fit into memory
        made = pa.ipc.read_record_batch(batch, _SCHEMA)
        made.validate(full=True)
        levels = made.column(0)
        if levels.null_count or levels.offset:
            raise ValueError("levels have gaps")
        return pa.concat_arrays([levels])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"levels cannot be read: {error}") from error


def _is_compressed(message: bytes) -> bool:
    """Whether the buffers of a record batch are compressed: the fourth field of RecordBatch in Arrow's Message.fbs.

    A FlatBuffers table begins with the distance back to a list of 16-bit numbers: the size of that list, the size of
    the table, and where each field is in the table, 0 if it is absent.
    """

    def integer(place: int, size: int, signed: bool = False) -> int:
        if not 0 <= place <= len(message) - size:
            raise ValueError("levels have a header that cannot be read")
        return int.from_bytes(message[place : place + size], "little", signed=signed)

    def field(table: int, number: int) -> int:
        """Where a field of a table is; 0 if it is absent."""
        places = table - integer(table, 4, signed=True)
        at = 4 + 2 * number
        distance = integer(places + at, 2) if at < integer(places, 2) else 0
        return table + distance if distance else 0

    header = field(integer(0, 4), 2)  # the third field of Message
    if not header:
        raise ValueError("levels have a header that cannot be read")
    return field(header + integer(header, 4), 3) != 0
