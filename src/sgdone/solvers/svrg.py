"""Stochastic variance-reduced gradient."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.svrg import make_anchor, make_inner_loop
from sgdone.solvers.base import BlockReport, Ending, Solver
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LARGEST, held_by
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize
from sgdone.steps.step_table import step_sizes
from sgdone.stopping.base import Watch


@dataclass
class Stage:
    """The anchor's slopes row by row, its intercept's gradient, and how far the inner steps are."""

    length: int = 0
    made: int = 0
    stages: int = 0
    gradient_b: float = 0.0
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Option II: the inner step whose iterate becomes the anchor, and that iterate once it is there.
    pick: int = 0
    picked: tuple[NDArray[Any], NDArray[np.float64], float, float, float] | None = None

    @property
    def ended(self) -> bool:
        """Whether a new anchor is due."""
        return self.made >= self.length


@final
@dataclass(frozen=True)
class SVRG(Solver):
    """w ← w − γ(∇f_i(w) − ∇f_i(w̃) + ∇f(w̃)), the anchor w̃ renewed every m steps: Johnson & Zhang (2013).

    The full gradient at each anchor reads all rows once, which counts as a pass. Steps take the rows in the order
    in which the passes give them; a step on a sparse row takes as many operations as the row has entries.

    Parameters
    ----------
    inner_length : int or "auto"
        m, the steps between two anchors; "auto" is twice the rows.
    option : {"I", "II"}
        The next anchor: the last inner iterate (I), or a random one of them (II), from which steps then go on.
    seed : int
        Of option II's choices.

    Examples
    --------
    >>> from sgdone import LinearRegressor
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = LinearRegressor(solver="svrg", alpha=0, stop=60, random_state=0).fit(X, 3.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([3.]), array([1.]))
    """

    inner_length: int | Literal["auto"] = "auto"
    option: Literal["I", "II"] = "I"
    seed: int = 0
    name: ClassVar[str] = "svrg"
    reads_all_rows: ClassVar[bool] = True
    keeps_slopes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        length: Any = self.inner_length
        if length != "auto" and (isinstance(length, bool) or not isinstance(length, Integral) or int(length) < 1):
            raise ValueError(f'inner_length={length!r}: give the steps between two anchors, 1 or more, or "auto"')
        if self.option not in ("I", "II"):
            raise ValueError(f'option={self.option!r} is neither "I" nor "II"')
        seed: Any = self.seed
        if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
            raise ValueError(f"seed={seed!r}: give a whole number of 0 or more")

    @property
    def default_step(self) -> StepSize:
        """A quarter of the largest stable step: the method's theory asks for less than that."""
        return Constant(fraction=0.25)

    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """Two vectors: the iterate's, and the gradient at the anchor."""
        state = State.at(problem, step, "anchored", 2, coef, intercept)
        state.extra = Stage()
        return state

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> BlockReport:
        """Make a new anchor if one is due, and nothing else; or use rows of a block."""
        if any(watch.reads_model for watch in watches):
            raise ValueError("a rule that checks the weights inside the loop cannot watch SVRG: use another rule")
        stage: Stage = state.extra
        nothing = np.empty(0)
        if not updates or last == first:
            return BlockReport(first, "used", nothing, nothing, np.nan)
        if stage.ended:
            outcome, row = self._renew(state, stage, block)
            if outcome != CONTINUE:
                return BlockReport(first, _ending(outcome), nothing, nothing, np.nan, blamed=row)
            return BlockReport(first, "used", nothing, nothing, np.nan, further_reads=block.rows.n_rows)
        if stage.slopes.size != block.rows.n_rows:
            raise ValueError(
                "SVRG reads all rows again and again, and these are others than before: "
                "it cannot learn from a stream or in partial_fit"
            )
        count = min(updates, stage.length - stage.made, last - first)
        if stage.made < stage.pick:
            count = min(count, stage.pick - stage.made)
        return self._steps(state, stage, block, first, last, count, watches)

    def _renew(self, state: State, stage: Stage, block: Block) -> tuple[int, int]:
        """Make the iterate (option II: the picked one) the anchor, and read all rows for its gradient."""
        problem = state.problem
        if stage.picked is not None:
            state.set_iterate(*stage.picked)
        state.fold_gradient()
        rows = np.arange(block.rows.n_rows, dtype=np.uint64)
        used = rows.size if block.sample_weight.size == 1 else int(np.count_nonzero(block.sample_weight))
        stage.slopes = np.zeros(rows.size)
        loop = make_anchor(problem.access, problem.loss.kernel.slope, block.rows.types)
        row, outcome, stage.gradient_b = loop(
            block.rows.arrays,
            block.labels,
            block.sample_weight,
            block.weight_stride,
            rows,
            1.0 / used,
            self._settings(state, 0.0),
            problem.loss.parameters,
            state.weights,
            state.offsets,
            state.numbers,
            stage.slopes,
        )
        stage.length = 2 * used if self.inner_length == "auto" else int(self.inner_length)
        stage.stages, stage.made, stage.picked = stage.stages + 1, 0, None
        if self.option == "II":
            stage.pick = int(np.random.default_rng([self.seed, stage.stages]).integers(1, stage.length + 1))
        return outcome, row

    def _steps(
        self,
        state: State,
        stage: Stage,
        block: Block,
        first: int,
        last: int,
        count: int,
        watches: tuple[Watch, ...],
    ) -> BlockReport:
        problem = state.problem
        loss = problem.loss
        makers = tuple(watch.make for watch in watches)
        loop = make_inner_loop(problem.access, loss.kernel.value, loss.kernel.slope, block.rows.types, makers)
        sizes = step_sizes(state.step, state.steps + 1, count) if count else np.empty(0)
        predictions, slopes = np.empty(count), np.empty(count)
        position, used, outcome = loop(
            block.rows.arrays,
            block.labels,
            block.sample_weight,
            block.weight_stride,
            block.order,
            first,
            last,
            sizes,
            stage.slopes,
            self._settings(state, stage.gradient_b),
            loss.parameters,
            state.weights,
            state.offsets,
            state.numbers,
            predictions,
            slopes,
            held_by(watches),
        )
        stage.made += used
        if self.option == "II" and stage.made == stage.pick and stage.picked is None:
            stage.picked = (state.weights.copy(), state.offsets.copy(), *state.place())
        fired = any(watch.fired for watch in watches)
        size = float(sizes[used - 1]) if used else np.nan
        return BlockReport(position, _ending(outcome), predictions[:used], slopes[:used], size, fired)

    def _settings(self, state: State, gradient_b: float) -> NDArray[np.float64]:
        problem = state.problem
        return np.array([float(problem.fit_intercept), LARGEST[problem.dtype], np.inf, problem.alpha, gradient_b])

    def check(self, state: State) -> None:
        """An iterate that was picked must be like the state's."""
        stage = state.extra
        if not isinstance(stage, Stage):
            raise ValueError(f"what {self!r} remembers is {type(stage).__name__}")
        if stage.picked is not None:
            weights, offsets = (np.asarray(array) for array in stage.picked[:2])
            if weights.shape != state.weights.shape or offsets.shape != state.offsets.shape:
                raise ValueError(f"an iterate of shape {weights.shape} was kept of weights of {state.weights.shape}")

    def says(self, state: State) -> str:
        """How many anchors there were."""
        stage: Stage = state.extra
        return f"{stage.stages:,} full gradient{'' if stage.stages == 1 else 's'}"

    def evidence(self, state: State) -> dict[str, Any]:
        """The same as a number."""
        return {"anchors": state.extra.stages}


def _ending(outcome: int) -> Ending:
    if outcome == NOT_FINITE:
        return "not finite"
    return "not sound" if outcome == NOT_SOUND else "used"
