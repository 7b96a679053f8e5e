"""The driver: rows in; model, trace and verdict out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np

from sgdone.interfaces.method import EndedPhase, Method, Report, check_needs, mismatch
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Pause, Progress, Status, Stop, StopRule, Turn, Watch
from sgdone.machine import interruption
from sgdone.rows.rows import Block, Rows, check_rows
from sgdone.rows.source import Source, Stream
from sgdone.run.checkpoints import Checkpoints, Snapshot
from sgdone.run.result import Result, Trace, TraceRow, Verdict, divergence_reason, with_advice
from sgdone.steps.step_size import StepSize
from sgdone.stopping.budget import MaxPasses

#: Called after each chunk of rows; a returned text stops the run.
Hook = Callable[[Progress], str | None]

#: Measurements that a trace can keep in addition to loss and error.
Monitor = Literal["margins"]

#: Entries of rows between two calls of the rules: about ten milliseconds of work.
_ENTRIES_IN_CHUNK = 1 << 24


@final
@dataclass(frozen=True)
class Clock:
    """The time of a fit, which its runs share."""

    #: When the fit began, by ``time.perf_counter``.
    began: float = field(default_factory=lambda: time.perf_counter())
    #: Number of this run among those that follow each other, from 0, and their number.
    turn: int = 0
    turns: int = 1
    #: Readings of all rows before the runs, which are part of them.
    earlier: Sequence[TraceRow] = ()


@final
@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

    Parameters
    ----------
    step : StepSize, optional
        Step sizes; by default the method's own.
    rng : numpy.random.Generator, optional
        Source of all randomness.
    start : Model, optional
        The model to start from; zero by default.
    resume : Result, optional
        Another run to continue, bit for bit if it ended with a pass; its objective and step size stay as they were. A
        rule that differs from the rule of the other run starts again.
    optional : Method, optional
        A phase that is trained before the method, or after it, where it is worthwhile. The run goes on without it where
        it cannot be used or does not reach its end.
    hooks : sequence of callables
        Called after each chunk of rows; a returned text stops the run.
    monitors : sequence of str
        Measurements that the trace keeps in addition to loss and error: "margins", for two classes.
    block_size : int, optional
        Rows between two calls of the rules; it never changes a result.
    checkpoints : Checkpoints, optional
        Writes snapshots of the run between blocks of rows, and between phases, and has the one to go on from, if any.
    clock : Clock, optional
        The clock of the fit that the run is part of; by default one that starts now.
    """

    step: StepSize | None = None
    rng: np.random.Generator | None = None
    start: Model | None = None
    resume: Result | None = None
    optional: Method | None = None
    hooks: Sequence[Hook] = ()
    monitors: Sequence[Monitor] = ()
    block_size: int | None = None
    checkpoints: Checkpoints | None = None
    clock: Clock = field(default_factory=Clock)


