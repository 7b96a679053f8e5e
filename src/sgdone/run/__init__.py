"""The driver: rows in; model, trace and verdict out."""

from sgdone.run.driver import Clock, Hook, Monitor, Result, run
from sgdone.run.trace import Trace, TraceRow
from sgdone.run.verdict import Verdict

__all__ = ["Clock", "Hook", "Monitor", "Result", "Trace", "TraceRow", "Verdict", "run"]
