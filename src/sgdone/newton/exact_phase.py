"""The exact phase of a default fit: Newton's method to the optimum, with the best of several penalties."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, ClassVar, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import EndedPhase, FoundModel, Method, Report
from sgdone.interfaces.objective import FIT_VARIANCE, Judgement, LossEstimator, Model, Objective, mean
from sgdone.interfaces.stop_rule import NEVER, Needs, Status, Stop, StopRule, Watch
from sgdone.machine.threads import single_thread
from sgdone.message_text import RowError
from sgdone.newton import EXACT, Problem, SearchRunner
from sgdone.newton.counted_work import (
    ROWS_PER_COEFFICIENT,
    VERY_MANY_ROWS,
    bank_work,
    exact_work_from_disk,
    fold_readings,
    is_least_squares,
    reading_work,
    rows_per_coefficient,
    uses_folds,
    work_in_memory,
)
from sgdone.newton.exact_path import path_in_memory
from sgdone.newton.penalty_path import Evaluated, PenaltyPath, frequency_error, losses_of_constant
from sgdone.newton.search import MOST_SUMMED
from sgdone.newton.summed_path import ChosenPenalty, SummedPath, has_likelihood
from sgdone.rows.rows import Block, check_rows
from sgdone.rows.source import Stream
from sgdone.steps.step_size import StepSize
from sgdone.stopping import Decrement
from sgdone.sums.row_sum import MemoryRows, RowSource, rows_of
from sgdone.sums.second_order import derivatives
from sgdone.sums.system import System, curvature, is_worse_than_constant
from sgdone.sums.units import WINDOW, Units

Array = NDArray[np.float64]

#: Passes that a budget must allow for the exact phase to come first: a path of penalties seldom needs more.
_PASSES = 50.0
#: Largest cost of the exact phase relative to that of the bank. Where there are many more rows than coefficients, the
#: seed of the bank makes little difference, and the exact phase is worth what it saves.
_MOST_WORK, _MOST_WORK_OF_MANY_ROWS = 10.0, 1.0
#: Share of the loss of a constant prediction below which classes are nearly separated: there the steps of SGD, which
#: grow margins ever more slowly, take many passes.
_NEARLY_SEPARATED = 0.1
#: The loss of a row on the wrong side, not far from the boundary.
_LOSS_OF_ERROR = 1.0
#: Rows from which the error of the loss is estimated.
_JUDGED = 32768


@dataclass
class ExactState:
    """State of the exact phase."""

    rows: RowSource
    path: PenaltyPath
    #: Number of rows, and of those with a positive weight, and the sum of their frequencies.
    n_rows: int
    n_used: int
    weight: float
    dtype: Any
    #: Units as the columns were measured.
    measured: Units
    #: Validation loss of the previous phase.
    before: Judgement | None = None
    #: Whether each sum is a reading of its own.
    each_counts: bool = False
    #: Further evidence for the verdict.
    evidence: dict[str, Any] = field(default_factory=dict)
    readings: SearchRunner = field(init=False)
    steps: int = 0
    judgement: Judgement | None = None
    #: Whether a model on the way predicted all rows without error: its coefficients prove that they are separated.
    is_separated: bool = False

    def __post_init__(self) -> None:
        self.readings = SearchRunner(self.rows, self.path.evaluations(), each_counts=self.each_counts)

    @property
    def units(self) -> Units:
        """Units in which the penalty acts, and in which training can continue."""
        return self.path.units(self.measured)

    @property
    def objective(self) -> Objective:
        """The objective, with the penalty if it is given."""
        return self.path.system.objective


class ExactPhase(Method):
    """Newton's method along a path of penalties, instead of another phase or after it.

    For smooth convex losses. Each evaluation of the objective is a pass over all rows.
    """

    offers: ClassVar[Needs] = Needs(
        mixed_rows=True, any_scales=True, several_outputs=True, choice_of_alpha=True, judgement=True, decrement=True
    )
    whole_passes: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = False
    can_diverge: ClassVar[bool] = False

    def rule(self, stop: StopRule) -> StopRule:
        """`Decrement`, and the budgets of the run."""
        return reduce(or_, stop.budgets, Decrement(EXACT))

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> ExactState:
        """Not supported unless the phase may come first."""
        raise TypeError(f"{self} follows another phase: see start_after")

    def advance(
        self, state: ExactState, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Evaluate the objective once."""
        if not updates or first >= last:
            return Report(first)
        try:
            with single_thread(), np.errstate(over="ignore", invalid="ignore"):
                request, value = state.readings.read()
        except OverflowError as error:
            self._raise_for_bad_row(state, error)
        state.steps += 1
        if request is not None and request.is_evaluation:
            state.path.evaluated = Evaluated.of(value, state.n_used, state.objective)
        found = state.path.evaluated
        if found.error == 0.0 and _can_be_separated(state.objective):
            state.is_separated = True
        return Report(
            first,
            further_reads=state.n_rows,
            finished=self._stall_reason(state) if state.readings.done else None,
            passes=1,
            updates=1,
            loss=found.loss,
            error=found.error,
            pass_loss=found.loss,
        )

    def between(self, state: ExactState, stream: Stream) -> Judgement | None:
        """The estimated loss of new rows and Newton's decrement, once the optimum is reached."""
        if state.readings.done and state.judgement is None:
            state.judgement = self._judge(state)
        return state.judgement

    def solution(self, state: ExactState) -> Model:
        """The optimum of the best penalty so far."""
        return state.path.system.to_user(state.path.best.model, state.dtype)

    def objective(self, state: ExactState) -> Objective:
        """The objective with the penalty that was given or chosen."""
        if state.objective.alpha is not None:
            return state.objective
        return replace(state.objective, alpha=state.path.best.lam / state.weight)

    def judgement(self, state: ExactState) -> Judgement | None:
        """The estimated loss of new rows, once the optimum is reached."""
        return state.judgement

    def summary(self, state: ExactState) -> str:
        """The estimated loss, and a penalty at an end of those that make a difference."""
        parts = [] if state.judgement is None else [state.judgement.loss_text]
        end = state.path.end if state.readings.done and state.objective.alpha is None else ""
        if end == "largest":
            parts.append("the best penalty is the largest: the features hardly help to predict the labels")
        elif end == "smallest":
            parts.append("the best penalty is the smallest that makes a difference")
        return "; ".join(filter(None, (*parts, state.path.remark)))

    def evidence(self, state: ExactState) -> dict[str, Any]:
        """The judgement, the penalty with losses of others that were tried, and whether the classes are separated."""
        judgement, losses = state.judgement, state.path.losses
        found: dict[str, Any] = {"alpha": self.objective(state).alpha}
        if state.objective.alpha is None and losses:
            tried = [[lam / state.weight, loss] for lam, loss in losses.items()]
            found |= {"alpha_chosen_by": state.path.compared_by, "alphas_tried": tried}
        if state.is_separated:
            found |= {"separation": "complete", "separable_rows": state.n_used}
        return found if judgement is None else found | judgement.evidence | {"decrement": judgement.decrement}

    def __str__(self) -> str:
        return "Newton's method"

    @abstractmethod
    def _judge(self, state: ExactState) -> Judgement:
        """Judgement of the best model."""

    def _raise_for_bad_row(self, state: ExactState, error: OverflowError) -> NoReturn:
        """Raise for a row that cannot be used."""
        raise error

    def _stall_reason(self, state: ExactState) -> Stop | None:
        """The reason why the optimum was not reached; None if it was."""
        decrement = state.path.best.decrement
        if decrement <= EXACT:
            return None
        known = f": Newton's decrement is {decrement:.2g}" if np.isfinite(decrement) else " in the passes allowed"
        reason = f"the exact optimum was not reached{known}"
        return Stop("", Status.STALLED, reason, {"decrement": decrement})


