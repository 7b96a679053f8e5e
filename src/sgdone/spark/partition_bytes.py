"""A partition as rows of a data frame of Spark, which keeps it between rounds, and back."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone.cluster import Partition
from sgdone.cluster.messages import from_bytes, to_bytes
from sgdone.spark.vectors import VectorRows

#: Columns of the data frame: what the driver asks about partitions, and their bytes, in pieces.
SCHEMA = (
    "number long, piece long, rows long, width long, entries long, has_sparse boolean, is_sparse boolean, size long, "
    "data binary"
)
#: What the driver asks: Spark reads these columns without the bytes.
FACTS = ("number", "rows", "width", "entries", "has_sparse", "is_sparse", "size")
#: Bytes of a piece. Larger ones, and batches of several, are slower: the buffers of Spark grow by doubling, and they
#: hold less than 2 GB.
PIECE = 1 << 22


def packed(partition: Partition) -> bytes:
    """A partition as bytes, the same for the same rows.

    Examples
    --------
    >>> unpacked(packed(Partition(3, [[1.0], [2.0]], ["a", "b"]))).y
    array(['a', 'b'], dtype='<U1')
    """
    state = partition.__getstate__()
    return to_bytes(
        {
            "state": state | ({"X": _table_bytes(partition.X)} if partition.is_table else {}),
            "is_table": partition.is_table,
        }
    )


def unpacked(data: bytes) -> Partition:
    """The partition again."""
    parts = from_bytes(data)
    state = parts["state"]
    if parts["is_table"]:
        state["X"] = pa.ipc.open_stream(pa.py_buffer(state["X"])).read_all()
    made = Partition.__new__(Partition)
    made.__setstate__(state)
    return made


def state_rows(partition: Partition, vectors: VectorRows | None, piece: int = PIECE) -> Iterator[Any]:
    """Record batches that hold a partition, one a piece of its bytes."""
    data = pa.py_buffer(packed(partition))
    has_sparse = vectors is not None and vectors.has_sparse
    facts = {
        "number": pa.array([partition.number], pa.int64()),
        "rows": pa.array([partition.n_rows], pa.int64()),
        "width": pa.array([partition.X.shape[1]], pa.int64()),
        "entries": pa.array([0 if vectors is None else vectors.entries], pa.int64()),
        "has_sparse": pa.array([has_sparse]),
        "is_sparse": pa.array([has_sparse and not isinstance(partition.X, np.ndarray)]),
        "size": pa.array([data.size], pa.int64()),
    }
    for number, first in enumerate(range(0, data.size, piece)):
        own = {"piece": pa.array([number], pa.int64()), "data": one_binary(data[first : first + piece])}
        yield pa.RecordBatch.from_pydict(_in_order(facts | own))


def partition_from(batches: Iterable[Any]) -> Partition:
    """The partition that the rows of a data frame hold."""
    pieces = [
        (number.as_py(), data.as_buffer())
        for batch in batches
        for number, data in zip(batch.column("piece"), batch.column("data"), strict=True)
    ]
    pieces.sort(key=lambda pair: pair[0])
    return unpacked(b"".join(memoryview(data) for _, data in pieces))


def one_binary(data: Any) -> Any:
    """An Arrow array of one cell, whose bytes are not copied."""
    ends = pa.py_buffer(np.array([0, data.size], dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, data])


def _in_order(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: columns[name] for name in (column.split()[0] for column in SCHEMA.split(", "))}


def _table_bytes(table: Any) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)
