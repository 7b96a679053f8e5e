"""The finish of a fit from files: Newton's method in passes over the blocks."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import work
from sgdone.auto.bank_state import BankState
from sgdone.auto.exact_rule import can_be_exact, exact_rule
from sgdone.auto.penalty_path import Evaluated, Readings
from sgdone.data.source import Block, Source
from sgdone.data.stream import Stream
from sgdone.data.threads import single_thread
from sgdone.interfaces.method import Finish, Method, Report
from sgdone.interfaces.needs import Needs
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement, Model
from sgdone.interfaces.stop import Status, Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.newton import EXACT, Followed, Minimum, Position, Problem, minimise
from sgdone.newton.direction import ByFactors, Factors, Point
from sgdone.steps.step_size import StepSize
from sgdone.sums.row_sum import DiskRows
from sgdone.sums.second_order import SecondOrder, SecondOrderAt
from sgdone.sums.system import System

Array = NDArray[np.float64]

#: Largest number of coefficients: their curvature is a small matrix, and its products take no longer than reading.
_MOST_COEFFICIENTS = 1024
#: Penalties that are compared, in rows: features have the variance 1.
STRENGTHS = 10.0 ** (np.arange(-6, 9) / 2.0)
#: Rows for each coefficient: with fewer, the penalty matters, and only a path of them would tell the best.
ROWS_PER_COEFFICIENT = 50


@dataclass
class BlockFinishState:
    """Where Newton's method is."""

    system: System
    rows: DiskRows
    weight: float
    dtype: Any
    #: Validation loss of the previous method.
    before: Judgement | None
    #: Whether the penalty is chosen again.
    chooses: bool
    start: Array
    readings: Followed = field(init=False)
    position: Position = field(default_factory=Position)
    found: Minimum | None = None
    evaluated: Evaluated = field(default_factory=Evaluated)
    steps: int = 0
    done: bool = False
    judgement: Judgement | None = None

    def evaluate(self) -> Readings:
        """Find the optimum. The first reading also tells the penalty."""
        sums: SecondOrder = yield SecondOrderAt(self.system, self.start)
        system = self.system
        if self.chooses:
            strength = best_strength(system, sums, self.start)
            self.system = replace(system, objective=replace(system.objective, alpha=strength / self.weight))
        penalties = system.penalties(self.system.objective.penalty * self.weight)
        problem = Problem(system, penalties, self.rows.n_rows)
        self.found = yield from minimise(
            problem, self.start, EXACT, ByFactors(system), known=sums, position=self.position
        )


def best_strength(system: System, sums: SecondOrder, model: Array) -> float:
    """The penalty with the least expected loss of new rows, from the sums at a model near the optima.

    To second order the loss at the optimum of a penalty λ is L + gᵀd + dᵀHd/2 with d = −(H + Λ)⁻¹(g + Λw), and new rows
    have a loss that is larger by its effective degrees of freedom tr (H + Λ)⁻¹H, times the variance of the residuals in
    a regression (Akaike 1974; Hastie, Tibshirani & Friedman 2009, section 7.6).
    """
    unit = sums.dispersion(system.objective)
    best, least = 0.0, np.inf
    for strength in unit * STRENGTHS:
        own = system.penalties(float(strength))
        factors = Factors.of(sums.curvature, own, model.shape[1])
        step = factors.solve(-Point.of(sums, model, own).gradient)
        flat = step.T.ravel()
        change = float(np.vdot(sums.gradient, step)) + 0.5 * float(flat @ (sums.curvature @ flat))
        inverse = factors.inverse()
        inverse[factors.fixed, :] = inverse[:, factors.fixed] = 0.0
        expected = change + unit * float(np.vdot(inverse, sums.curvature))
        if expected < least:
            best, least = float(strength), expected
    return best


def has_likelihood(objective: Objective) -> bool:
    """Whether the loss is a negative log-likelihood, up to a factor."""
    return objective.loss.probabilistic or (objective.is_regression and objective.loss.quadratic)