@final
@dataclass(frozen=True)
class ExactInMemory(ExactPhase):
    """The exact phase for rows in memory; the penalty with the least leave-one-out or cross-validation loss is chosen.

    The penalty acts on features in the units of the default fit. The model returned is the optimum of the mean loss
    plus that penalty.

    Parameters
    ----------
    tol : float, default=0.2
        Gain, in standard errors of the loss, for which more work than was spent is worth it.
    one_pass : bool, default=False
        Whether the rows can be read only once: enough for least squares.
    """

    needs: ClassVar[Needs] = Needs(all_rows=True, smooth_loss=True)

    tol: float = 0.2
    one_pass: bool = False

    def is_worthwhile(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase | None) -> bool:
        """Whether it is cheaper than the bank is expected to be or, after the bank, worth its cost."""
        if not stop.needs.judgement:  # a rule of the user's own ends the bank
            return False
        if before is None:
            return self.replaces_bank(objective, stream, stop)
        return self.follows_bank(objective, stream, before.method, before.state)

    def takes_over(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase) -> bool:
        """Whether the classes are nearly separated, and factors and enough passes are possible."""
        return not uses_folds(objective, stream.block) and _takes_over(objective, stream, stop, before)

    def replaces_bank(self, objective: Objective, stream: Stream, stop: StopRule) -> bool:
        """Whether it costs little enough, by what is known before the first row is read, and no budget is too small.

        Then optimum and penalty depend on the rows alone.
        """
        block = stream.block
        by_folds = uses_folds(objective, block)
        if by_folds and not has_likelihood(objective):
            return False
        needed = fold_readings(objective) if by_folds else 1.0 if is_least_squares(objective) else _PASSES
        if _passes_allowed(stop, block.rows.n_rows) < needed:
            return False
        many = rows_per_coefficient(objective, block) >= VERY_MANY_ROWS
        most = _MOST_WORK_OF_MANY_ROWS if many else _MOST_WORK
        return work_in_memory(objective, block) <= most * bank_work(objective, block)

    def follows_bank(self, objective: Objective, stream: Stream, method: Method, state: Any) -> bool:
        """Whether the method expects a gain, and it costs little enough beside what was spent.

        It was too expensive to replace the bank: what the bank is sure of is not found again.
        """
        if not method.expects_gain(state, self.tol):
            return False
        many = rows_per_coefficient(objective, stream.block) >= VERY_MANY_ROWS
        most = 1.0 if many or uses_folds(objective, stream.block) else _MOST_WORK
        return work_in_memory(objective, stream.block, warm=True) <= most * method.work(state)

    def is_better(self, state: ExactState, ended: Stop, before: EndedPhase) -> bool:
        """Whether it has converged and, if its penalty was chosen by folds, their loss is not larger than before."""
        if ended.status is not Status.CONVERGED:
            return False
        judgement, earlier = state.judgement, before.method.judgement(before.state)
        return not state.path.best.by_folds or judgement is None or earlier is None or not judgement.loss > earlier.loss

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> ExactState:
        """Measure the columns; nothing is evaluated yet."""
        rows = rows_of(stream)
        assert isinstance(rows, MemoryRows)
        with single_thread():
            path, units = path_in_memory(objective, rows, start, one_pass=self.one_pass)
            weight, matrix = rows.frequency * rows.block.total_weight, rows.block.rows
            return ExactState(rows, path, matrix.n_rows, rows.n_rows, weight, matrix.dtype, units)

    def end(self, state: ExactState, stream: Stream, limit: Any) -> None:
        """Evaluate the best model so far."""
        if state.judgement is None and state.path.best.losses.size:
            state.judgement = replace(self._judge(state), decrement=float("nan"))

    def hand_over(self, state: ExactState, main: Method, last: Any, stream: Stream) -> FoundModel:
        """The model, at which the main method can make a state."""
        block, found = stream.block, self.objective(state)
        # With classes the curvature depends on the loss only, and the rows need not be shuffled.
        window = block.used(0, WINDOW) if found.is_regression else np.empty(0, np.uint64)
        return FoundModel(
            main,
            self.solution(state),
            state.objective,
            found.known_alpha,
            state.units,
            rows=block.n_used,
            weight=block.total_weight / block.n_used,
            smoothness=curvature(state.objective, block.labels[window]),
            frequency=stream.source.frequency,
        )

    def evidence(self, state: ExactState) -> dict[str, Any]:
        """The judgement, the penalty, and whether a finite optimum without a penalty was proved to exist."""
        found = super().evidence(state)
        if state.judgement is None:
            return found
        return found | {"has_finite_optimum": not state.is_separated and state.path.has_finite_optimum()}

    def _judge(self, state: ExactState) -> Judgement:
        """The estimated loss of new rows; its error, and the loss of a constant prediction, from some of the rows."""
        best, objective, memory = state.path.best, state.objective, _memory(state)
        block = memory.block
        used = block.all_used()
        kind: LossEstimator = "cross-validation" if best.by_folds else "leave-one-out"
        known = used if best.rows is None else used[best.rows]
        places = np.arange(0, known.size, -(-known.size // _JUDGED))
        rows, total = known[places], state.weight
        labels, weights = block.labels[rows], memory.frequency * block.weights_of(rows)
        if best.losses.size:
            losses, of_constant = best.losses[places], losses_of_constant(objective, labels, weights, left_out=True)
        else:
            of_constant = losses_of_constant(objective, labels, weights, left_out=False)
            kind = "cross-validation"
            model = self.solution(state)
            scores = np.asarray(block.rows.matrix(rows) @ model.coef.T) + model.intercept
            losses = derivatives(objective, scores, labels).losses
        # Losses of a sample have the error of its mean; the estimated loss is that of all rows, or of those of folds.
        estimated = known.size if best.by_folds else used.size
        noise = frequency_error(losses, weights) * float(np.sqrt(rows.size / estimated))
        # Another sample of as many rows would give another model: see `FIT_VARIANCE`.
        wider = float(np.sqrt(1.0 + FIT_VARIANCE * min(best.model.size / total, 1.0)))
        return Judgement(
            state.path.loss,
            _with_rare_rows(wider * noise, state, known.size),
            gain=best.decrement / total,
            gain_error=0.0,
            noise=noise,
            estimated_by=kind,
            constant_loss=mean(of_constant, weights),
            beats_constant=not is_worse_than_constant(losses, of_constant, weights),
            decrement=best.decrement,
        )

    def _stall_reason(self, state: ExactState) -> Stop | None:
        """The reason why the optimum was not reached or, with folds, why it is of no use; None if there is none."""
        ended = super()._stall_reason(state)
        if ended is not None or not state.path.best.by_folds or self._judge(state).beats_constant:
            return ended
        return Stop("", Status.STALLED, "its model is worse than a constant prediction of held-out rows")

    def _raise_for_bad_row(self, state: ExactState, error: OverflowError) -> NoReturn:
        """Raise for a row that is not finite or, if squares of targets overflow, for the largest target."""
        block = _memory(state).block
        used = block.all_used()
        check_rows(block, used)
        row = used[int(np.argmax(np.abs(block.labels[used])))]
        raise RowError("", int(row), " cannot be used: X or the label there is too large. Scale them")


@final
@dataclass(frozen=True)
class ExactFromDisk(ExactPhase):
    """The exact phase after another one, for rows that are read block by block.

    There must be many more rows than coefficients. The first reading also gives the best penalty of a likelihood.
    Validation rows are trained on too: the loss that the verdict reports is that of the model before, which did not see
    them, or the leave-one-out loss where that chose the penalty.
    """

    needs: ClassVar[Needs] = Needs(smooth_loss=True)

    def is_worthwhile(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase | None) -> bool:
        """Whether it costs less than reading and training did, and the penalty hardly matters."""
        if before is None or not stream.source.can_be_read_again or not stop.needs.judgement:
            return False
        n_rows = stream.n_rows or 0
        coefficients = (stream.source.n_features + 1) * objective.n_free_outputs
        if coefficients > MOST_SUMMED or n_rows < ROWS_PER_COEFFICIENT * coefficients:
            return False
        spent = reading_work(stream.block, n_rows) + before.method.work(before.state)
        return exact_work_from_disk(objective, stream.block, n_rows) <= spent

    def takes_over(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase) -> bool:
        """Whether the classes are nearly separated, and enough passes are possible."""
        return _takes_over(objective, stream, stop, before)

    def is_better(self, state: ExactState, ended: Stop, before: EndedPhase) -> bool:
        """Whether it has converged: then its model is the minimum of the same objective, on many rows."""
        return ended.status is Status.CONVERGED

    def start_after(self, objective: Objective, stream: Stream, before: EndedPhase) -> ExactState:
        """State at the model, the penalty and the units of the phase before it."""
        state = before.state
        found, model, weight = before.method.objective(state), before.model, stream.source.total_weight
        chooses, n_rows = objective.alpha is None and has_likelihood(objective), stream.n_rows or 0
        system = System(objective if chooses else found, state.units.scaling)
        start, lam = system.from_user(model.coef, model.intercept), found.known_alpha * weight
        problem, judgement = Problem(system, system.penalties(0.0), n_rows), before.method.judgement(state)
        path = SummedPath(problem, ChosenPenalty(lam, start), chooses=chooses, is_near=True)
        dtype, units = model.coef.dtype, state.units
        return ExactState(rows_of(stream), path, n_rows, n_rows, weight, dtype, units, judgement)

    def hand_over(self, state: ExactState, main: Method, last: Any, stream: Stream) -> Any:
        """The last state of the main method, moved to the optimum."""
        alpha = self.objective(state).known_alpha
        return main.continue_at(FoundModel(main, self.solution(state), state.objective, alpha, state.units), last)

    def summary(self, state: ExactState) -> str:
        """The estimated loss of new rows, as text."""
        known = state.judgement or state.before
        return "" if known is None else known.loss_text

    def _judge(self, state: ExactState) -> Judgement:
        """Newton's decrement, and the leave-one-out loss if it is known; otherwise that of the phase before."""
        path, judgement = state.path, state.before or Judgement(float("nan"))
        if isinstance(path, SummedPath) and path.loss_error == path.loss_error:
            error = _with_rare_rows(path.loss_error, state, state.n_used)
            judgement = replace(judgement, loss=path.loss, loss_error=error, estimated_by="leave-one-out")
        return replace(judgement, gain=0.0, gain_error=0.0, decrement=path.best.decrement)


def _takes_over(objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase) -> bool:
    """Whether validation rows are predicted almost without loss, and no budget is too small for Newton's method."""
    judgement = before.method.judgement(before.state)
    if judgement is None or not _can_be_separated(objective):
        return False
    near = judgement.loss <= _NEARLY_SEPARATED * judgement.constant_loss
    return near and _passes_allowed(stop, stream.n_rows or 1) >= _PASSES


def _can_be_separated(objective: Objective) -> bool:
    """Whether a model without errors has no finite optimum near it: the loss falls as all its scores grow."""
    return objective.loss.fades and not objective.center and objective.predicts in ("two_classes", "softmax")


def _with_rare_rows(error: float, state: ExactState, judged: int) -> float:
    """The standard error of a loss of judged rows, with that of one more error among them if rows are separated.

    A sample that has no errors, or one or two, does not tell how rare they are.
    """
    return math.hypot(error, _LOSS_OF_ERROR / judged) if state.is_separated else error


def _memory(state: ExactState) -> MemoryRows:
    assert isinstance(state.rows, MemoryRows)
    return state.rows


def _passes_allowed(stop: StopRule, n_rows: int) -> float:
    """Passes that budgets of passes or samples allow."""
    pauses = [budget.next_pause(budget.start(n_rows)) for budget in stop.budgets]
    return min((min(pause.step, pause.rows_read) for pause in pauses), default=NEVER) / n_rows
