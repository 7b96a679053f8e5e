"""Rounds: a request to all partitions, an answer from each, their sum in a fixed tree; and the log of all rounds.

A fit is a function of its sums. With the sums of a log it repeats the same steps, without requests to the partitions,
up to the round at which the driver died.
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Self, final

import numpy as np

from sgdone.cluster.engine import Engine
from sgdone.cluster.messages import Answer, PartitionError, Parts, from_bytes, split_request, to_bytes
from sgdone.fit.checkpoints import CheckpointFile, FitCheckpoints
from sgdone.sums.row_sum import RowSum, TreeSum, merged_pair


@final
class LoggedRound(NamedTuple):
    """A round: digest of the request, its sum as bytes, and the bytes that were received for it."""

    digest: str
    answer: bytes
    bytes_received: int


@final
class RoundLog:
    """Rounds in a checkpoint; ``identity`` is that of the data and the options of the fit."""

    def __init__(self, checkpoints: FitCheckpoints, identity: dict[str, Any]) -> None:
        self._checkpoints, self._file = checkpoints, CheckpointFile(checkpoints.path, identity)
        stored = checkpoints.read(identity, None) or {"rounds": []}
        self._rounds = [LoggedRound(str(key), sums.tobytes(), int(size)) for key, sums, size in stored["rounds"]]
        self._position = 0
        self._written = time.monotonic()

    def next_round(self, digest: str) -> LoggedRound | None:
        """The next round of the log; None after the last. Raise if it answers another request."""
        if self._position == len(self._rounds):
            return None
        found = self._rounds[self._position]
        self._position += 1
        if found.digest != digest:
            raise ValueError(
                f"{self._checkpoints.path}: round {self._position} of this fit is not that of the checkpoint. Start "
                "the fit again with resume=False"
            )
        return found

    def check_same(self, logged: LoggedRound, answer: bytes) -> None:
        """Raise if rows have changed since a round was logged."""
        if logged.answer != answer:
            raise ValueError(
                f"{self._checkpoints.path}: the checkpoint is of other rows. Give the rows of the first run, in the "
                "same partitions, or start the fit again with resume=False"
            )

    def add(self, digest: str, answer: bytes, bytes_received: int) -> None:
        """Add a round, and write the file if it is due."""
        self._rounds.append(LoggedRound(digest, answer, bytes_received))
        self._position += 1
        if time.monotonic() - self._written >= self._checkpoints.every:
            self.write()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Write the rounds so far if a fit ends with an error, or by Ctrl-C before there is a model."""
        if error is not None:
            self.write()

    def write(self) -> bool:
        """Write the file; returns whether that was possible."""
        rounds = [(digest, np.frombuffer(answer, np.uint8), size) for digest, answer, size in self._rounds]
        self._written = time.monotonic()
        return self._file.write({"rounds": rounds})


@final
@dataclass(frozen=True)
class RoundRecord:
    """Name of a request, bytes for all partitions, and the seconds from the request to the sum."""

    request: str
    bytes_sent: int
    #: Without parts that an earlier round has sent: those sent by an engine that caches parts.
    bytes_new: int
    bytes_received: int
    seconds: float


@final
class Rounds:
    """Sends requests, adds up the answers, and counts rounds and bytes.

    ``after_round`` is called with the record of each round. Sums of earlier rounds of the same fit in the ``log`` are
    not requested again, and later rounds are added to it.
    """

    def __init__(
        self,
        engine: Engine,
        after_round: Callable[[RoundRecord], None] | None = None,
        log: RoundLog | None = None,
    ) -> None:
        self._engine, self.after_round, self._log = engine, after_round, log
        self._n_partitions: int | None = None
        #: Values that were shared last, with their bytes, and digests of the parts that were sent.
        self._packed: dict[int, tuple[Any, bytes]] = {}
        self._sent: set[bytes] = set()
        self.records: list[RoundRecord] = []

    def sum(self, request: RowSum) -> Any:
        """The sum of the answers of all partitions that have rows; None if there is none."""
        began = time.perf_counter()
        parts = self._parts(request)
        digests = {part: hashlib.sha256(part).digest() for part in parts}
        log, digest = self._log, hashlib.sha256(b"".join(digests[part] for part in parts)).hexdigest()
        logged = None if log is None else log.next_round(digest)
        if logged is not None and not request.identifies_rows:
            answer, received = from_bytes(logged.answer), logged.bytes_received
        else:
            answer, received = self._answer(request, parts)
            if log is not None and logged is not None:
                log.check_same(logged, to_bytes(answer))
            elif log is not None:
                log.add(digest, to_bytes(answer), received)
        sent, unsent = sum(map(len, parts)), sum(len(part) for part in digests if digests[part] not in self._sent)
        self._sent.update(digests.values())
        seconds = time.perf_counter() - began
        record = RoundRecord(request.request_name, sent * answer.count, unsent * answer.count, received, seconds)
        self.records.append(record)
        if self.after_round is not None:
            self.after_round(record)
        return answer.value

    def sum_of_rows(self, request: RowSum, purpose: str) -> Any:
        """The sum; raise if no partition has rows, and say what they are needed for: "learn from", "summarise"."""
        found = self.sum(request)
        if found is None:
            raise ValueError(f"no partition has a row of positive weight: there is nothing to {purpose}")
        return found

    def encode(self, encoder: Any) -> None:
        """Replace the tables of all partitions by the features of an encoder."""
        self._engine.encode(to_bytes(encoder))

    def _answer(self, request: RowSum, parts: Parts) -> tuple[Answer, int]:
        """The sum over all partitions, and the bytes of their answers."""
        received, found = 0, list[Answer]()
        total = TreeSum()
        answers: Iterable[bytes] = self._engine.ask(parts, in_order=request.in_order)
        for data in answers:
            answer: Answer = from_bytes(data)
            received += answer.size or len(data)
            if answer.fault or request.in_order:
                found.append(answer)
            try:
                total.add(answer.number, None if request.in_order else answer.value, answer.count)
            except ValueError as error:
                raise PartitionError(str(error)) from error
        failed = min((one for one in found if one.fault), key=lambda one: one.number, default=None)
        if failed is not None:
            named = failed.fault.startswith("partition ")
            raise PartitionError(failed.fault if named else f"partition {failed.number}: {failed.fault}")
        self._check_numbers(total.numbers)
        value = total.value()
        if request.in_order:
            values = [one.value for one in sorted(found, key=lambda one: one.number)]
            value = reduce(merged_pair, values, None)
        return Answer(0, value, count=len(total.numbers)), received

    def _parts(self, request: RowSum) -> Parts:
        """A request and its shared values as bytes, which are made once for the same objects."""
        data, shared = split_request(request)
        known = self._packed
        self._packed = {id(value): known.get(id(value)) or (value, to_bytes(value)) for value in shared}
        return data, *(packed for _, packed in self._packed.values())

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
