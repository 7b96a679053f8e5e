"""The Spark engine: partitions kept on executors, and the tasks that answer requests there."""

import hashlib
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import Broadcast, SparkContext, StorageLevel, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from sgdone.cluster import Partition, PartitionError, encode_partition, merge_answers, partition_work
from sgdone.cluster.engine import FAN_IN, Engine
from sgdone.cluster.messages import Answer, Parts, from_bytes, to_bytes
from sgdone.spark.row_columns import RowColumns, VectorRows, as_storage, is_sparse, partition_of

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
    """A partition as bytes, the same for the same rows."""
    state = partition.__getstate__()
    if partition.is_table:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, partition.X.schema) as writer:
            writer.write_table(partition.X)
        state["X"] = np.frombuffer(sink.getvalue(), dtype=np.uint8)
    return to_bytes({"state": state, "is_table": partition.is_table})


def unpacked(data: bytes) -> Partition:
    """The partition again."""
    parts = from_bytes(data)
    state = parts["state"]
    if parts["is_table"]:
        state["X"] = pa.ipc.open_stream(pa.py_buffer(state["X"])).read_all()
    return Partition.of_state(state)


def state_rows(partition: Partition, vectors: VectorRows | None, piece: int = PIECE) -> Iterator[Any]:
    """Record batches that hold a partition, one a piece of its bytes."""
    data = pa.py_buffer(packed(partition))
    has_sparse = vectors is not None and vectors.has_sparse
    entries = 0 if vectors is None else vectors.entries
    sparse = has_sparse and not isinstance(partition.X, np.ndarray)
    names = [column.split()[0] for column in SCHEMA.split(", ")]
    for number, first in enumerate(range(0, data.size, piece)):
        numbers = partition.number, number, partition.n_rows, partition.X.shape[1], entries
        facts = [pa.array([value]) for value in (*numbers, has_sparse, sparse, data.size)]
        yield pa.RecordBatch.from_arrays([*facts, one_binary(data[first : first + piece])], names)


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


#: What a worker gets: bytes in its task, or a variable that it has from an earlier round.
Sent = bytes | Broadcast[bytes]

#: Bytes up to which a part is sent with the tasks.
_SMALL = 1 << 16


@final
class KeptBroadcasts:
    """Broadcast variables of the parts of the last request."""

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
    """The state of a partition to its answer; of one of more bytes than ``limit`` only the size is returned.

    ``dense`` is the storage of all partitions where they differ, None if they are as they should be.
    """

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        partition = partition_from(batches)
        if dense is not None and partition.n_rows and isinstance(partition.X, np.ndarray) != dense:
            partition = partition.changed(X=as_storage(partition.X, dense=dense))
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


_ROWS_OF_BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch"
#: Tasks of a stage among which the one that failed is looked for.
_MOST_TASKS = 1_000_000


def collected(frame: DataFrame) -> list[Row]:
    """The rows of a data frame; a job that fails is a `PartitionError` that names the partition and the cause."""
    context = frame.sparkSession.sparkContext
    tag = f"sgdone-{uuid.uuid4().hex}"
    context.addJobTag(tag)
    try:
        return frame.collect()
    except (PySparkException, Py4JJavaError) as error:
        raise _job_error(context, tag, error) from error
    finally:
        context.removeJobTag(tag)


@final
class SingleRowBatches:
    """While it is entered, Spark sends rows to Python one by one, in sessions that several threads may share.

    A batch of many large rows is slow, and above 2 GB it is more than Arrow can hold.
    """

    _lock = threading.Lock()
    #: Number of threads, and the setting before, by session.
    _entered: ClassVar[dict[Any, tuple[int, str | None]]] = {}

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def __enter__(self) -> None:
        conf = self._session.conf
        with self._lock:
            count, before = self._entered.get(self._session, (0, conf.get(_ROWS_OF_BATCHES)))
            conf.set(_ROWS_OF_BATCHES, "1")
            self._entered[self._session] = count + 1, before

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            count, before = self._entered.pop(self._session)
            if count > 1:
                self._entered[self._session] = count - 1, before
            else:
                self._session.conf.set(_ROWS_OF_BATCHES, str(before))


def _job_error(context: SparkContext, tag: str, error: Exception) -> PartitionError:
    text = str(error)
    module = re.search(r"ModuleNotFoundError: No module named '(\w+)", text)
    if module is not None and module.group(1) in ("sgdone", "numpy", "pyarrow", "pandas", "scipy", "numba"):
        return PartitionError(
            f"the Python workers of Spark cannot import {module.group(1)}: install sgdone[spark] on all executors. "
            f"They run {context.pythonExec!r}; the driver runs {sys.executable!r}. Set PYSPARK_PYTHON to a Python that "
            "has sgdone before the session starts"
        )
    return PartitionError(f"{_failed_task(context, tag, text)}: Spark could not compute it: {_cause(text)}")


def _failed_task(context: SparkContext, tag: str, text: str) -> str:
    """The partition that failed, by what Spark keeps of its tasks, or by the message; Spark has no public way."""
    stated = re.search(r"Task (\d+) in stage (\d+)\.", text)
    if stated is not None:
        return f"partition {stated.group(1)} of stage {stated.group(2)}"
    try:
        java: Any = context._jsc.sc()
        for job in sorted(java.statusTracker().getJobIdsForTag(tag), reverse=True):
            info = context.statusTracker().getJobInfo(job)
            for stage in sorted(info.stageIds, reverse=True) if info is not None else ():
                number = _failed_in_stage(java, stage)
                if number is not None:
                    return f"partition {number} of stage {stage}"
    except (Py4JError, PySparkException, TypeError):
        pass
    return "a partition"