def run(
    source: Source, objective: Objective, method: Method, stop: StopRule, options: RunOptions | None = None
) -> Result:
    """Train until a rule stops it.

    A signal that `sgdone.machine.interruption` has remembered ends it too: between two blocks with a checkpoint if
    there are checkpoints, otherwise between two chunks of rows. Before there is a model it raises KeyboardInterrupt.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    objective, method, stop : Objective, Method, StopRule
        Objective, method and stopping rule. A rule that may never fire gets a budget of 100 passes.
    options : RunOptions, optional
        Further options.

    Examples
    --------
    >>> from sgdone.rows import ArraySource
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
    options = options or RunOptions()
    resume, optional = options.resume, None if options.resume else options.optional
    rng = options.rng or np.random.default_rng(0)
    snapshot = None if options.checkpoints is None else options.checkpoints.last
    with interruption.interruptible():  # the first rows may be long in coming
        check_needs(method, objective, stop, source, options.step, options.monitors)
        method.check_fits_in_memory(source.n_features, objective.n_outputs)
        stream = Stream(source, rng) if resume is None else Stream(source, rng, resume.passes_begun, resume.rows_read)
        if snapshot is not None:
            place = snapshot.passes_begun, snapshot.blocks_taken, snapshot.rows_read, snapshot.rows, snapshot.position
            stream.go_to(*place)
        elif resume is None:
            stream.skip_unused()
    loop = TrainingLoop(stream, method, objective, stop, options)
    if optional is not None and snapshot is None and loop.is_worthwhile(optional, None):
        best = loop.train_optional(optional, None) or loop.train_main(None)
    else:
        best = loop.train_main(snapshot)
        if optional is not None and loop.is_worthwhile(optional, best):
            best = loop.train_optional(optional, best) or best
    return loop.result(best)


@final
class ActiveRule:
    """A rule with its state, which may be one that another run left; rows of a stream are held out for it.

    A rule that may never fire gets a budget of 100 passes, those of earlier phases apart, unless the method is certain
    to end by itself (``bounded``) or the rows are part of a stream.
    """

    def __init__(
        self, rule: StopRule, stream: Stream, state: Any = None, *, bounded: bool = False, passes_before: int = 0
    ) -> None:
        self._has_budget = not (bounded or rule.bounded or stream.source.part_of_stream)
        self.rule = rule | _Safeguard(100 + passes_before) if self._has_budget else rule
        self.state = self.rule.start(stream.n_rows) if state is None or self._has_budget else state
        if state is None and self.rule.hold_out:
            held = stream.hold_out(self.rule.hold_out)
            check_rows(stream.block, held.rows)
            self.rule.validate_on(self.state, held.X, held.labels)
        elif state is not None and self._has_budget:
            self.state.states[0] = state

    @property
    def own_state(self) -> Any:
        """The state of the user's rule."""
        return self.state.states[0] if self._has_budget else self.state

    def next_pause(self) -> Pause:
        """The next point at which the rule must be called."""
        return self.rule.next_pause(self.state)

    def watches(self, rows: Rows) -> tuple[Watch, ...]:
        """Checks that the loop must make at every sample."""
        return self.rule.watches(self.state, rows)

    def observe(self, progress: Progress) -> Stop | None:
        """The reason to stop, if there is one."""
        return self.rule.observe(self.state, progress)


@final
@dataclass(frozen=True)
class _Safeguard(StopRule):
    """A budget of passes that the user did not give: it is mentioned only when it is spent."""

    passes: int
    label: ClassVar[str] = ""
    bounded: ClassVar[bool] = True
    is_budget: ClassVar[bool] = True

    def start(self, n_rows: int | None) -> int | None:
        """Rows that may be read, if a pass has a known number of them."""
        return None if n_rows is None else self.passes * n_rows

    def next_pause(self, state: int | None) -> Pause:
        return MaxPasses(self.passes).next_pause(state)

    def observe(self, state: int | None, progress: Progress) -> Stop | None:
        return MaxPasses(self.passes).observe(state, progress)

    def describe(self, state: int | None, progress: Progress) -> str:
        """Empty description, because the user did not give the budget."""
        return ""


class RunningPhase(NamedTuple):
    """A phase that is trained: its method, the method's state, and the rule that ends it."""

    method: Method
    state: Any
    rule: ActiveRule