@final
@dataclass(frozen=True)
class BlockFinish(Finish):
    """Newton's method on all rows of a source, from the model of the method before it.

    For smooth convex losses, rows that are read block by block, and many more rows than coefficients. Each evaluation
    is a pass over the blocks; the first one also tells the best penalty of a likelihood. Validation rows are trained
    on too: the loss that the verdict reports is that of the model before the finish, which did not see them.

    Parameters
    ----------
    tol : float, default=0.2
        As in `sgdone.auto.Bank`.
    """

    needs: ClassVar[Needs] = Needs(smooth_loss=True)
    offers: ClassVar[Needs] = Needs(
        mixed_rows=True, any_scales=True, several_outputs=True, choice_of_alpha=True, judgement=True, decrement=True
    )
    whole_passes: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = False
    can_diverge: ClassVar[bool] = False

    tol: float = 0.2

    def suits(self, objective: Objective, source: Source, stop: StopRule) -> bool:
        """For smooth convex losses, rows that can be read again, and fits that `Gain` would end."""
        return source.can_be_read_again and can_be_exact(objective, stop)

    def comes_first(self, objective: Objective, stream: Stream, stop: StopRule) -> bool:
        """Never: the number of rows is not known."""
        return False

    def pays(self, objective: Objective, stream: Stream, method: Method, state: Any) -> bool:
        """Where it costs less than reading and training did, and the penalty hardly matters."""
        n_rows = stream.n_rows or 0
        coefficients = (stream.source.n_features + 1) * objective.n_free_outputs
        if coefficients > _MOST_COEFFICIENTS or n_rows < ROWS_PER_COEFFICIENT * coefficients:
            return False
        spent = work.of_reading(stream.block, n_rows) + method.work(state)
        return work.of_block_finish(objective, stream.block, n_rows) <= spent

    def is_better(self, state: BlockFinishState, loss: float) -> bool:
        """Always: the minimum of the same objective, on many rows."""
        return True

    def rule(self, stop: StopRule) -> StopRule:
        """`Decrement`, and the budgets of the run."""
        return exact_rule(stop)

    def units(self, state: BlockFinishState) -> Any:
        """Those of the method before it."""
        return None

    def start(
        self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None
    ) -> BlockFinishState:
        """It follows another method: see `begin`."""
        raise TypeError("a finish over blocks follows another method")

    def begin(self, objective: Objective, stream: Stream, method: Method, state: BankState, start: Any) -> Any:
        """At the model, the penalty and the units of the method."""
        system = System(method.objective(state), state.units.scaling)
        found = BlockFinishState(
            system,
            DiskRows(stream.source),
            stream.source.total_weight,
            start.coef.dtype,
            state.run.evaluations.judgement,
            objective.alpha is None and has_likelihood(objective),
            system.from_user(start.coef, start.intercept),
        )
        found.readings = Followed(found.rows, found.evaluate())
        return found

    def resume(self, state: BlockFinishState, stream: Stream) -> BlockFinishState:
        """It is never left unfinished."""
        raise TypeError("a finish cannot be resumed")

    def advance(
        self, state: Any, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Evaluate the objective once."""
        if not updates or first >= last:
            return Report(first)
        with single_thread(), np.errstate(over="ignore", invalid="ignore"):
            request, value = state.readings.read()
        state.done = state.readings.done
        state.steps += 1
        if request is not None and request.is_evaluation:
            state.evaluated = Evaluated.of(value, state.rows.n_rows)
        found = state.evaluated
        return Report(
            first,
            further_reads=state.rows.n_rows,
            finished=self._unless_exact(state) if state.done else None,
            passes=1,
            updates=1,
            loss=found.loss,
            error=found.error,
            pass_loss=found.loss,
        )

    def between(self, state: BlockFinishState, stream: Stream) -> Judgement | None:
        """What the method before it said, and the decrement, once the optimum is reached."""
        if state.done and state.judgement is None:
            assert state.found is not None
            unknown, decrement = float("nan"), state.found.decrement
            before = state.before or Judgement(unknown, unknown, 0.0, 0.0, unknown, unknown)
            state.judgement = replace(before, gain=0.0, gain_error=0.0, decrement=decrement)
        return state.judgement

    def state_after(
        self, own: BlockFinishState, method: Method, state: Any, model: Model, objective: Objective, stream: Stream
    ) -> Any:
        """The state of the method, moved to the optimum."""
        state.adopt(model)
        state.run.solution = model
        return state

    def solution(self, state: BlockFinishState) -> Model:
        """The model so far, in the user's units."""
        at = state.position.model
        found = state.found.model if state.found is not None else state.start if at is None else at
        return state.system.to_user(found, state.dtype)

    def objective(self, state: BlockFinishState) -> Objective:
        """That of the method before it."""
        return state.system.objective

    def summary(self, state: BlockFinishState) -> str:
        """The validation loss."""
        return "" if state.before is None else state.before.loss_text

    def evidence(self, state: BlockFinishState) -> dict[str, Any]:
        """The judgement."""
        judgement = state.judgement
        found: dict[str, Any] = {"alpha": state.system.objective.alpha}
        if judgement is None:
            return found
        return found | {
            "loss": judgement.loss,
            "standard_error": judgement.loss_error,
            "constant_loss": judgement.constant_loss,
            "gain": judgement.gain,
            "decrement": judgement.decrement,
        }

    def __str__(self) -> str:
        return "the exact finish"

    def _unless_exact(self, state: BlockFinishState) -> Stop | None:
        """Why the optimum was not reached; None if it was."""
        found = state.found
        if found is None or found.decrement <= EXACT:
            return None
        reason = f"the exact optimum was not reached: Newton's decrement is {found.decrement:.2g}"
        return Stop("", Status.STALLED, reason, {"decrement": found.decrement})
