"""Newton's method on all rows."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Rows, Scaling
from sgdone.data.source import Block
from sgdone.data.stream import Stream
from sgdone.interfaces.needs import Needs
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement
from sgdone.kernels.model import Numbers
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE
from sgdone.solvers.batch import BatchSolver, Descended
from sgdone.solvers.newton_step import MOST_FACTORISED, Factors, Penalised, direction_by_products
from sgdone.solvers.state import State
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize
from sgdone.sums.columns import comparable_units
from sgdone.sums.pieces import Pieces
from sgdone.sums.second_order import SecondOrder, curvature_products, second_order

Array = NDArray[np.float64]

#: Share of the decrease that the gradient promises which a step must reach, and rounding of the objective.
_ENOUGH, _ROUNDING = 1e-4, 1e-13


@dataclass
class LineSearch:
    """Where Newton's method is: the last point accepted, the direction from there, and how far to try next."""

    #: Units in which columns are comparable.
    scale: Array = field(default_factory=lambda: np.empty(0))
    shift: Array = field(default_factory=lambda: np.empty(0))
    #: Coefficients and intercept in these units, the direction, and the share of it to try.
    model: Array = field(default_factory=lambda: np.empty(0))
    direction: Array = field(default_factory=lambda: np.empty(0))
    share: float = 0.0
    #: Objective there, and by how much it exceeds its minimum, to second order: sums over ``rows`` rows.
    value: float = 0.0
    decrement: float = 0.0
    rows: int = 0


@final
@dataclass(frozen=True)
class Newton(BatchSolver):
    """w ← w − s·H⁻¹g, g and H the gradient and the curvature of the objective over all rows, s found by halving.

    For smooth convex losses, all rows being in memory. An update evaluates the objective with its derivatives at one
    point and counts as a pass. Columns are centred and scaled in the sums, which changes neither the objective nor its
    minimum but keeps digits. H is factorised up to 4,000 coefficients; beyond, H⁻¹g is found by conjugate gradients,
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

    @property
    def default_step(self) -> StepSize:
        """The whole direction first."""
        return Constant(1.0)

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights; nothing is evaluated yet."""
        if objective.center:
            raise ValueError("newton finds the intercept together with the coefficients: use center=False")
        state = super().begin(objective, rows, step, coef, intercept)
        state.extra = LineSearch()
        return state

    def descend(self, state: State, block: Block, sizes: Array) -> Descended:
        """Evaluate the objective as many times; each point that is low enough is the next to start from."""
        search: LineSearch = state.extra
        predictions, slopes = np.zeros(sizes.size), np.zeros(sizes.size)
        for made in range(sizes.size):
            if not search.model.size:
                _begin_search(state, search, block)
            with np.errstate(over="ignore", invalid="ignore"):
                sound = self._update(state, search, block)
            if not sound:
                return Descended(made, NOT_FINITE, -1, predictions, slopes)
        return Descended(sizes.size, CONTINUE, -1, predictions, slopes)

    def between(self, state: State, stream: Stream) -> Judgement | None:
        """The objective, and what is left to gain."""
        search: LineSearch = state.extra
        if not search.rows:
            return None
        mean, left, unknown = search.value / search.rows, search.decrement / search.rows, float("nan")
        return Judgement(
            mean, unknown, left, 0.0, unknown, unknown, estimated_by="training", decrement=search.decrement
        )

    def check_memory(self, state: State) -> None:
        """Shapes of what it keeps."""
        search = state.extra
        if not isinstance(search, LineSearch):
            raise ValueError(f"the state of {self.name} is a {type(search).__name__}")
        width = state.n_features + 1
        for name, size in (("scale", width - 1), ("shift", width - 1), ("model", width), ("direction", width)):
            array = getattr(search, name)
            if array.shape not in ((0,), (size,)) or array.dtype != np.float64:
                raise ValueError(f"the state of {self.name} has a {name} of shape {array.shape}")

    def _update(self, state: State, search: LineSearch, block: Block) -> bool:
        """Evaluate one point; returns whether it is finite, or another may be."""
        objective, tried = state.objective, search.model + search.share * search.direction
        scaling = Scaling(search.scale, search.shift if search.shift.size else None)
        factorise = tried.size <= MOST_FACTORISED
        pieces = Pieces(block, scaling)
        sums = second_order(objective, pieces, tried[:, None], curvature="full" if factorise else "diagonal")
        own = 0.0 if objective.fit_intercept else np.inf
        penalties = np.append(objective.penalty * block.n_used / search.scale**2, own)
        penalties[:-1][~np.isfinite(search.scale)] = np.inf
        at = Penalised.of(sums, tried[:, None], penalties)
        _count(state, sums, block)
        first = not search.rows
        wanted = search.value - _ENOUGH * search.share * 2.0 * search.decrement + _ROUNDING * abs(search.value)
        if not first and not at.value <= wanted:
            search.share /= 2.0
            return True
        if not (np.isfinite(at.value) and np.all(np.isfinite(at.gradient))):
            return False
        if factorise:
            direction = -Factors.of(sums.curvature, penalties, 1).solve(at.gradient)
        else:
            product = curvature_products(objective, pieces, tried[:, None])
            direction = direction_by_products(at, product, sums.diagonal)
        search.model, search.value, search.rows = tried, at.value, block.n_used
        search.direction, search.share, search.decrement = direction[:, 0], 1.0, at.decrement(direction)
        coef = tried[:-1] / search.scale
        intercept = tried[-1] - (coef @ search.shift if search.shift.size else 0.0)
        state.set_running(coef, float(intercept))
        return True


def _begin_search(state: State, search: LineSearch, block: Block) -> None:
    """Measure the columns, and start from the state's iterate."""
    scaling = comparable_units(block, centred=state.objective.fit_intercept)
    search.scale = scaling.scale
    search.shift = np.empty(0) if scaling.shift is None else scaling.shift
    coef, intercept = state.running()
    known = np.isfinite(search.scale)
    moved = coef @ search.shift if search.shift.size else 0.0
    search.model = np.append(coef * np.where(known, search.scale, 0.0), intercept + moved)
    search.direction = np.zeros_like(search.model)


def _count(state: State, sums: SecondOrder, block: Block) -> None:
    """Add an update, and the losses of all rows as if they were a stretch."""
    rows = block.n_used
    added = {
        "steps": 1.0,
        "pass_loss": sums.loss,
        "pass_weight": sums.weight,
        "stretch_loss": sums.loss,
        "stretch_weight": sums.weight,
    }
    added["stretch_squares" if state.objective.is_regression else "stretch_wrong"] = sums.misses / rows
    for name, value in added.items():
        state.numbers[Numbers._fields.index(name)] += value
