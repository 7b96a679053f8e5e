"""Newton's method on all rows."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Judgement, Objective
from sgdone.interfaces.stop_rule import Needs
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE
from sgdone.newton import Problem, SearchProgress, SearchRunner, minimise
from sgdone.newton.search import MOST_FACTORISED, CholeskyDirection, ConjugateGradients
from sgdone.rows.rows import Block, Rows, Scaling, check_rows
from sgdone.rows.source import Stream
from sgdone.solvers.batch import BatchSolver, DescentOutcome
from sgdone.solvers.state import State
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.second_order import SecondOrder
from sgdone.sums.system import System
from sgdone.sums.units import comparable_units

Array = NDArray[np.float64]


@dataclass
class NewtonSearch:
    """State of Newton's method: units in which columns are comparable, and the objective at the last accepted point.

    The search itself is not kept: it begins again at the iterate.
    """

    scale: Array = field(default_factory=lambda: np.empty(0))
    shift: Array = field(default_factory=lambda: np.empty(0))
    #: Objective, and by how much it exceeds its minimum, to second order: sums over ``rows`` rows.
    value: float = 0.0
    decrement: float = 0.0
    rows: int = 0
    progress: SearchProgress = field(default_factory=SearchProgress, init=False, repr=False, compare=False)
    followed: SearchRunner | None = field(default=None, init=False, repr=False, compare=False)

    def __deepcopy__(self, memo: Any) -> "NewtonSearch":
        return NewtonSearch(self.scale.copy(), self.shift.copy(), self.value, self.decrement, self.rows)


@final
@dataclass(frozen=True)
class Newton(BatchSolver):
    """w ← w − s·H⁻¹g, g and H the gradient and the curvature of the objective over all rows, s found by halving.

    For smooth convex losses, all rows being in memory. An update evaluates the objective with its derivatives at one
    point and counts as a pass. Columns are centred and scaled in the sums, which changes neither the objective nor its
    minimum but keeps digits. H is factorised up to 4,096 coefficients; beyond, H⁻¹g is found by conjugate gradients,
    whose products also read all rows but are not counted as passes. By default it stops by the rule
    `sgdone.stopping.Decrement`.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None] + 1e6
    >>> model = SGDRegressor(solver="newton", alpha=0).fit(X, 3.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(6), model.verdict_.step
    (array([3.]), 2)
    """

    name: ClassVar[str] = "newton"
    needs: ClassVar[Needs] = BatchSolver.needs | Needs(smooth_loss=True)
    offers: ClassVar[Needs] = Needs(iterate=True, decrement=True, any_scales=True)
    default_rule: ClassVar[str] = "decrement"
    keeps: ClassVar[type] = NewtonSearch

    @property
    def default_step(self) -> StepSize:
        """The whole direction first."""
        return Constant(1.0)

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights; nothing is evaluated yet."""
        if objective.center:
            raise ValueError("newton finds the intercept together with the coefficients: use center=False")
        return super().begin(objective, rows, step, coef, intercept)

    def descend(self, state: State, block: Block, sizes: Array) -> DescentOutcome:
        """Evaluate the objective as many times; each point that is low enough is the next to start from."""
        search: NewtonSearch = state.extra
        predictions, slopes = np.zeros(sizes.size), np.zeros(sizes.size)
        for made in range(sizes.size):
            with np.errstate(over="ignore", invalid="ignore"):
                if not self._update(state, search, block):
                    rows = block.all_used()
                    check_rows(block, rows)  # names the row, if one of them cannot be used
                    return DescentOutcome(made, NOT_FINITE, int(rows[0]), predictions, slopes)
        return DescentOutcome(sizes.size, CONTINUE, 0, predictions, slopes)

    def between(self, state: State, stream: Stream) -> Judgement | None:
        """The objective, and what is left to gain."""
        search: NewtonSearch = state.extra
        if not search.rows:
            return None
        mean, left = search.value / search.rows, search.decrement / search.rows
        return Judgement(mean, gain=left, gain_error=0.0, estimated_by="training", decrement=search.decrement)

    def check_memory(self, state: State) -> None:
        """Shapes of what it keeps."""
        super().check_memory(state)
        for name in ("scale", "shift"):
            array = getattr(state.extra, name)
            if array.shape not in ((0,), (state.n_features,)) or array.dtype != np.float64:
                raise ValueError(f"the state of {self.name} has a {name} of shape {array.shape}")

    def _update(self, state: State, search: NewtonSearch, block: Block) -> bool:
        """Evaluate one point; returns whether it is finite, or another may be."""
        if not search.scale.size:
            block.rows.check_indices()
            scaling = comparable_units(block, centred=state.objective.fit_intercept)
            search.scale, search.shift = scaling.scale, np.empty(0) if scaling.shift is None else scaling.shift
        system = System(state.objective, Scaling(search.scale, search.shift if search.shift.size else None))
        if search.followed is None or search.followed.done:
            search.followed = _begun(system, state, search, block)
        try:
            _, sums = search.followed.read()
        except OverflowError:
            return False
        _count(state, sums, block)
        at = search.progress
        if at.model is not None:
            search.value, search.decrement, search.rows = at.value, at.decrement, block.n_used
            found = system.to_user(at.model)
            state.set_running(found.coef[0], float(found.intercept[0]))
        return bool(np.isfinite(sums.loss)) or at.model is not None


def _begun(system: System, state: State, search: NewtonSearch, block: Block) -> SearchRunner:
    """A search from the state's iterate. The penalty acts on coefficients in the user's units."""
    coef, intercept = state.running()
    start = system.from_user(coef[None, :], np.array([intercept]))
    penalties = system.penalties(state.objective.known_alpha * block.n_used / search.scale**2)
    problem, search.progress = Problem(system, penalties, block.n_used), SearchProgress()
    directions = CholeskyDirection(system) if start.size <= MOST_FACTORISED else ConjugateGradients(system)
    # A stopping rule ends it.
    return SearchRunner(MemoryRows(block), minimise(problem, start, 0.0, directions, progress=search.progress))


def _count(state: State, sums: SecondOrder, block: Block) -> None:
    """Add an update, and the losses of all rows as if they were a stretch."""
    misses = {"stretch_squares" if state.objective.is_regression else "stretch_wrong": sums.misses / block.n_used}
    state.add_numbers(steps=1.0, pass_loss=sums.loss, pass_weight=sums.weight)
    state.add_numbers(stretch_loss=sums.loss, stretch_weight=sums.weight, **misses)
