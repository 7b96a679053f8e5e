"""The finish: the exact optimum, for the best of a path of penalties."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import fold_work, work
from sgdone.auto.constants import FIT_VARIANCE
from sgdone.auto.exact_rule import can_be_exact, exact_rule
from sgdone.auto.finish_state import FinishState, start_path
from sgdone.auto.leave_one_out import losses_of_constant
from sgdone.auto.penalty_path import Evaluated
from sgdone.auto.units import Units
from sgdone.data.bad_rows import check_rows
from sgdone.data.source import Block, Source
from sgdone.data.stream import Stream
from sgdone.data.threads import blas_threads, single_thread
from sgdone.interfaces.measured import mean
from sgdone.interfaces.method import Finish, Method, Report
from sgdone.interfaces.needs import Needs
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import NEVER, Estimate, Judgement, Model
from sgdone.interfaces.stop import Status, Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.message_text import RowError
from sgdone.newton import EXACT
from sgdone.run.constant_prediction import is_worse_than_constant
from sgdone.steps.step_size import StepSize
from sgdone.sums.derivatives import derivatives

Array = NDArray[np.float64]

#: Passes that a budget must allow for the finish to come first: a path of penalties seldom needs more.
_PASSES = 50.0
#: Largest cost of a finish instead of the bank, relative to that, on small data: it gives exact coefficients.
_HEAD_START, _SMALL = 1.5, 20_000
#: Largest cost of a finish after another method, relative to what was spent.
_MOST_WORK = 10.0
#: Rows from which the error of the loss is estimated.
_JUDGED = 32768


@final
@dataclass(frozen=True)
class ExactFinish(Finish):
    """Newton's method along a path of penalties; the penalty with the least leave-one-out loss is chosen.

    For smooth convex losses, all rows being in memory. The penalty acts on features in the units of the default fit.
    The model returned is the optimum of the mean loss plus that penalty.

    Parameters
    ----------
    tol : float, default=0.2
        Gain, in standard errors of the loss, for which more work than was spent is worth it.
    one_pass : bool, default=False
        Whether the rows can be read only once: enough for least squares.
    """

    needs: ClassVar[Needs] = Needs(all_rows=True, smooth_loss=True)
    offers: ClassVar[Needs] = Needs(
        mixed_rows=True, any_scales=True, several_outputs=True, choice_of_alpha=True, judgement=True, decrement=True
    )
    whole_passes: ClassVar[bool] = True
    can_diverge: ClassVar[bool] = False

    tol: float = 0.2
    one_pass: bool = False

    def suits(self, objective: Objective, source: Source, stop: StopRule) -> bool:
        """For smooth convex losses, rows in memory, and fits that `Gain` would end."""
        return source.in_memory and not source.part_of_stream and can_be_exact(objective, stop)

    def comes_first(self, objective: Objective, stream: Stream, stop: StopRule) -> bool:
        """Where it is expected to cost less than the bank, and no budget is too small for it."""
        block = stream.block
        if not work.factorises(objective, block):
            return False
        needed = 1.0 if work.is_least_squares(objective) else _PASSES
        if _passes_allowed(stop, block.rows.n_rows) < needed:
            return False
        head_start = _HEAD_START if block.n_used <= _SMALL else 1.0
        return work.of_finish(objective, block) <= head_start * work.of_bank(objective, block)

    def pays(self, objective: Objective, stream: Stream, method: Method, state: Any) -> bool:
        """Where it costs less than was spent, or the method expects a gain that matters."""
        cost, spent = fold_work.of_finish(objective, stream.block), method.work(state)
        return cost <= spent or (cost <= _MOST_WORK * spent and method.expects_gain(state, self.tol))

    def is_better(self, state: FinishState, loss: float) -> bool:
        """An optimum by factors always; one whose penalty was chosen by folds, if their loss is not larger."""
        best, judgement = state.path.best, state.judgement
        by_folds = best is not None and best.rows is not None
        return not by_folds or judgement is None or not judgement.loss > loss

    def rule(self, stop: StopRule) -> StopRule:
        """`Decrement`, and the budgets of the run."""
        return exact_rule(stop)

    def units(self, state: FinishState) -> Units:
        """Those of all rows, or the given ones if these were better."""
        return state.path.units(state.units)

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> FinishState:
        """Measure the columns; nothing is evaluated yet."""
        threads = blas_threads()
        with single_thread():
            return start_path(objective, stream, start, threads, one_pass=self.one_pass)

    def resume(self, state: FinishState, stream: Stream) -> FinishState:
        """It is never left unfinished."""
        raise TypeError("a finish cannot be resumed")

    def advance(
        self, state: FinishState, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Evaluate the objective once."""
        if not updates or first >= last:
            return Report(first)
        try:
            with single_thread(), np.errstate(over="ignore", invalid="ignore"):
                request, value = state.readings.read()
        except OverflowError:
            _raise_for_bad_row(state)
        state.done = state.readings.done
        state.steps += 1
        if request is not None and request.is_evaluation:
            state.path.evaluated = Evaluated.of(value, state.rows.n_rows)
        found = state.path.evaluated
        return Report(
            first,
            further_reads=block.rows.n_rows,
            finished=self._unless_exact(state) if state.done else None,
            passes=1,
            updates=1,
            loss=found.loss,
            error=found.error,
            pass_loss=found.loss,
        )

    def between(self, state: FinishState, stream: Stream) -> Judgement | None:
        """The estimated loss of new rows, once the best penalty is known."""
        if state.done and state.judgement is None:
            state.judgement = self._judge(state)
        return state.judgement

    def end(self, state: FinishState, stream: Stream, limit: Any) -> None:
        """Judge the best model so far."""
        best = state.path.best
        if state.judgement is None and best is not None and best.losses.size:
            state.judgement = replace(self._judge(state), decrement=float("nan"))

    def solution(self, state: FinishState) -> Model:
        """The optimum of the best penalty so far."""
        best = state.path.best
        return state.system.to_user(state.start if best is None else best.model, state.block.rows.dtype)

    def objective(self, state: FinishState) -> Objective:
        """The objective with the penalty that was chosen."""
        best = state.path.best
        alpha = state.objective.alpha if best is None or state.objective.alpha is not None else best.penalty
        weight = 1.0 if state.objective.alpha is not None else state.weight
        return replace(state.objective, alpha=0.0 if alpha is None else alpha / weight)

    def summary(self, state: FinishState) -> str:
        """The estimated loss, and a penalty at an end of those that make a difference."""
        parts = [] if state.judgement is None else [state.judgement.loss_text]
        end = state.path.grid.end if state.done and state.objective.alpha is None else ""
        if end == "largest":
            parts.append("the best penalty is the largest: the features hardly help to predict the labels")
        elif end == "smallest":
            parts.append("the best penalty is the smallest that makes a difference")
        return "; ".join(filter(None, (*parts, state.path.remark)))

    def evidence(self, state: FinishState) -> dict[str, Any]:
        """The judgement, and the penalties that were tried with their estimated losses."""
        judgement = state.judgement
        found: dict[str, Any] = {"alpha": self.objective(state).alpha}
        if judgement is None:
            return found
        return found | {
            "loss": judgement.loss,
            "standard_error": judgement.loss_error,
            "constant_loss": judgement.constant_loss,
            "gain": judgement.gain,
            "decrement": judgement.decrement,
            "has_finite_optimum": state.path.has_finite_optimum(),
        }

    def __str__(self) -> str:
        return "the exact finish"

    def _unless_exact(self, state: FinishState) -> Stop | None:
        """Why the optimum was not reached; None if it was."""
        best = state.path.best
        if best is None or best.decrement <= EXACT:
            return None
        reason = f"the exact optimum was not reached: Newton's decrement is {best.decrement:.2g}"
        return Stop("", Status.STALLED, reason, {"decrement": best.decrement})

    def _judge(self, state: FinishState) -> Judgement:
        """The estimated loss of new rows; its error, and the loss of a constant prediction, from some of the rows."""
        best, objective, block = state.path.best, state.objective, state.block
        assert best is not None
        used = block.all_used()
        kind: Estimate = "leave-one-out"
        if best.rows is not None:
            kind, used = "cross-validation", used[best.rows]
        places = np.arange(0, used.size, -(-used.size // _JUDGED))
        rows, total = used[places], state.weight
        labels, weights = block.labels[rows], state.rows.frequency * block.weights_of(rows)
        if best.losses.size:
            losses, of_constant = best.losses[places], losses_of_constant(objective, labels, weights, left_out=True)
        else:
            of_constant = losses_of_constant(objective, labels, weights, left_out=False)
            kind = "cross-validation"
            model = self.solution(state)
            scores = np.asarray(block.rows.matrix(rows) @ model.coef.T) + model.intercept
            losses = derivatives(objective, scores, labels).losses
        noise = _standard_error(losses, weights) * float(np.sqrt(rows.size / used.size))
        # Another sample of as many rows would give another model: see `FIT_VARIANCE`.
        wider = float(np.sqrt(1.0 + FIT_VARIANCE * min(best.model.size / total, 1.0)))
        return Judgement(
            state.path.loss,
            wider * noise,
            gain=best.decrement / total,
            gain_error=0.0,
            passes=float("nan"),
            noise=noise,
            estimated_by=kind,
            constant_loss=mean(of_constant, weights),
            beats_constant=not is_worse_than_constant(losses, of_constant, weights),
            decrement=best.decrement,
        )


def _standard_error(losses: Array, weights: Array) -> float:
    """Standard error of a mean loss of rows with frequencies: a row of weight 2 counts as two."""
    apart = losses - mean(losses, weights)
    unit = float(np.abs(apart).max(initial=0.0)) or 1.0
    return unit * float(np.sqrt((weights * (apart / unit) ** 2).sum()) / weights.sum())


def _passes_allowed(stop: StopRule, n_rows: int) -> float:
    """Passes that budgets of passes or samples allow."""
    pauses = [leaf.next_pause(leaf.start(n_rows)) for leaf in stop.leaves if leaf.is_budget and leaf.label]
    return min((min(pause.step, pause.rows_read) for pause in pauses), default=NEVER) / n_rows


def _raise_for_bad_row(state: FinishState) -> NoReturn:
    """Raise for a row that is not finite or, of targets whose squares overflow, for the largest."""
    block = state.block
    used = block.all_used()
    check_rows(block, used)
    row = used[int(np.argmax(np.abs(block.labels[used])))]
    raise RowError("", int(row), " cannot be used: X or the label there is too large. Scale them")