def _failed_in_stage(java: Any, stage: int) -> int | None:
    try:
        tasks = java.statusStore().taskList(stage, 0, _MOST_TASKS)
    except Py4JError:  # a stage that was skipped
        return None
    found = [tasks.apply(k) for k in range(tasks.size())]
    return min((int(task.index()) for task in found if task.status() == "FAILED"), default=None)


def _cause(text: str) -> str:
    """The line of a message that says what happened: the last of a traceback of Python, or the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        start = max(k for k, line in enumerate(lines) if line.startswith("Traceback"))
        errors = [line for line in lines[start:] if re.match(r"[\w.]+(Error|Exception|Warning|Interrupt|Exit)\b", line)]
        if errors:
            return errors[-1]
    stated = re.search(r"most recent failure: .*?: (?:[\w.]+: )?(.+)", text)
    return stated.group(1) if stated is not None else (lines[0] if lines else "no message")


#: Bytes of answers that the driver collects in a round. Larger ones are merged by the workers before.
#: `spark.driver.maxResultSize` is 1 GB by default.
_COLLECTED = 1 << 28


@final
class SparkEngine(Engine):
    """The partitions of a data frame, converted once and kept in memory and on disk.

    Nothing is computed before the first request. Spark runs a task for each partition and computes lost ones again,
    with the same answers. ``most_collected``, bytes of answers that the driver collects in a round, changes no result.
    """

    def __init__(self, frame: DataFrame, columns: RowColumns, *, most_collected: int = _COLLECTED) -> None:
        self._frame, self._columns, self._most_collected = frame, columns, most_collected
        self._session: SparkSession = frame.sparkSession
        self._broadcasts = KeptBroadcasts(self._session.sparkContext)
        self._state: DataFrame | None = None
        #: Data frames that are no longer needed once a round has used their successors.
        self._outdated: list[DataFrame] = []
        self._encoder: Broadcast[bytes] | None = None
        self._n_partitions = 1
        self._dense: bool | None = None
        self._one_by_one = False
        #: Bytes of the largest answer so far, once answers are merged by the workers.
        self._largest = 0

    def ask(self, parts: Parts, *, in_order: bool = False) -> list[bytes]:
        """One job: the answers of all partitions, merged by the workers if they are too large for the driver."""
        state = self._started()
        sent = self._broadcasts.send(parts)
        limit = None if in_order else self._most_collected // self._n_partitions
        if in_order or not self._largest:
            rows = self._collected(state.mapInArrow(answering(sent, self._dense, limit), ANSWERS))
            self._largest = max((row["size"] for row in rows if row["data"] is None), default=0)
        if self._largest and not in_order:
            rows = self._collected(self._merged(state.mapInArrow(answering(sent, self._dense, None), ANSWERS)))
        for frame in self._outdated:
            frame.unpersist()
        self._outdated = []
        return [bytes(row["data"]) for row in rows]

    def encode(self, encoder: bytes) -> None:
        """Keep the encoded partitions instead of their tables."""
        state = self._started()
        self._encoder = self._session.sparkContext.broadcast(encoder)
        self._state = state.mapInArrow(encoding(self._encoder), SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
        self._outdated.append(state)

    def close(self) -> None:
        """Remove the partitions from Spark's memory and disks."""
        for frame in (*self._outdated, *([] if self._state is None else [self._state])):
            frame.unpersist()
        self._outdated, self._state = [], None
        self._broadcasts.send(())
        if self._encoder is not None:
            self._encoder.destroy()
            self._encoder = None

    def _started(self) -> DataFrame:
        """The data frame of all partitions, which are converted in the first call."""
        if self._state is None:
            rows = self._columns.selected(self._frame)
            self._state = rows.mapInArrow(reading(self._columns), SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
            try:
                self._learn(collected(self._state.where("piece = 0").select(*FACTS)))
            except BaseException:
                self.close()
                raise
        return self._state

    def _learn(self, facts: list[Row]) -> None:
        """Learn how many partitions there are, how large they are, and which storage they need."""
        self._n_partitions = max(1, len(facts))
        self._one_by_one = any(row["size"] > PIECE for row in facts)
        filled = [row for row in facts if row["rows"]]
        if not any(row["has_sparse"] for row in filled):
            return
        rows, entries = sum(row["rows"] for row in filled), sum(row["entries"] for row in filled)
        sparse = is_sparse(entries, rows, max(row["width"] for row in filled))
        if any(row["is_sparse"] != sparse for row in filled):
            self._dense = not sparse

    def _merged(self, answers: DataFrame) -> DataFrame:
        """Answers of neighbours as one, until the driver can collect them."""
        groups, width = self._n_partitions, 1
        while groups > 1 and groups * self._largest > self._most_collected:
            width *= FAN_IN
            groups = -(-groups // FAN_IN)
            answers = answers.groupBy(F.expr(f"number div {width}")).applyInArrow(merge_group, ANSWERS)
        return answers

    def _collected(self, frame: DataFrame) -> list[Row]:
        with SingleRowBatches(self._session) if self._one_by_one else nullcontext():
            return collected(frame)
