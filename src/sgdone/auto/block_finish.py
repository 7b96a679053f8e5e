"""The finish of a fit from files: Newton's method in passes over the blocks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import work
from sgdone.auto.bank_state import BankState
from sgdone.auto.exact_rule import can_be_exact, exact_rule
from sgdone.data.rows import Scaling
from sgdone.data.source import Block, Source
from sgdone.data.stream import Stream
from sgdone.data.threads import blas_threads, mapped, single_thread
from sgdone.interfaces.method import Finish, Method, Report
from sgdone.interfaces.needs import Needs
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement, Model
from sgdone.interfaces.stop import Status, Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.solvers.minimisation import EXACT, Minimisation, dispersion
from sgdone.solvers.newton_step import Factors, Penalised
from sgdone.steps.step_size import StepSize
from sgdone.sums.pieces import PIECE, Piece, Pieces
from sgdone.sums.second_order import SecondOrder, contrasts, free_model

Array = NDArray[np.float64]
Found = TypeVar("Found")

#: Largest number of coefficients: their curvature is a small matrix, and its products take no longer than reading.
_MOST_COEFFICIENTS = 1024
#: Penalties that are compared, in rows: features have the variance 1.
STRENGTHS = 10.0 ** (np.arange(-6, 9) / 2.0)
#: Rows for each coefficient: with fewer, the penalty matters, and only a path of them would tell the best.
ROWS_PER_COEFFICIENT = 50


@final
class BlockPieces:
    """The rows of a source in the units of the sums, as `sgdone.sums.pieces.Pieces` has those of a matrix.

    Pieces are cut by the number of the row in its source, so that the size of blocks does not matter.
    """

    def __init__(self, source: Source, scaling: Scaling, n_features: int) -> None:
        self._source, self.scaling, self.n_features = source, scaling, n_features
        self.n_rows, self.width, self.frequency = source.n_rows or 0, n_features + 1, 1.0
        self.threads = blas_threads()

    def map(self, function: Callable[[Piece], Found]) -> Iterable[Found]:
        """Apply a function to each piece, in order; reads all blocks once."""
        return mapped(function, self._pieces(), self.threads)

    def __iter__(self) -> Iterator[Piece]:
        return self._pieces()

    def _pieces(self) -> Iterator[Piece]:
        for block in self._source.blocks_in_order(self.n_features):
            used = block.all_used()
            numbers = used // np.uint64(PIECE)
            ends = np.flatnonzero(np.diff(numbers)) + 1
            chosen = [part.astype(np.intp) for part in np.split(used, ends) if part.size]
            yield from Pieces(block, self.scaling).of_rows(chosen)


@dataclass
class BlockFinishState:
    """Where Newton's method is."""

    objective: Objective
    pieces: Any
    weight: float
    dtype: Any
    #: What the method before it said of its model.
    before: Judgement | None
    #: Whether the penalty is chosen again.
    chooses: bool
    search: Minimisation = field(init=False)
    evaluations: Iterator[None] = field(init=False)
    steps: int = 0
    done: bool = False
    judgement: Judgement | None = None

    def at_penalty(self, model: Array) -> Minimisation:
        """A search for the optimum at the present penalty, from a model."""
        penalties = self._penalties(self.objective.penalty * self.weight)
        return Minimisation(self.objective, self.pieces, penalties, model, None, cheap=True)

    def evaluate(self, model: Array) -> Iterator[None]:
        """Find the optimum; stops before each reading of the rows. The first one also tells the penalty."""
        yield from self.search.first_evaluation()
        sums = self.search.sums
        if self.chooses:
            strength = best_strength(self.objective, sums, model, self._penalties)
            self.objective = replace(self.objective, alpha=strength / self.weight)
            known = self.search.evaluated
            self.search = self.at_penalty(model)
            self.search.evaluated = known
        yield from self.search.evaluations(EXACT, sums)

    def _penalties(self, strength: float) -> Array:
        found = np.full(self.pieces.width, strength)
        found[:-1][~np.isfinite(self.pieces.scaling.scale)] = np.inf
        found[-1] = 0.0 if self.objective.fit_intercept else np.inf
        return found


def best_strength(objective: Objective, sums: SecondOrder, model: Array, penalties: Callable[[float], Array]) -> float:
    """The penalty with the least expected loss of new rows, from the sums at a model near the optima.

    To second order the loss at the optimum of a penalty λ is L + gᵀd + dᵀHd/2 with d = −(H + Λ)⁻¹(g + Λw), and new rows
    have a loss that is larger by its effective degrees of freedom tr (H + Λ)⁻¹H, times the variance of the residuals in
    a regression (Akaike 1974; Hastie, Tibshirani & Friedman 2009, section 7.6).
    """
    unit = dispersion(objective, sums)
    best, least = 0.0, np.inf
    for strength in unit * STRENGTHS:
        own = penalties(float(strength))
        factors = Factors.of(sums.curvature, own, model.shape[1])
        step = factors.solve(-Penalised.of(sums, model, own).gradient)
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
        pieces: Any = BlockPieces(stream.source, state.units.scaling, state.units.n_features)
        at = free_model(objective, pieces.scaling, start.coef.astype(np.float64), start.intercept)
        found = BlockFinishState(
            method.objective(state),
            pieces,
            stream.source.total_weight,
            start.coef.dtype,
            state.run.evaluations.judgement,
            chooses=objective.alpha is None and has_likelihood(objective),
        )
        found.search = found.at_penalty(at)
        found.evaluations = found.evaluate(at)
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
        if not state.steps:
            next(state.evaluations)  # it stops before each evaluation
        try:
            with single_thread(), np.errstate(over="ignore", invalid="ignore"):
                next(state.evaluations)
        except StopIteration:
            state.done = True
        state.steps += 1
        found = state.search.evaluated
        return Report(
            first,
            further_reads=state.pieces.n_rows,
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
            unknown, decrement = float("nan"), state.search.decrement / state.search.dispersion
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
        model, scaling, basis = state.search.model, state.pieces.scaling, contrasts(state.objective)
        if basis is not None:
            model = model @ basis.T
        coef = model[:-1] / scaling.scale[:, None]
        intercept = model[-1] - (0.0 if scaling.shift is None else scaling.shift @ coef)
        return Model(coef.T.astype(state.dtype), np.ascontiguousarray(intercept))

    def objective(self, state: BlockFinishState) -> Objective:
        """That of the method before it."""
        return state.objective

    def summary(self, state: BlockFinishState) -> str:
        """The validation loss."""
        return "" if state.before is None else state.before.loss_text

    def evidence(self, state: BlockFinishState) -> dict[str, Any]:
        """The judgement."""
        judgement = state.judgement
        found: dict[str, Any] = {"alpha": state.objective.alpha}
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
        search = state.search
        if search.decrement / search.dispersion <= EXACT:
            return None
        reason = f"the exact optimum was not reached: Newton's decrement is {search.decrement:.2g}"
        return Stop("", Status.STALLED, reason, {"decrement": search.decrement})
