"""The course of a fit on a cluster, round by round: trace, clock, budgets and callbacks."""

import time
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from sgdone.cluster.labelled_rows import OnLabelledRows
from sgdone.cluster.round_log import RoundLog
from sgdone.cluster.rounds import RoundRecord
from sgdone.data.learning_task import Task
from sgdone.interfaces.progress import Progress
from sgdone.interfaces.stop import Status, Stop
from sgdone.interfaces.stop_rule import StopRule
from sgdone.run import Hook, Trace
from sgdone.run.trace import TraceRow, Traffic
from sgdone.sums.row_sum import RowSum


@final
class Course:
    """What is kept of the rounds of a fit, and what ends them.

    Parameters
    ----------
    rule : StopRule
        Its budgets end a fit; a round is a pass.
    task : {"classification", "regression"}
        What the errors of the trace are.
    hooks : sequence of callables
        Called after each round; a returned text ends the fit.
    began : float, optional
        When the fit began, by ``time.perf_counter``; now by default.

    Attributes
    ----------
    trace : Trace
        One row per round.
    evaluations : int
        Models at which the objective was evaluated.
    n_rows : int
        Number of rows of positive weight, once it is known.
    """

    def __init__(self, rule: StopRule, task: Task, hooks: Sequence[Hook] = (), began: float | None = None) -> None:
        self._rule, self._hooks = rule, hooks
        self._rule_state = rule.start(None)
        self._began = time.perf_counter() if began is None else began
        self.trace = Trace(task=task)
        self.evaluations, self.n_rows = 0, 0

    def after_round(self, request: RowSum, record: RoundRecord, value: Any) -> Stop | None:
        """Append to the trace; the reason to end the fit, if there is one.

        The trace has the losses of all rows. Those without the validation rows only serve to choose the penalty.
        """
        loss = error = float("nan")
        if isinstance(request, OnLabelledRows) and request.request.is_evaluation:
            self.evaluations += 1
            loss, error = value.loss / value.weight, value.misses / max(1, self.n_rows)
            error = error if self.trace.task == "classification" else float(np.sqrt(error))
        made, seconds = len(self.trace) + 1, time.perf_counter() - self._began
        traffic = Traffic(record.request, record.bytes_new, record.bytes_received)
        self.trace.append(TraceRow(self.evaluations, float(made), loss, error, float("nan"), seconds, traffic=traffic))
        progress = Progress(self.evaluations, made * self.n_rows, None, made, True, loss, seconds)
        fired = self._rule.observe(self._rule_state, progress)
        wish = next((wish for wish in [hook(progress) for hook in self._hooks] if wish is not None), None)
        return fired or (None if wish is None else Stop("", Status.STOPPED, wish))


def interrupted(log: RoundLog | None) -> Stop:
    """The end by Ctrl-C, after the sums so far were written."""
    if log is None or not log.write():
        return Stop("", Status.INTERRUPTED, "the model so far is kept")
    return Stop("", Status.INTERRUPTED, "the model so far is kept, and a checkpoint to resume from")
