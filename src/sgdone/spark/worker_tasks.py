"""Tasks of the Python workers of Spark, which mapInArrow and applyInArrow call, and the requests sent to them."""

import copy
import hashlib
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
import pyarrow as pa
from pyspark import Broadcast, SparkContext, TaskContext

from sgdone.cluster import Partition, encode_partition, merge_answers, partition_work
from sgdone.cluster.messages import Answer, Parts, to_bytes
from sgdone.spark.partition_bytes import one_binary, partition_from, state_rows
from sgdone.spark.row_columns import RowColumns, partition_of
from sgdone.spark.vectors import as_storage

#: What a worker gets: bytes in its task, or a variable that it has from an earlier round.
Sent = bytes | Broadcast[bytes]

#: Bytes up to which a part is sent with the tasks.
_SMALL = 1 << 16


@final
class KeptBroadcasts:
    """Broadcast variables of the parts of the last request.

    Parameters
    ----------
    context : SparkContext
        Sends them.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._kept: dict[bytes, Broadcast[bytes]] = {}

    def send(self, parts: Parts) -> tuple[Sent, ...]:
        """Parts as the workers of this round get them; parts of earlier rounds that are not among them are dropped."""
        large = {hashlib.sha256(part).digest(): part for part in parts if len(part) > _SMALL}
        for digest in self._kept.keys() - large.keys():
            self._kept.pop(digest).destroy()
        for digest in large.keys() - self._kept.keys():
            self._kept[digest] = self._context.broadcast(large[digest])
        return tuple(part if len(part) <= _SMALL else self._kept[hashlib.sha256(part).digest()] for part in parts)

    def close(self) -> None:
        """Drop all of them."""
        self.send(())


def received(sent: tuple[Sent, ...]) -> Parts:
    """The parts that were sent, at a worker."""
    return tuple(part if isinstance(part, bytes) else part.value for part in sent)


#: Columns of answers; the bytes are null if they are too many to be collected.
ANSWERS = "number long, size long, data binary"

OverBatches = Callable[[Iterator[Any]], Iterator[Any]]


def reading(columns: RowColumns) -> OverBatches:
    """Rows of a data frame to the state of a partition."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        task = TaskContext.get()
        assert task is not None
        yield from state_rows(*partition_of(task.partitionId(), batches, columns))

    return read


def encoding(encoder: Sent) -> OverBatches:
    """The state of a partition with the features of an encoder instead of its table."""

    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        partition = partition_from(batches)
        if partition.n_rows:
            partition = encode_partition(received((encoder,))[0], partition)
        yield from state_rows(partition, None)

    return encode


def answering(sent: tuple[Sent, ...], dense: bool | None, limit: int | None) -> OverBatches:
    """The state of a partition to its answer.

    Parameters
    ----------
    sent : tuple
        The request, and what is shared.
    dense : bool or None
        Storage of all partitions, where they differ; None if they are as they should be.
    limit : int or None
        Bytes above which an answer is left out, and only its size is returned.
    """

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        partition = _stored(partition_from(batches), dense)
        try:
            data = partition_work(received(sent), partition)
        except Exception as error:  # whatever goes wrong is part of the answer, and not tried again in vain
            data = to_bytes(Answer(partition.number, None, f"{type(error).__name__}: {error}"))
        yield _answer(partition.number, len(data), None if limit is not None and len(data) > limit else data)

    return answer


def merge_group(table: Any) -> Any:
    """The answers of neighbours as one."""
    data = merge_answers([cell.as_py() for cell in table.column("data")])
    first = min(table.column("number").to_pylist())
    return pa.Table.from_batches([_answer(first, len(data), data)])


def _answer(number: int, size: int, data: bytes | None) -> Any:
    cells = pa.nulls(1, pa.binary()) if data is None else one_binary(pa.py_buffer(data))
    arrays = [pa.array([number], pa.int64()), pa.array([size], pa.int64()), cells]
    return pa.RecordBatch.from_arrays(arrays, ["number", "size", "data"])


def _stored(partition: Partition, dense: bool | None) -> Partition:
    """The partition with its rows in the storage of all."""
    if dense is None or partition.n_rows == 0 or isinstance(partition.X, np.ndarray) == dense:
        return partition
    made = copy.copy(partition)
    made.X = as_storage(partition.X, dense=dense)
    return made
