"""The sums of all rounds so far, in a file: a fit whose driver died goes on after the last of them.

A fit is a function of its sums. With those of a log it takes the same course, without asking the partitions, up to the
round at which the driver died.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sgdone.estimators.fit_checkpoints import CheckpointFile, FitCheckpoints


@final
@dataclass(frozen=True)
class LoggedRound:
    """A round: digest of the request, its sum as bytes, and the bytes that were received for it."""

    digest: str
    answer: bytes
    bytes_received: int


@final
class RoundLog:
    """Rounds in a checkpoint.

    Parameters
    ----------
    checkpoints : FitCheckpoints
        The file, the seconds between two times that it is written, and whether to go on from it.
    identity : dict
        Which fit it belongs to.
    """

    def __init__(self, checkpoints: FitCheckpoints, identity: dict[str, Any]) -> None:
        self._checkpoints, self._file = checkpoints, CheckpointFile(checkpoints.path, identity)
        stored = checkpoints.read(identity, None)
        self._rounds = [] if stored is None else [_round(parts) for parts in stored["rounds"]]
        self._position = 0
        self._written = time.monotonic()

    def next_round(self, digest: str) -> LoggedRound | None:
        """The next round of the log; None if it has no further round. Raise if it is that of another request."""
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
        """Add a round, and write the file if it is time."""
        self._rounds.append(LoggedRound(digest, answer, bytes_received))
        self._position += 1
        if time.monotonic() - self._written >= self._checkpoints.every:
            self.write()

    def write(self) -> bool:
        """Write the file; returns whether that was possible."""
        rounds = [(one.digest, np.frombuffer(one.answer, np.uint8), one.bytes_received) for one in self._rounds]
        self._written = time.monotonic()
        return self._file.write({"rounds": rounds})


@contextmanager
def written_on_errors(log: RoundLog | None) -> Iterator[None]:
    """Write the rounds so far if a fit ends with an error, or by Ctrl-C before there is a model."""
    try:
        yield
    except BaseException:
        if log is not None:
            log.write()
        raise


def _round(parts: Any) -> LoggedRound:
    digest, answer, received = parts
    return LoggedRound(str(digest), answer.tobytes(), int(received))
