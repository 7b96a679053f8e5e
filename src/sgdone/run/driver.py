"""The driver: rows in; model, trace and verdict out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np

from sgdone import interruption
from sgdone.data.bad_rows import check_rows
from sgdone.data.source import Block, Source
from sgdone.data.stream import Stream
from sgdone.interfaces.method import Finish, Method, Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Model, Pause, Progress, Turn
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
class Clock:
    """The time of a fit, which its runs share.

    Parameters
    ----------
    began : float
        When the fit began, by ``time.perf_counter``.
    turn, turns : int
        Runs that follow each other: the number of this one, from 0, and how many there are.
    """

    began: float = field(default_factory=lambda: time.perf_counter())
    turn: int = 0
    turns: int = 1


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
    clock: Clock | None = None,
) -> Result:
    """Train until a rule stops it.

    A signal that `sgdone.interruption` has remembered ends it too: between two blocks with a checkpoint if there are
    checkpoints, otherwise between two stretches. Before there is a model it raises KeyboardInterrupt.

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
        Writes snapshots of the run between blocks of rows, and before the finish.
    snapshot : Snapshot, optional
        A snapshot of the same run, to go on from, bit for bit.
    clock : Clock, optional
        The clock of the fit that the run is part of; by default one that starts now.

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
    rng = np.random.default_rng(0) if rng is None else rng
    clock = clock or Clock()
    with interruption.interruptible():  # the first rows may be long in coming
        check_needs(method, objective, stop, source, step, monitors)
        method.check_fits_in_memory(source.n_features, objective.n_outputs)
        stream = Stream(source, rng) if resume is None else Stream(source, rng, resume.passes_begun, resume.rows_read)
        if snapshot is not None:
            place = snapshot.passes_begun, snapshot.blocks_taken, snapshot.rows_read, snapshot.rows, snapshot.position
            stream.go_to(*place)
        elif resume is None:
            stream.skip_unused()
    same_rule = resume is not None and resume.rule in ("", stop.state_key)
    rule = ActiveRule(stop, stream, resume.rule_state if resume is not None and same_rule else None)
    course = _Course(source, stream, Trace(task=objective.task), hooks, monitors, block_size, checkpoints, clock)
    finish = finish if resume is None and finish is not None and finish.suits(objective, source, stop) else None
    if finish is not None and finish.comes_first(objective, stream, stop):
        found = _finished(finish, objective, method, None, course, rule, stop, None)
        if isinstance(found, Result):
            return found
        # It did not reach an optimum: the method begins with the rows in another order.
        finish, stream = None, Stream(source, rng)
        stream.skip_unused()
        course.go_on_with(stream)
        rule = ActiveRule(stop, stream)
    if snapshot is not None:
        state = method.restored(snapshot.state, stream)
        course.restore(snapshot, rule)
        if snapshot.phase == "method" and stream.position == 0 and stream.blocks_taken == 1:
            method.begin_pass(state)
    else:
        state = method.start(objective, stream, start, step) if resume is None else method.resume(resume.state, stream)
        method.begin_pass(state)
    beginning = state.copy() if method.can_diverge else None
    if snapshot is None or snapshot.ended is None:
        ended = course.follow(method, state, rule)
        method.end(state, stream, course.pause)
        # A budget that the user did not give may have ended a run that has not converged.
        spent = ended.status is Status.BUDGET_SPENT and not stop.bounded
        may_finish = ended.status is Status.CONVERGED or spent
        if not (finish is not None and may_finish and finish.pays(objective, stream, method, state)):
            finish = None
    else:
        ended = snapshot.ended
    if finish is not None:
        course.begin_finish(method, state, rule, ended)
        found = _finished(finish, objective, method, state, course, rule, stop, method.solution(state))
        if isinstance(found, Result):
            return found
        ended = found if found.status is Status.INTERRUPTED else ended
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
) -> Result | Stop:
    """Run the finish, after a method or instead of it; the state to continue from is that of the method.

    Only why it ended if it did not reach an optimum or, after a method, if a budget or a person ended it early, or if
    its model is worse: then the model of the method stands.
    """
    stream = course.stream
    updates, passes = (0, 0.0) if state is None else (method.steps(state), stream.passes)
    if state is not None and stream.source.in_memory:
        stream.next_block()
    own_rule = ActiveRule(finish.rule(stop), stream, bounded=True)
    try:
        with interruption.interruptible():
            own = finish.begin(objective, stream, method, state, start)
            ended = course.follow(finish, own, own_rule)
    except KeyboardInterrupt:
        if state is None:
            raise
        ended = course.interrupted()
    if ended.status is Status.STALLED and course.progress is not None:
        # Nothing is left for the method.
        ended = own_rule.observe(course.progress) or ended
    if ended.status is Status.BUDGET_SPENT and course.progress is not None:
        rule.observe(course.progress)  # a budget that is spent stays spent
    if ended.status is Status.STALLED or (state is not None and ended.status is not Status.CONVERGED):
        return ended
    finish.end(own, stream, course.pause)
    if state is not None and not finish.is_better(own, method.estimated_loss(state)):
        return ended
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
        checkpoints: Checkpoints | None,
        clock: Clock,
    ) -> None:
        self.source, self.stream, self.trace = source, stream, trace
        self._hooks, self._monitors, self._checkpoints = hooks, monitors, checkpoints
        self._began = clock.began
        self._turn = Turn(self._seconds, clock.turn, clock.turns)
        #: Rows read and passes begun before the stream.
        self._rows_before = self._passes_before = 0
        #: The snapshot before the finish, and whether the last snapshot could be written.
        self._before_finish: Snapshot | None = None
        self._is_written = False
        self._stretch = block_size or max(1, _ENTRIES_IN_STRETCH // max(1, stream.block.rows.typical_length))
        self.pass_loss, self.pause = float("nan"), Pause()
        self.progress: Progress | None = None

    def restore(self, snapshot: Snapshot, rule: ActiveRule) -> None:
        """Go on from a snapshot."""
        self.trace, self.pass_loss, rule.state = snapshot.trace, snapshot.pass_loss, snapshot.rule_state
        self._began -= snapshot.seconds

    def go_on_with(self, stream: Stream) -> None:
        """Read the rows from the beginning; clock, trace and budgets go on."""
        self._rows_before, self._passes_before = self.stream.rows_read, self.stream.begun
        self.stream = stream

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def _passes(self) -> float:
        """Passes of the stream, and of those before it."""
        stream = self.stream
        return stream.passes + (self._rows_before / stream.n_rows if stream.n_rows else self._passes_before)

    def _snapshot(self, method: Method, state: Any, rule: ActiveRule) -> Snapshot:
        stream, rows = self.stream, self.source.rows_so_far
        place = stream.begun, stream.blocks_taken, stream.rows_read
        return Snapshot(method.stored(state), rule.state, self.trace, *place, self._seconds, self.pass_loss, rows)

    def _write(self, snapshot: Snapshot) -> None:
        if self._checkpoints is not None:
            self._is_written = self._checkpoints.write(snapshot)

    def _write_checkpoint(self, method: Method, state: Any, rule: ActiveRule) -> Stop | None:
        """Write a checkpoint if one is due; the end of the run, if a signal was received."""
        if self._checkpoints is None or not self._checkpoints.is_due:
            return None
        self._write(self._snapshot(method, state, rule))
        return self.interrupted() if interruption.received() else None

    def begin_finish(self, method: Method, state: Any, rule: ActiveRule, ended: Stop) -> None:
        """Write a checkpoint from which the finish can begin."""
        if self._checkpoints is not None:
            own = replace(self._snapshot(method, state, rule), phase="finish", position=self.stream.position)
            trace = Trace(list(self.trace), task=self.trace.task)  # the finish appends to it
            self._before_finish = replace(own, ended=ended, trace=trace)
            self._write(self._before_finish)

    def interrupted(self) -> Stop:
        """The end by a signal or by Ctrl-C."""
        if self._before_finish is not None and not self._is_written:
            self._write(self._before_finish)
        name = interruption.received()
        by = f"{name} ended it; " if name else ""
        kept = ", and a checkpoint to resume from" if self._is_written else ""
        advice = "Fit again with resume=True to go on from the checkpoint." if self._is_written else ""
        return Stop("", Status.INTERRUPTED, f"{by}the model so far is kept{kept}", advice=advice)

    def follow(self, method: Method, state: Any, rule: ActiveRule) -> Stop:
        """Train until the rule stops it."""
        source, stream, stretch = self.source, self.stream, self._stretch
        ended: Stop | None = None
        try:
            while ended is None:
                block, first = method.prepare(state, stream.block), stream.position
                pause, own_pause = self._next_pause(rule), method.next_pause(state)
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
                    self._rows_before + stream.rows_read,
                    source.n_rows,
                    self._passes_before + stream.begun,
                    report.passes > 0 or stream.pass_ended,
                    report.pass_loss,
                    self._seconds,
                    report.predictions,
                    report.slopes,
                    lambda: method.iterate(state),
                    lambda: method.solution(state),
                    judgement,
                    self._turn,
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
                if (
                    ended is None
                    and not moved
                    and (self._next_pause(rule), method.next_pause(state)) == (pause, own_pause)
                ):
                    raise RuntimeError(f"{rule.rule!r} asked for a pause at {pause} but did not fire there")
                used_up = stream.block_ended and method.takes_blocks
                if used_up and ended is None:
                    ended = self._write_checkpoint(method, state, rule)
                if used_up and ended is None:
                    ended = self._next_block(method, state, rule)
                # Checkpoints are written between blocks: the one in progress is used up first.
                waits = self._checkpoints is not None and method.takes_blocks
                if ended is None and interruption.received() and not waits:
                    ended = self.interrupted()
        except KeyboardInterrupt:
            ended = self.interrupted()
        return ended

    def _next_pause(self, rule: ActiveRule) -> Pause:
        """Where the rule must be called, in rows of the stream."""
        pause = rule.next_pause()
        return replace(pause, rows_read=pause.rows_read - self._rows_before) if self._rows_before else pause

    def _next_block(self, method: Method, state: Any, rule: ActiveRule) -> Stop | None:
        """Move to the next block; the end of the run, if a signal is received while it is read."""
        snapshot, pass_ended = self._snapshot(method, state, rule), self.stream.pass_ended
        try:
            with interruption.interruptible():
                self.stream.next_block()
        except KeyboardInterrupt:
            self._write(snapshot)
            return self.interrupted()
        if pass_ended:
            method.begin_pass(state)
        return None

    def verdict(self, ended: Stop, method: Method, state: Any, updates: int) -> Verdict:
        """Why and where the run ended, with what the method adds."""
        streamed = self.source.part_of_stream
        return Verdict(
            ended.status,
            ended.rule,
            updates,
            1.0 if streamed else self._passes,
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
