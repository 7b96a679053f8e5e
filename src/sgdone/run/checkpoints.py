"""Checkpoints of a run: the state needed to continue it, written regularly, and when a signal ends the run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

from sgdone.interfaces.stop_rule import Stop
from sgdone.machine import interruption
from sgdone.run.result import Trace


@final
@dataclass(frozen=True)
class Snapshot:
    """A run between two blocks of rows, or between two phases.

    Parameters
    ----------
    state, rule_state
        States of the method and of the rule.
    trace : Trace
        Measurements so far.
    passes_begun, blocks_taken, rows_read : int
        Where the run is: passes begun, blocks taken of the last of them, and rows read in all.
    seconds : float
        Duration of the run so far.
    pass_loss : float
        Mean progressive loss of the pass so far.
    rows : tuple of int
        Number of rows read in the first pass, and a digest of them: a run does not continue with other rows.
    phase : {"main", "exact"}
        The next phase.
    position : int or None
        Before the exact phase: the position in the last block taken.
    ended : Stop or None
        Before the exact phase: why the method ended.
    """

    state: Any
    rule_state: Any
    trace: Trace
    passes_begun: int
    blocks_taken: int
    rows_read: int
    seconds: float
    pass_loss: float
    rows: tuple[int, int]
    phase: Literal["main", "exact"] = "main"
    position: int | None = None
    ended: Stop | None = None


@final
class Checkpoints:
    """Schedule and writer of snapshots.

    Parameters
    ----------
    write : callable
        Writes a snapshot; returns whether that was possible.
    every : float
        Seconds between two snapshots.
    """

    def __init__(self, write: Callable[[Snapshot], bool], every: float) -> None:
        self._write, self._every = write, every
        self._last = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next snapshot, or a signal was received."""
        return bool(interruption.received()) or time.monotonic() - self._last >= self._every

    def write(self, snapshot: Snapshot) -> bool:
        """Write a snapshot; returns whether that was possible."""
        written = self._write(snapshot)
        self._last = time.monotonic()
        return written
