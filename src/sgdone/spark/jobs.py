"""Jobs of Spark: collect the rows of a data frame, or say which partition failed and why."""

import re
import sys
import threading
import uuid
from typing import Any, ClassVar, final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from sgdone.cluster import PartitionError

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
