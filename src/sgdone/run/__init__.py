"""The driver: rows in; model, trace and verdict out."""

from sgdone.run.driver import Clock, Hook, Monitor, RunOptions, run
from sgdone.run.result import Result, Trace, TraceRow, Verdict

__all__ = ["Clock", "Hook", "Monitor", "Result", "RunOptions", "Trace", "TraceRow", "Verdict", "run"]
