"""The driver: rows in; model, trace and verdict out."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from sgdone.data.bad_rows import check_rows
from sgdone.data.source import Block, Source
from sgdone.data.stream import Stream
from sgdone.interfaces.method import Finish, Method, Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Model, Pause, Progress
from sgdone.interfaces.stop import Status, Stop
from sgdone.interfaces.stop_rule import StopRule
from sgdone.run.active_rule import ActiveRule
from sgdone.run.advice import divergence_reason, with_advice
from sgdone.run.checkpoints import Checkpoints, Snapshot
from sgdone.run.needs import check_needs
from sgdone.run.trace import Trace, TraceRow
from sgdone.run.verdict import Verdict
from sgdone.steps.step_size import StepSize

#: Called after each stretch of rows; a returned text stops the run.
Hook = Callable[[Progress], str | None]

#: What a trace can keep beside loss and error.
Monitor = Literal["margins"]

#: Entries of rows between two calls of the rules: about ten milliseconds of work.
_ENTRIES_IN_STRETCH = 1 << 24


@final
@dataclass(frozen=True)
class Result:
    """What a run leaves.

    Parameters
    ----------
    model : Model
        In the user's units.
    trace, verdict : Trace, Verdict
        How it came about, and why it ended.
    objective : Objective
        What was minimised, with the penalty that the method chose.
    state, rule_state
        What it takes to continue.
    rows_read, passes_begun : int
        Rows read and passes begun so far.
    rule : str
        `StopRule.state_key` of the rule that ``rule_state`` belongs to; empty if that is not known.
    """

    model: Model
    trace: Trace
    verdict: Verdict
    objective: Objective
    state: Any
    rule_state: Any
    rows_read: int
    passes_begun: int
    rule: str = ""


def run(
    source: Source,
    objective: Objective,
    method: Method,
    stop: StopRule,
    *,
    finish: Finish | None = None,
    step: StepSize | None = None,
    rng: np.random.Generator | None = None,
    start: Model | None = None,
    resume: Result | None = None,
    hooks: Sequence[Hook] = (),
    monitors: Sequence[Monitor] = (),
    block_size: int | None = None,
    checkpoints: Checkpoints | None = None,
    snapshot: Snapshot | None = None,
) -> Result:
    """Train until a rule stops it.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    objective, method, stop, step : Objective, Method, StopRule, StepSize
        What to minimise, how, until when, and with which step sizes (by default the method's own). A rule that may
        never fire gets a budget of 100 passes.
    finish : Finish, optional
        A second method that ends the run, or takes the place of the first, where that costs less than it gains.
    rng : numpy.random.Generator
        Source of all randomness.
    start : Model, optional
        The model to start from; zero by default.
    resume : Result, optional
        Another run to continue, bit for bit if it ended with a pass; its state is changed in place, and its objective
        and step size stay as they were. A rule that is not that of the other run starts again.
    hooks : sequence of callables
        Called after each stretch of rows; a returned text stops the run.
    monitors : sequence of str
        What the trace keeps beside loss and error: "margins", for two classes.
    block_size : int, optional
        Rows between two calls of the rules; it never changes a result.
    checkpoints : Checkpoints, optional
        Writes snapshots of the run between blocks of rows, and ends it there on a signal.
    snapshot : Snapshot, optional
        A snapshot of the same run, to go on from, bit for bit.

    Examples
    --------
    >>> from sgdone.data import ArraySource
    >>> from sgdone.losses import Squared
    >>> from sgdone.solvers import asgd
    >>> from sgdone.stopping import MaxPasses
    >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
    >>> objective = Objective(Squared(), alpha=0.0, predicts="target")
    >>> result = run(ArraySource(X, 3.0 * X[:, 0] + 1.0), objective, asgd(), MaxPasses(50))
    >>> result.model.coef.round(2), result.model.intercept.round(2)
    (array([[3.]]), array([1.]))
    >>> print(result.verdict)
    Budget spent after 10,000 samples (50 passes): 50 passes allowed and made.
    """
    check_needs(method, objective, stop, source, step, monitors)
    method.check_fits_in_memory(source.n_features, objective.n_outputs)
    rng = np.random.default_rng(0) if rng is None else rng
    stream = Stream(source, rng) if resume is None else Stream(source, rng, resume.passes_begun, resume.rows_read)
    if snapshot is not None:
        stream.go_to(snapshot.passes_begun, snapshot.blocks_taken, snapshot.rows_read, snapshot.rows)
    elif resume is None:
        stream.skip_unused()
    same_rule = resume is not None and resume.rule in ("", stop.state_key)
    rule = ActiveRule(stop, stream, resume.rule_state if resume is not None and same_rule else None)
    course = _Course(source, stream, Trace(task=objective.task), hooks, monitors, block_size, checkpoints)
    finish = finish if resume is None and finish is not None and finish.suits(objective, source, stop) else None
    if finish is not None and finish.comes_first(objective, stream, stop):
        result = _finished(finish, objective, method, None, course, rule, stop, None)
        if result is None:  # it did not reach an optimum
            return run(source, objective, method, stop, rng=rng, start=start, hooks=hooks, block_size=block_size)
        return result
    if snapshot is not None:
        state = method.restored(snapshot.state, stream)
        course.restore(snapshot, rule)
        if stream.position == 0 and stream.blocks_taken == 1:
            method.begin_pass(state)
    else:
        state = method.start(objective, stream, start, step) if resume is None else method.resume(resume.state, stream)
        method.begin_pass(state)
    beginning = state.copy() if method.can_diverge else None
    with nullcontext() if checkpoints is None else checkpoints.catching_signals():
        ended = course.follow(method, state, rule)
    method.end(state, stream, course.pause)
    # A budget that the user did not give may have ended a run that has not converged.
    spent = ended.status is Status.BUDGET_SPENT and not stop.bounded
    may_finish = finish is not None and (ended.status is Status.CONVERGED or spent)
    if finish is not None and may_finish and finish.pays(objective, stream, method, state):
        result = _finished(finish, objective, method, state, course, rule, stop, method.solution(state))
        if result is not None:
            return result
    updates = method.steps(state)
    with np.errstate(over="ignore", invalid="ignore"):
        model = method.solution(state)
    if beginning is not None and not (np.all(np.isfinite(model.coef)) and np.all(np.isfinite(model.intercept))):
        state = beginning
        model = method.solution(state)
        ended = Stop("", Status.DIVERGED, "weights exceeded the largest float; those of the start are kept")
    ended = method.review(state, ended, source.feature_names)
    ended = with_advice(ended, method, state, course.trace, stream, course.pass_loss, step is None)
    verdict = course.verdict(ended, method, state, updates)
    return course.result(model, verdict, method.objective(state), state, rule, stop)


def _finished(
    finish: Finish,
    objective: Objective,
    method: Method,
    state: Any,
    course: "_Course",
    rule: ActiveRule,
    stop: StopRule,
    start: Model | None,
) -> Result | None:
    """Run the finish, after a method or instead of it; the state to continue from is that of the method.

    None if it did not reach an optimum or, after a method, if a budget or a person ended it early, or if its model is
    worse: then the model of the method stands.
    """
    stream = course.stream
    updates, passes = (0, 0.0) if state is None else (method.steps(state), stream.passes)
    if state is not None and stream.source.in_memory:
        stream.next_block()
    own = finish.begin(objective, stream, method, state, start)
    ended = course.follow(finish, own, ActiveRule(finish.rule(stop), stream, bounded=True))
    if ended.status is Status.BUDGET_SPENT and course.progress is not None:
        rule.observe(course.progress)  # a budget that is spent stays spent
    if ended.status is Status.STALLED or (state is not None and ended.status is not Status.CONVERGED):
        return None
    finish.end(own, stream, course.pause)
    if state is not None and not finish.is_better(own, method.estimated_loss(state)):
        return None
    model, done = finish.solution(own), finish.objective(own)
    ended = finish.review(own, ended, stream.source.feature_names)
    ended = with_advice(ended, finish, own, course.trace, stream, course.pass_loss, automatic_step=True)
    verdict = course.verdict(ended, finish, own, updates + finish.steps(own))
    verdict = replace(verdict, counts=method.counts if updates else finish.counts, finish_passes=stream.passes - passes)
    state = finish.state_after(own, method, state, model, objective, stream)
    return course.result(model, verdict, done, state, rule, stop)


@final
class _Course:
    """The loop of a run, and what outlives a change of method: the stream, the trace and the clock."""

    def __init__(
        self,
        source: Source,
        stream: Stream,
        trace: Trace,
        hooks: Sequence[Hook],
        monitors: Sequence[Monitor],
        block_size: int | None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.source, self.stream, self.trace = source, stream, trace
        self._hooks, self._monitors, self._checkpoints = hooks, monitors, checkpoints
        self._clock = time.perf_counter()
        self._stretch = block_size or max(1, _ENTRIES_IN_STRETCH // max(1, stream.block.rows.typical_length))
        self.pass_loss, self.pause = float("nan"), Pause()
        self.progress: Progress | None = None

    def restore(self, snapshot: Snapshot, rule: ActiveRule) -> None:
        """Go on from a snapshot."""
        self.trace, self.pass_loss, rule.state = snapshot.trace, snapshot.pass_loss, snapshot.rule_state
        self._clock -= snapshot.seconds

    def _write_checkpoint(self, method: Method, state: Any, rule: ActiveRule) -> Stop | None:
        """Write a checkpoint if one is due; the end of the run, if a signal asked for it."""
        checkpoints, stream = self._checkpoints, self.stream
        if checkpoints is None or not checkpoints.is_due:
            return None
        seconds = time.perf_counter() - self._clock
        position = stream.begun, stream.blocks_taken, stream.rows_read
        rows = self.source.rows_so_far
        stored = method.stored(state)
        checkpoints.write(Snapshot(stored, rule.state, self.trace, *position, seconds, self.pass_loss, rows))
        if not checkpoints.signal:
            return None
        reason = f"{checkpoints.signal} ended it; the model so far is kept, and a checkpoint to resume from"
        return Stop("", Status.INTERRUPTED, reason)

    def follow(self, method: Method, state: Any, rule: ActiveRule) -> Stop:
        """Train until the rule stops it."""
        source, stream, stretch = self.source, self.stream, self._stretch
        ended: Stop | None = None
        try:
            while ended is None:
                block, first = method.prepare(state, stream.block), stream.position
                pause, own_pause = rule.next_pause(), method.next_pause(state)
                self.pause = pause
                # A method that reads all rows in each update makes several of them between two calls, if the rule
                # allows.
                ahead = block.order.size - first if not method.whole_passes else stretch if rule.rule.is_budget else 1
                last = first + min(ahead, stretch, max(0, min(pause.rows_read, own_pause.rows_read) - stream.rows_read))
                allowed = max(0, min(pause.step, own_pause.step) - method.steps(state))
                report = method.advance(state, block, first, last, allowed, rule.watches(block.rows))
                stream.advance(report.position, report.further_reads, report.passes)
                self.pass_loss = report.pass_loss
                judgement = method.between(state, stream) if report.ending == "used" else None
                progress = self.progress = Progress(
                    method.steps(state),
                    stream.rows_read,
                    source.n_rows,
                    stream.begun,
                    report.passes > 0 or stream.pass_ended,
                    report.pass_loss,
                    time.perf_counter() - self._clock,
                    report.predictions,
                    report.slopes,
                    lambda: method.iterate(state),
                    lambda: method.solution(state),
                    judgement,
                )
                if report.updates:
                    self._append(method, state, block, report, first, progress)
                if report.ending != "used":
                    _raise_for_bad_row(block, report)
                    return Stop("", Status.DIVERGED, divergence_reason(report))
                fired = rule.observe(progress)
                # A method that has ended by itself says why: a budget spent on the way does not matter.
                ended = report.finished or fired
                wishes = [hook(progress) for hook in self._hooks]
                if ended is None:
                    ended = _stop_from_outside(wishes, source, progress)
                moved = report.position > first or report.fired or report.further_reads
                if ended is None and not moved and (rule.next_pause(), method.next_pause(state)) == (pause, own_pause):
                    raise RuntimeError(f"{rule.rule!r} asked for a pause at {pause} but did not fire there")
                used_up = stream.block_ended and method.takes_blocks
                if used_up and ended is None:
                    ended = self._write_checkpoint(method, state, rule)
                if used_up and ended is None:
                    if stream.pass_ended:
                        method.begin_pass(state)
                    stream.next_block()
        except KeyboardInterrupt:
            ended = Stop("", Status.INTERRUPTED, "the model so far is kept")
        return ended

    def verdict(self, ended: Stop, method: Method, state: Any, updates: int) -> Verdict:
        """Why and where the run ended, with what the method adds."""
        streamed = self.source.part_of_stream
        return Verdict(
            ended.status,
            ended.rule,
            updates,
            1.0 if streamed else self.stream.passes,
            "; ".join(filter(None, (ended.reason, method.summary(state)))),
            ended.evidence | method.evidence(state),
            ended.advice,
            counts=method.counts,
            streamed=streamed,
        )

    def result(
        self, model: Model, verdict: Verdict, objective: Objective, state: Any, rule: ActiveRule, stop: StopRule
    ) -> Result:
        """All that the run leaves."""
        self.trace.verdict = verdict
        stream = self.stream
        return Result(
            model, self.trace, verdict, objective, state, rule.own_state, stream.rows_read, stream.begun, stop.state_key
        )

    def _append(self, method: Method, state: Any, block: Block, report: Report, first: int, progress: Progress) -> None:
        row = TraceRow(progress.step, progress.passes, report.loss, report.error, report.step_size, progress.seconds)
        if "margins" in self._monitors:
            row = replace(row, margins=method.margins(state, block, report, first))
        self.trace.append(row)


def _stop_from_outside(wishes: list[str | None], source: Source, progress: Progress) -> Stop | None:
    """The end that a callback requests, or that a part of a stream has."""
    wish = next((wish for wish in wishes if wish is not None), None)
    if wish is not None:
        return Stop("", Status.STOPPED, wish)
    if source.part_of_stream and progress.pass_ended:
        return Stop("", Status.IN_PROGRESS, "all rows given to partial_fit are used")
    return None


def _raise_for_bad_row(block: Block, report: Report) -> None:
    """Raise if the row at which a stretch ended is to blame; if it is not, the weights have diverged."""
    row = int(block.order[report.position]) if report.blamed is None else report.blamed
    if report.ending == "not sound":
        block.rows.check_indices()
    check_rows(block, np.array([row], dtype=np.uint64))
