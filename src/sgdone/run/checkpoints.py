"""Checkpoints of a run: the state needed to continue it, written regularly, and when a signal ends the run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from sgdone.interfaces.stop_rule import Stop
from sgdone.machine import interruption
from sgdone.run.result import Trace


@final
@dataclass(frozen=True)
class Snapshot:
    """A run between two blocks of rows, or between two phases."""

    #: States of the method and of the rule.
    state: Any
    rule_state: Any
    #: Measurements so far.
    trace: Trace
    #: Where the run is: passes begun, blocks taken of the last of them, and rows read in all.
    passes_begun: int
    blocks_taken: int
    rows_read: int
    #: Duration of the run so far.
    seconds: float
    #: Mean progressive loss of the pass so far.
    pass_loss: float
    #: Number of rows read in the first pass, and a digest of them: a run does not continue with other rows.
    rows: tuple[int, int]
    #: Between two phases: the position in the last block taken, and why the phase before ended.
    position: int | None = None
    ended: Stop | None = None


@final
class Checkpoints:
    """Schedule and writer of snapshots, and the one to go on from.

    Parameters
    ----------
    write : callable
        Writes a snapshot; returns whether that was possible.
    every : float
        Seconds between two snapshots.
    last : Snapshot, optional
        A snapshot of the same run, to go on from, bit for bit.
    """

    def __init__(self, write: Callable[[Snapshot], bool], every: float, last: Snapshot | None = None) -> None:
        self._write, self._every, self.last = write, every, last
        self._written = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next snapshot, or a signal was received."""
        return bool(interruption.received()) or time.monotonic() - self._written >= self._every

    def write(self, snapshot: Snapshot) -> bool:
        """Write a snapshot; returns whether that was possible."""
        written = self._write(snapshot)
        self._written = time.monotonic()
        return written
