"""Rounds: a request to all partitions, an answer from each, and their sum in a fixed tree."""

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sgdone.cluster.messages import from_bytes, message, to_bytes
from sgdone.cluster.partition import Partition
from sgdone.data.threads import single_thread

#: A request, and what several rounds share: an engine may keep parts at its workers that it has sent before.
Parts = tuple[bytes, ...]
#: Sends a request to all partitions, and returns their answers in any order. What an engine provides.
RunRound = Callable[[Parts], Iterable[bytes]]


class PartitionError(ValueError):
    """Raised for a partition that cannot be used; it names the partition and, where known, the row."""


class Request(ABC):
    """What a partition is asked for in a round."""

    @abstractmethod
    def work(self, partition: Partition, *shared: Any) -> Any:
        """A sum over the rows of a partition, with a method `merge`; ``shared`` are the other parts of the request."""


@final
@message
@dataclass(frozen=True)
class Answer:
    """What a partition answers: a sum, None if it has no rows, or why it cannot be used."""

    number: int
    value: Any
    fault: str = ""


def partition_work(parts: Parts, partition: Partition) -> bytes:
    """Compute the answer of a partition to a request: a pure function of both.

    Bad rows are part of the answer, so that an engine does not compute the partition again in vain.
    """
    if partition.is_empty:
        return to_bytes(Answer(partition.number, None))
    request, *shared = map(from_bytes, parts)
    try:
        with single_thread(), np.errstate(over="ignore", invalid="ignore"):
            return to_bytes(Answer(partition.number, request.work(partition, *shared)))
    except ValueError as error:
        return to_bytes(Answer(partition.number, None, str(error)))


def run_here(partitions: Iterable[Partition]) -> RunRound:
    """Rounds over partitions in this process, one after the other: the reference for engines."""
    kept = list(partitions)
    return lambda parts: (partition_work(parts, partition) for partition in kept)


@final
@dataclass(frozen=True)
class RoundRecord:
    """What a round cost.

    Parameters
    ----------
    request : str
        Name of the request.
    bytes_sent : int
        Bytes of all parts of the request, times the number of partitions.
    bytes_new : int
        The same without parts that an earlier round has sent: what an engine sends that keeps them.
    bytes_received : int
        Bytes of all answers.
    seconds : float
        Time from the request to the sum.
    """

    request: str
    bytes_sent: int
    bytes_new: int
    bytes_received: int
    seconds: float


@final
class Rounds:
    """Sends requests, and adds up the answers. It counts rounds and bytes.

    Parameters
    ----------
    run_round : callable
        Sends the parts of a request to all partitions and returns their answers as bytes, in any order.
    """

    def __init__(self, run_round: RunRound) -> None:
        self._run_round = run_round
        self._n_partitions: int | None = None
        #: What was shared last, with its bytes, and digests of the parts that were sent.
        self._packed: dict[int, tuple[Any, bytes]] = {}
        self._sent: set[bytes] = set()
        self.records: list[RoundRecord] = []

    def ask(self, request: Request, *shared: Any) -> Any:
        """The sum of the answers of all partitions that have rows; None if there is none.

        ``shared`` are values that do not change from one round to the next.
        """
        began = time.perf_counter()
        parts = to_bytes(request), *self._bytes_of(shared)
        received, total = 0, TreeSum()
        faults: dict[int, str] = {}
        for answered in self._run_round(parts):
            received += len(answered)
            answer: Answer = from_bytes(answered)
            if answer.fault:
                faults[answer.number] = answer.fault
            total.add(answer.number, answer.value)
        self._check_numbers(total.numbers)
        if faults:
            first = min(faults)
            raise PartitionError(f"partition {first}: {faults[first]}")
        count, sent, unsent = len(total.numbers), sum(map(len, parts)), self._new_bytes(parts)
        seconds = time.perf_counter() - began
        self.records.append(RoundRecord(type(request).__name__, sent * count, unsent * count, received, seconds))
        return total.value()

    def _bytes_of(self, shared: tuple[Any, ...]) -> list[bytes]:
        """Shared values as bytes, which are made once for the same objects."""
        known = self._packed
        self._packed = {id(value): known.get(id(value)) or (value, to_bytes(value)) for value in shared}
        return [self._packed[id(value)][1] for value in shared]

    def _new_bytes(self, parts: Parts) -> int:
        """Bytes of the parts that no earlier round has sent."""
        digests = {hashlib.sha256(part).digest(): len(part) for part in parts}
        found = sum(size for digest, size in digests.items() if digest not in self._sent)
        self._sent.update(digests)
        return found

    def _check_numbers(self, numbers: set[int]) -> None:
        """Raise if a partition is missing."""
        if self._n_partitions is None:
            self._n_partitions = len(numbers)
        if not numbers:
            raise ValueError("there are no partitions: nothing to fit")
        missing = set(range(self._n_partitions)) ^ numbers
        if missing:
            raise PartitionError(
                f"partition {min(missing)}: expected one answer from each of the partitions 0 to "
                f"{self._n_partitions - 1}, but the engine returned those of {len(numbers)} partitions"
            )


@final
class TreeSum:
    """Sums of neighbours, then of neighbouring pairs, and so on, by the numbers of the parts.

    It is the tree of `sgdone.sums.merging.merged`, whatever the order in which parts arrive. Parts without rows are
    None. A sum is made as soon as both its parts are there, so that few of them are kept.

    Examples
    --------
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> total = TreeSum()
    >>> for number in (3, 0, 4, 2, 1):
    ...     total.add(number, Text("abcde"[number]))
    >>> str(total.value())
    '(((ab)(cd))e)'
    """

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        #: Sums that wait for their neighbours, by the logarithm of their length and their place.
        self._waiting: dict[tuple[int, int], Any] = {}

    def add(self, number: int, part: Any) -> None:
        """Add the part with this number."""
        if number in self.numbers:
            raise PartitionError(f"partition {number}: the engine returned two answers of it")
        self.numbers.add(number)
        level, place, total = 0, number, part
        while (level, place ^ 1) in self._waiting:
            other = self._waiting.pop((level, place ^ 1))
            total = _merged(other, total) if place % 2 else _merged(total, other)
            level, place = level + 1, place // 2
        self._waiting[level, place] = total

    def value(self) -> Any:
        """The sum of all parts."""
        total = None
        for key in sorted(self._waiting, key=lambda key: key[1] << key[0], reverse=True):
            total = _merged(self._waiting[key], total)
        return total


def _merged(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return first.merge(second)
