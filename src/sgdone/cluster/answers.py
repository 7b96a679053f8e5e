"""Answers of partitions to requests: pure functions of a `sgdone.sums.row_sum.RowSum` and a partition."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from sgdone.cluster.messages import from_bytes, request_from, to_bytes
from sgdone.cluster.partition import Partition
from sgdone.machine.threads import single_thread
from sgdone.readers.table import errors_located
from sgdone.sums.merging import TreeSum
from sgdone.sums.row_sum import message

#: A request, and its shared values: workers may cache parts that were sent before.
Parts = tuple[bytes, ...]

#: Largest number of shared values that are cached: the labels, the units, and the models of several searches.
_MOST_SHARED = 8


class PartitionError(ValueError):
    """Raised for a partition that cannot be used; it names the partition and, where known, the row."""


@final
@message
@dataclass(frozen=True)
class Answer:
    """Answer of one partition, or of a merged group of neighbours.

    Parameters
    ----------
    number : int
        Number of the partition, or of the first one of a group.
    value : object
        A sum; None if there are no rows.
    fault : str
        Why the partition cannot be used; empty if it can.
    count : int
        Number of partitions.
    size : int
        Bytes of the answers of these partitions; 0 for an answer of one partition.
    """

    number: int
    value: Any
    fault: str = ""
    count: int = 1
    size: int = 0


def partition_work(parts: Parts, partition: Partition) -> bytes:
    """Compute the answer of a partition to a request: a pure function of both.

    Bad rows are part of the answer, so that an engine does not compute the partition again in vain.
    """
    if partition.fault or partition.is_empty:
        return to_bytes(Answer(partition.number, None, partition.fault))
    request = request_from(parts[0], [_shared(part) for part in parts[1:]])
    try:
        with errors_located(partition.place), single_thread(), np.errstate(over="ignore", invalid="ignore"):
            return to_bytes(Answer(partition.number, request.of(partition)))
    except (TypeError, ValueError) as error:
        return to_bytes(Answer(partition.number, None, str(error)))


@lru_cache(maxsize=_MOST_SHARED)
def _shared(part: bytes) -> Any:
    """Decode a shared value, once for several partitions of this process and several rounds."""
    return from_bytes(part)


def merge_answers(answers: Sequence[bytes]) -> bytes:
    """The answers of neighbouring partitions as one, by the subtree of the sum that they are part of."""
    total, size = TreeSum(), 0
    found = [from_bytes(data) for data in answers]
    for data, answer in zip(answers, found, strict=True):
        size += answer.size or len(data)
    first = min(answer.number for answer in found)
    count = sum(answer.count for answer in found)
    failed = min((answer for answer in found if answer.fault), key=lambda answer: answer.number, default=None)
    if failed is not None:
        return to_bytes(Answer(failed.number, None, failed.fault, 1, size))
    try:
        for answer in found:
            total.add(answer.number - first, answer.value, answer.count)
        return to_bytes(Answer(first, total.value(), "", count, size))
    except ValueError as error:
        return to_bytes(Answer(first, None, str(error), count, size))
