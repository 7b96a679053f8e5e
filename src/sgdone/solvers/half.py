"""Constant steps that are halved whenever a rule finds the iterate stationary."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import NEVER, Needs, Progress, Status, Stop, StopRule, Watch
from sgdone.losses.loss import real_or_nan
from sgdone.rows.rows import Block, Rows
from sgdone.rows.source import Stream
from sgdone.solvers.isgd import ISGD
from sgdone.solvers.row_solver import RowSolver
from sgdone.solvers.sgd import SGD
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize
from sgdone.stopping.budget import MaxSeconds
from sgdone.stopping.pflug import Pflug

#: As many halvings are named in a verdict.
_NAMED = 5


@dataclass
class Halvings:
    """The detector's state since the last halving, and all halvings: (sample, step size from there on)."""

    detector: Any = None
    #: Samples and rows at the last halving, and rows so far.
    sample: int = 0
    row: int = 0
    rows: int = 0
    #: Rows of a pass; None if that is not known, as of a stream.
    n_rows: int | None = None
    done: list[tuple[int, float]] = field(default_factory=list)


@final
@dataclass(frozen=True)
class Halving(SingleModel):
    """Constant steps, halved each time a rule detects stationarity: Chee & Toulis (2018), Algorithm 2.

    A constant step goes fast to a region around the optimum, as large as the step, and then nowhere;
    halving it there leads to a smaller region. With implicit steps (`ISGD`, the default) no step is too large.
    The detector starts again after each halving.

    Parameters
    ----------
    inner : RowSolver
        The method that steps: ``ISGD()`` is ISGD½ ("isgd-half"), ``SGD()`` is SGD½ ("sgd-half").
    detector : StopRule
        When to halve: any rule that holds no rows out and does not depend on time. In a stream, whose passes have no
        known end, a rule that counts passes never fires.
    smallest : float
        A step size below this ends the fit.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(4000)
    >>> model = SGDRegressor(solver="isgd-half", step=0.5, alpha=0, stop=5, random_state=0).fit(X, y)
    >>> len(model.verdict_.evidence["halvings"]) > 0
    True
    """

    inner: RowSolver = field(default_factory=ISGD)
    detector: StopRule = field(default_factory=Pflug)
    smallest: float = 1e-10
    keeps: ClassVar[type] = Halvings

    def __post_init__(self) -> None:
        if not isinstance(self.inner, RowSolver):
            raise TypeError(f"inner={self.inner!r}: give a method that steps along rows, as SGD() or ISGD() do")
        if not isinstance(self.detector, StopRule):
            raise TypeError(f"detector={self.detector!r} is no stopping rule: give one, as Pflug() or Distance()")
        if self.detector.hold_out:
            raise ValueError(f"{self.detector!r} holds rows out, which a detector cannot: use Pflug() or Distance()")
        if self.detector.needs.judgement:
            raise ValueError(f"{self.detector!r} evaluates on validation rows, which a detector cannot: use Pflug()")
        if any(isinstance(leaf, MaxSeconds) for leaf in self.detector.leaves):
            raise ValueError(
                f"{self.detector!r} would halve the step at a time that depends on the machine: use MaxSamples or Pflug"
            )
        if not 0 <= real_or_nan(self.smallest) < np.inf:
            raise ValueError(f"smallest={self.smallest!r}: give the step size below which to end, 0 or more")

    @property
    def needs(self) -> Needs:
        """Requirements of the inner method and of the detector."""
        return self.inner.needs | self.detector.needs

    @property
    def default_step(self) -> StepSize:
        """The largest stable step."""
        return Constant()

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> State:
        """Begin, and keep the number of rows of a pass for the detector."""
        state = super().start(objective, stream, start, step)
        state.extra.n_rows = stream.n_rows
        return state

    def resume(self, state: State, stream: Stream) -> State:
        """The same state, with the number of rows of these passes."""
        state = super().resume(state, stream)
        state.extra.n_rows = stream.n_rows
        return state

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights, and nothing halved."""
        if not isinstance(step, Constant):
            raise ValueError(f"{step!r} changes by itself: halving needs a constant step, a number or Constant()")
        state = self.inner.begin(objective, rows, step, coef, intercept)
        state.extra = Halvings()
        return state

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block, halving the step wherever the detector fires."""
        memory: Halvings = state.extra
        if memory.detector is None:
            memory.detector = self.detector.start(memory.n_rows)
        position, target, finished = first, state.steps + updates, None
        predictions, slopes, size = [np.empty(0)], [np.empty(0)], np.nan
        detecting = True
        while True:
            end, allowed, looking = last, target - state.steps, watches
            if detecting:
                pause = self.detector.next_pause(memory.detector)
                end = min(end, position + max(0, pause.rows_read - (memory.rows - memory.row)))
                allowed = min(allowed, max(0, min(pause.step, NEVER) - (state.steps - memory.sample)))
                looking = (*watches, *self.detector.watches(memory.detector, block.rows))
            else:
                # The detector fired before a row that is still to be used: it is called again after that one.
                allowed = min(allowed, 1)
            report = self.inner.use_rows(state, block, position, end, allowed, looking)
            moved = report.position - position
            position, memory.rows = report.position, memory.rows + moved
            predictions.append(report.predictions)
            slopes.append(report.slopes)
            size = report.step_size if report.predictions.size else size
            stuck = not (moved or report.fired)
            if report.ending != "used":
                break
            if detecting:
                progress = self._progress(state, memory, report, moved)
                if self.detector.observe(memory.detector, progress) is not None:
                    detecting = not memory.done or state.steps > memory.sample
                    finished = self._halve(state, memory) if detecting else None
                    memory.detector = self.detector.restart(memory.detector, memory.n_rows)
                    stuck = False
                elif self.detector.next_pause(memory.detector) != pause:
                    stuck = False
            else:
                detecting = bool(moved)
            if finished or stuck or any(watch.fired for watch in watches):
                break
            if position >= last or state.steps >= target:
                break
        fired = any(watch.fired for watch in watches)
        return replace(
            report,
            position=position,
            predictions=np.concatenate(predictions),
            slopes=np.concatenate(slopes),
            step_size=float(size),
            fired=fired,
            finished=finished,
        )

    def _progress(self, state: State, memory: Halvings, report: Report, moved: int) -> Progress:
        """Progress since the last halving, as if it were a run."""
        rows, n_rows = memory.rows - memory.row, memory.n_rows
        ended = n_rows is not None and moved > 0 and memory.rows % n_rows == 0
        passes = 0 if n_rows is None else -(-rows // n_rows)
        sample = state.steps - memory.sample
        return Progress(
            sample, rows, n_rows, passes, ended, state.pass_mean, 0.0, report.predictions, report.slopes, state.running
        )

    def _halve(self, state: State, memory: Halvings) -> Stop | None:
        """Halve the step; the reason to end if it has become too small."""
        assert isinstance(state.step, Constant)
        step = 0.5 * float(state.step.gamma)
        state.step = Constant(step)
        memory.sample, memory.row = state.steps, memory.rows
        memory.done.append((state.steps, step))
        smallest = max(self.smallest, np.finfo(np.float64).tiny)
        if step >= smallest:
            return None
        reason = f"the step size fell below {smallest:.3g}"
        return Stop("Halving", Status.CONVERGED, reason, {"smallest": smallest})

    def check_memory(self, state: State) -> None:
        """The detector's state is checked by the detector."""
        super().check_memory(state)
        kept: Halvings = state.extra
        if (
            not (0 <= kept.sample <= state.steps and 0 <= kept.row <= kept.rows < NEVER)
            or type(state.step) is not Constant
            or not (kept.n_rows is None or kept.n_rows > 0)
        ):
            raise ValueError(f"the state of {self!r} does not count samples and rows of constant steps")
        if kept.detector is not None:
            self.detector.check(kept.detector, state.n_features)

    def summary(self, state: State) -> str:
        """Updates at which the step was halved."""
        done = state.extra.done
        if not done:
            return f"{self.detector.label} never halved the step".strip()
        samples = [f"{sample:,}" for sample, _ in done]
        if len(samples) > _NAMED:
            samples[_NAMED - 2 : -1] = ["…"]
        times = "once" if len(done) == 1 else f"{len(done)} times"
        return (
            f"step halved {times}, at sample{'' if len(done) == 1 else 's'} {', '.join(samples)}, to {done[-1][1]:.3g}"
        )

    def evidence(self, state: State) -> dict[str, Any]:
        """Every halving."""
        halvings = [{"sample": sample, "step_size": step} for sample, step in state.extra.done]
        return super().evidence(state) | {"halvings": halvings}


def sgd_half() -> Halving:
    """SGD½: explicit steps, halved where Pflug's diagnostic fires."""
    return Halving(SGD())


def isgd_half() -> Halving:
    """ISGD½: implicit steps, halved where Pflug's diagnostic fires."""
    return Halving(ISGD())


sgd_half.name = "sgd_half"  # type: ignore[attr-defined]
isgd_half.name = "isgd_half"  # type: ignore[attr-defined]
