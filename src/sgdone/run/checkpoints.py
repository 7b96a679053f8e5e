"""Checkpoints of a run: what it takes to go on, written now and then, and when a signal ends the process."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, final

from sgdone.run.trace import Trace


@final
@dataclass(frozen=True)
class Snapshot:
    """A run between two blocks of rows.

    Parameters
    ----------
    state, rule_state
        Those of the method and of the rule.
    trace : Trace
        What was measured so far.
    passes_begun, blocks_taken, rows_read : int
        Where the run is: passes begun, blocks taken of the last of them, and rows read in all.
    seconds : float
        Duration of the run so far.
    pass_loss : float
        Mean progressive loss of the pass so far.
    rows : tuple of int
        How many rows were read in the first pass, and a digest of them: other rows are not continued with.
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


@final
class Checkpoints:
    """When a snapshot is written, and how.

    Parameters
    ----------
    write : callable
        Writes a snapshot.
    every : float
        Seconds between two of them.
    """

    def __init__(self, write: Callable[[Snapshot], None], every: float) -> None:
        self._write, self._every = write, every
        self._last = time.monotonic()
        #: Name of the signal that asks for the end of the run; empty if there was none.
        self.signal = ""

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next one, or a signal came."""
        return bool(self.signal) or time.monotonic() - self._last >= self._every

    def write(self, snapshot: Snapshot) -> None:
        """Write a snapshot."""
        self._write(snapshot)
        self._last = time.monotonic()

    @contextmanager
    def catching_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the run at the next block, with a checkpoint; a second one ends it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[int, Any] = {}

        def remember(number: int, frame: FrameType | None) -> None:
            if self.signal:
                raise KeyboardInterrupt
            self.signal = signal.Signals(number).name

        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, remember)
        try:
            yield
        finally:
            for known, handler in before.items():
                signal.signal(known, handler)