@final
class TrainingLoop:
    """The loop of a run, and the objects that all phases share: the stream, the trace, the rule and the clock."""

    def __init__(self, stream: Stream, main: Method, objective: Objective, stop: StopRule, options: RunOptions) -> None:
        self.source, self.stream, self._options = stream.source, stream, options
        self._main, self._objective, self._stop = main, objective, stop
        resume, clock = options.resume, options.clock
        # A run read from a file does not name its rule: `sgdone.fit.partial_fit` has compared it.
        same_rule = resume is not None and resume.rule in ("", stop.state_key)
        self._rule = ActiveRule(stop, stream, resume.rule_state if resume is not None and same_rule else None)
        self.trace = Trace(clock.earlier, task=objective.task)
        self._checkpoints = options.checkpoints
        self._began = clock.began
        self._turn = Turn(self._seconds, clock.turn, clock.turns)
        #: Rows read and passes begun before the stream, and passes of optional phases.
        self._passes_before = len(clock.earlier)
        self._rows_before = self._passes_before * (stream.n_rows or 0)
        self._optional_passes = 0.0
        #: Updates of the phase before this one, and those in addition to the method's whose model is returned.
        self._updates_before = self._further_updates = 0
        self._main_state: Any = None
        #: Remarks about discarded phases, and facts of all phases, for the verdict.
        self._remarks: list[str] = []
        self._phases: list[tuple[Method, dict[str, Any]]] = []
        #: The snapshot between two phases, and whether the last snapshot could be written.
        self._between_phases: Snapshot | None = None
        self._is_written = False
        self._chunk_rows = options.block_size or max(1, _ENTRIES_IN_CHUNK // max(1, stream.block.rows.typical_length))
        self._pass_loss, self._pause = float("nan"), Pause()
        self._progress: Progress | None = None
        #: Whether a callback has requested the end.
        self._was_asked_to_stop = False

    def is_worthwhile(self, phase: Method, best: EndedPhase | None) -> bool:
        """Whether an optional phase may follow, can be used, and is expected to gain more than it costs."""
        if not self._may_continue(best):
            return False
        if mismatch(phase, self._objective, phase.rule(self._stop), self.source):
            return False
        return phase.is_worthwhile(self._objective, self.stream, self._stop, best)

    def _may_continue(self, best: EndedPhase | None) -> bool:
        """Whether another phase may follow: not once a person or a budget that the user gave has ended the run."""
        if best is None or self._was_asked_to_stop:
            return best is None
        spent = best.ended.status is Status.BUDGET_SPENT and not self._stop.bounded
        return best.ended.status is Status.CONVERGED or spent or self._is_handed_over(best)

    def _is_handed_over(self, best: EndedPhase) -> bool:
        """Whether an optional phase has ended the phase before it."""
        return best.ended.status is Status.IN_PROGRESS and not self.source.part_of_stream

    def train_main(self, snapshot: Snapshot | None) -> EndedPhase:
        """Train the method from the start, continue another run of it, or go on from a snapshot."""
        main, resume, ended = self._main, self._options.resume, None
        if self._optional_passes:
            self._begin_again()
        if snapshot is not None:
            state, ended = self._restored(snapshot), snapshot.ended
        else:
            if resume is None:
                state = main.start(self._objective, self.stream, self._options.start, self._options.step)
            else:
                state = main.resume(resume.state.copy(), self.stream)
            main.begin_pass(state)
        beginning = state.copy() if main.can_diverge else None
        if ended is None:
            ended = self._follow(RunningPhase(main, state, self._rule))
            main.end(state, self.stream, self._pause)
        with np.errstate(over="ignore", invalid="ignore"):
            model = main.solution(state)
        if beginning is not None and not (np.all(np.isfinite(model.coef)) and np.all(np.isfinite(model.intercept))):
            self._further_updates += main.steps(state) - main.steps(beginning)
            state, model = beginning, main.solution(beginning)
            ended = Stop("", Status.DIVERGED, "weights exceeded the largest float; the weights of the start are kept")
        self._main_state = state
        return EndedPhase(main, state, model, ended)

    def _restored(self, snapshot: Snapshot) -> Any:
        """The state of a snapshot, with the trace, the rule and the clock as they were."""
        state = self._main.restored(snapshot.state, self.stream)
        self.trace, self._pass_loss, self._rule.state = snapshot.trace, snapshot.pass_loss, snapshot.rule_state
        self._began -= snapshot.seconds
        if snapshot.ended is None and self.stream.position == 0 and self.stream.blocks_taken == 1:
            # Snapshots are written before the next block: this one is the first of a new pass.
            self._main.begin_pass(state)
        return state

    def _begin_again(self) -> None:
        """Read the rows from the beginning, in another order, after an optional phase; clock and budgets go on."""
        self._rows_before += self.stream.rows_read
        self._passes_before += self.stream.begun
        self.stream = Stream(self.source, self.stream.rng)
        self.stream.skip_unused()
        self._rule = ActiveRule(self._stop, self.stream, passes_before=self._passes_before)

    def train_optional(self, phase: Method, before: EndedPhase | None) -> EndedPhase | None:
        """Train a phase; returns ``before`` if the phase did not reach its end, or found nothing better."""
        if before is not None:
            self._write_between_phases(before)
            self.stream.begin_own_passes()
            self._updates_before = before.method.steps(before.state)
        stream, passes = self.stream, self.stream.passes
        rule = ActiveRule(phase.rule(self._stop), stream, bounded=True)
        state: Any = None
        try:
            with interruption.interruptible():
                if before is None:
                    state = phase.start(self._objective, stream, None, None)
                else:
                    state = phase.start_after(self._objective, stream, before)
                ended = self._follow(RunningPhase(phase, state, rule))
        except KeyboardInterrupt:
            if before is None:
                raise
            ended = self._interrupted()
        if ended.status is Status.STALLED and self._progress is not None:
            ended = rule.observe(self._progress) or ended  # no budget may be left for other phases
        if ended.status is Status.BUDGET_SPENT and self._progress is not None:
            self._rule.observe(self._progress)  # a budget that is spent stays spent
        made = stream.passes - passes
        self._optional_passes += made
        has_stalled = ended.status is Status.STALLED and not self._was_asked_to_stop
        if state is None or (before is None and has_stalled):
            return self._unused(phase, made, ended, before)
        phase.end(state, stream, self._pause)
        if before is not None and not phase.is_better(state, ended, before):
            return self._unused(phase, made, ended, before)
        self._further_updates += self._updates_before
        return EndedPhase(phase, state, phase.solution(state), ended)

    def _unused(self, phase: Method, passes: float, ended: Stop, before: EndedPhase | None) -> EndedPhase | None:
        """Discard a phase: return ``before``, and mention the phase in the verdict."""
        if ended.status in (Status.INTERRUPTED, Status.STOPPED):
            return None if before is None else replace(before, ended=ended)
        if before is not None and self._is_handed_over(before):
            # The evidence is about a model that is not returned.
            return replace(before, ended=replace(ended, evidence={}))
        count = f"{passes:.3g} pass{'' if passes == 1 else 'es'}" if passes < 100 else f"{passes:,.0f} passes"
        better = f"found no better model in {count}"
        early = f"ended after {count}: {ended.reason}"
        self._remarks.append(f"{phase} {better if ended.status is Status.CONVERGED else early}")
        return before

    def result(self, best: EndedPhase) -> Result:
        """Result of the run."""
        method, state, stream, main = best.method, best.state, self.stream, self._main
        ended = method.review(state, best.ended, self.source.feature_names)
        ended = with_advice(ended, method, state, self.trace, stream, self._pass_loss, self._options.step is None)
        streamed = self.source.part_of_stream
        verdict = self.trace.verdict = Verdict(
            ended.status,
            ended.rule,
            method.steps(state) + self._further_updates,
            1.0 if streamed else self._passes,
            "; ".join(filter(None, (ended.reason, method.summary(state), *self._remarks))),
            ended.evidence | method.evidence(state) | self._phases_in_evidence(method),
            ended.advice,
            counts=main.counts if self._further_updates else method.counts,
            streamed=streamed,
            finish_passes=0.0 if method is main else self._optional_passes,
        )
        found = method.objective(state)
        state = method.hand_over(state, main, self._main_state, stream)
        rows_read, begun = stream.rows_read, stream.begun
        rule_state, key = self._rule.own_state, self._stop.state_key
        return Result(best.model, self.trace, verdict, found, state, rule_state, rows_read, begun, key)

    def _phases_in_evidence(self, used: Method) -> dict[str, Any]:
        """Phases of a fit that has several: passes, rows of the trace, how each ended, and whose model is returned."""
        if self._options.optional is None:
            return {}
        return {"phases": [facts | {"used": method is used} for method, facts in self._phases]}

    def _follow(self, phase: RunningPhase) -> Stop:
        """Train until the rule stops it, and record what the phase cost."""
        passes, first = self.stream.passes, len(self.trace)
        ended = self._train(phase)
        cost = {"passes": self.stream.passes - passes, "trace_rows": [first, len(self.trace)]}
        self._phases.append((phase.method, {"phase": str(phase.method), **cost, "status": str(ended.status)}))
        return ended

    def _train(self, phase: RunningPhase) -> Stop:
        method, state, rule = phase
        ended: Stop | None = None
        later: Stop | None = None
        try:
            while ended is None:
                pauses = self._next_pause(rule), method.next_pause(state)
                report, moved = self._advance(phase, *pauses)
                if report.ending != "used":
                    return Stop("", Status.DIVERGED, divergence_reason(report))
                fired = self._requested_end(rule)
                if method.runs_to_its_end:
                    later = later or fired
                    ended = report.finished and (later or report.finished)
                else:
                    # A method that has ended by itself says why: a budget spent on the way does not matter.
                    ended = report.finished or fired or self._taken_over(phase)
                if ended is None and not moved and (self._next_pause(rule), method.next_pause(state)) == pauses:
                    raise RuntimeError(f"{rule.rule!r} asked for a pause at {pauses[0]} but did not fire there")
                ended = ended or self._move_on(phase)
        except KeyboardInterrupt:
            if method.runs_to_its_end:
                raise
            ended = self._interrupted()
        return ended

    def _taken_over(self, phase: RunningPhase) -> Stop | None:
        """The end of the main method, if the optional phase is to go on from its model."""
        now, optional = self._progress, self._options.optional
        if optional is None or phase.method is not self._main or self._options.resume is not None:
            return None
        if now is None or now.judgement is None or not now.pass_ended or self.source.part_of_stream:
            return None
        ended = Stop("", Status.IN_PROGRESS, f"{optional} goes on")
        best = EndedPhase(phase.method, phase.state, now.solution(), ended)
        if not optional.takes_over(self._objective, self.stream, self._stop, best):
            return None
        return ended if self.is_worthwhile(optional, best) else None

    def _advance(self, phase: RunningPhase, pause: Pause, own_pause: Pause) -> tuple[Report, bool]:
        """Train on the next chunk of rows, and append to the trace; returns whether rows were read."""
        method, state, rule = phase
        source, stream, chunk = self.source, self.stream, self._chunk_rows
        block, first = method.prepare(state, stream.block), stream.position
        self._pause = pause
        # A method that reads all rows in each update makes several of them between two calls, if the rule allows.
        ahead = block.order.size - first if not method.whole_passes else chunk if rule.rule.is_budget else 1
        last = first + min(ahead, chunk, max(0, min(pause.rows_read, own_pause.rows_read) - stream.rows_read))
        allowed = max(0, min(pause.step, own_pause.step) - method.steps(state))
        report = method.advance(state, block, first, last, allowed, rule.watches(block.rows))
        stream.advance(report.position, report.further_reads, report.passes)
        self._pass_loss = report.pass_loss
        judgement = method.between(state, stream) if report.ending == "used" else None
        self._progress = Progress(
            step=method.steps(state),
            rows_read=self._rows_before + stream.rows_read,
            n_rows=source.n_rows,
            pass_number=self._passes_before + stream.begun,
            pass_ended=report.passes > 0 or stream.pass_ended,
            loss=report.pass_loss,
            seconds=self._seconds,
            predictions=report.predictions,
            slopes=report.slopes,
            iterate=lambda: method.iterate(state),
            solution=lambda: method.solution(state),
            judgement=judgement,
            turn=self._turn,
        )
        if report.updates:
            step, now = self._updates_before + self._progress.step, self._progress
            row = TraceRow(step, now.passes, report.loss, report.error, report.step_size, now.seconds)
            if source.is_remote:
                row = replace(row, traffic=source.traffic)
            if "margins" in self._options.monitors:
                row = replace(row, margins=method.margins(state, block, report, first))
            self.trace.append(row)
        if report.ending != "used":
            _raise_for_bad_row(block, report)
        return report, bool(report.position > first or report.fired or report.further_reads)

    def _next_pause(self, rule: ActiveRule) -> Pause:
        """Next pause of the rule, in rows of the stream."""
        pause = rule.next_pause()
        return replace(pause, rows_read=pause.rows_read - self._rows_before) if self._rows_before else pause

    def _requested_end(self, rule: ActiveRule) -> Stop | None:
        """The end that the rule or a callback requests, or the end of a part of a stream."""
        progress = self._progress
        assert progress is not None
        fired = rule.observe(progress)
        requests = [request for hook in self._options.hooks if (request := hook(progress)) is not None]
        self._was_asked_to_stop = self._was_asked_to_stop or bool(requests)
        if fired is None and requests:
            return Stop("", Status.STOPPED, requests[0])
        if fired is None and self.source.part_of_stream and progress.pass_ended:
            return Stop("", Status.IN_PROGRESS, "all rows given to partial_fit are used")
        return fired

    def _move_on(self, phase: RunningPhase) -> Stop | None:
        """Go to the next block if this one is used up, after a checkpoint if one is due; the end by a signal."""
        method = phase.method
        if self.stream.block_ended and method.takes_blocks:
            ended = self._write_checkpoint(phase) or self._next_block(phase)
            if ended is not None:
                return ended
        # Checkpoints are written between blocks: the one in progress is used up first.
        waits = self._checkpoints is not None and method.takes_blocks
        if not interruption.received() or waits:
            return None
        if method.runs_to_its_end:
            raise KeyboardInterrupt
        return self._interrupted()

    def _next_block(self, phase: RunningPhase) -> Stop | None:
        """Move to the next block; the end of the run, if a signal is received while it is read."""
        snapshot, pass_ended = self._snapshot(phase), self.stream.pass_ended
        try:
            with interruption.interruptible():
                self.stream.next_block()
        except KeyboardInterrupt:
            self._write(snapshot)
            return self._interrupted()
        if pass_ended:
            phase.method.begin_pass(phase.state)
        return None

    def _write_checkpoint(self, phase: RunningPhase) -> Stop | None:
        """Write a checkpoint if one is due; the end of the run, if a signal was received."""
        if self._checkpoints is None or not self._checkpoints.is_due:
            return None
        self._write(self._snapshot(phase))
        return self._interrupted() if interruption.received() else None

    def _write_between_phases(self, before: EndedPhase) -> None:
        """Write a checkpoint from which the next phase can begin."""
        if self._checkpoints is not None:
            own = self._snapshot(RunningPhase(before.method, before.state, self._rule))
            trace = Trace(list(own.trace), task=own.trace.task)  # the next phase appends to it
            position = self.stream.position
            self._between_phases = replace(own, position=position, ended=before.ended, trace=trace)
            self._write(self._between_phases)

    def _snapshot(self, phase: RunningPhase) -> Snapshot:
        stream, rows = self.stream, self.source.rows_so_far
        states = phase.method.stored(phase.state), phase.rule.state
        place = stream.begun, stream.blocks_taken, stream.rows_read
        return Snapshot(*states, self.trace, *place, self._seconds, self._pass_loss, rows)

    def _write(self, snapshot: Snapshot) -> None:
        if self._checkpoints is not None:
            self._is_written = self._checkpoints.write(snapshot)

    def _interrupted(self) -> Stop:
        """The end by a signal or by Ctrl-C."""
        if self._between_phases is not None and not self._is_written:
            self._write(self._between_phases)
        self._is_written = self._is_written or self.source.keep_sums()
        name = interruption.received()
        by = f"{name} ended it; " if name else ""
        kept = ", and a checkpoint to resume from" if self._is_written else ""
        advice = "Fit again with resume=True to go on from the checkpoint." if self._is_written else ""
        return Stop("", Status.INTERRUPTED, f"{by}the model so far is kept{kept}", advice=advice)

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def _passes(self) -> float:
        """Passes of this stream and of earlier ones."""
        stream = self.stream
        return stream.passes + (self._rows_before / stream.n_rows if stream.n_rows else self._passes_before)


def _raise_for_bad_row(block: Block, report: Report) -> None:
    """Raise if the row at which a chunk ended cannot be used; otherwise the weights have diverged."""
    row = int(block.order.rows[report.position]) if report.bad_row is None else report.bad_row
    if report.ending == "not sound":
        block.rows.check_indices()
    check_rows(block, np.array([row], dtype=np.uint64))
