"""Partitions of a data frame of Spark, kept by Spark between the rounds of a fit."""

import re
import sys
import threading
import uuid
from contextlib import nullcontext
from typing import Any, ClassVar, Self, final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import Broadcast, SparkContext, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from sgdone.cluster import PartitionError
from sgdone.cluster.engine import FAN_IN, Engine
from sgdone.cluster.messages import Parts
from sgdone.spark.partition_bytes import FACTS, PIECE, SCHEMA
from sgdone.spark.row_columns import RowColumns
from sgdone.spark.vectors import is_sparse
from sgdone.spark.worker_tasks import ANSWERS, KeptBroadcasts, answering, encoding, merge_group, reading

_ROWS_OF_BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
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
class OneRowABatch:
    """While it is entered, Spark sends rows to Python one by one, in sessions that several threads may share.

    A batch of many large rows is slow, and above 2 GB it is more than Arrow can hold.

    Parameters
    ----------
    session : SparkSession
        Its setting is what it was before when the last thread leaves.
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
    module = _NO_MODULE.search(text)
    if module is not None and module.group(1) in ("sgdone", "numpy", "pyarrow", "pandas", "scipy", "numba"):
        return PartitionError(
            f"the Python workers of Spark cannot import {module.group(1)}: install sgdone[spark] on all executors. "
            f"They run {context.pythonExec!r}; the driver runs {sys.executable!r}. Set PYSPARK_PYTHON to a Python that "
            "has sgdone before the session starts"
        )
    place, cause = _failed_task(context, tag, text), _cause(text)
    return PartitionError(f"{place}: Spark could not compute it: {cause}")


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
    with the same answers.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    columns : RowColumns
        Which of its columns are features, labels and weights.
    most_collected : int, optional
        Bytes of answers that the driver collects in a round. It never changes a result.
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

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
        self._broadcasts.close()
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
        with OneRowABatch(self._session) if self._one_by_one else nullcontext():
            return collected(frame)
