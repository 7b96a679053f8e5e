"""Stochastic variance-reduced gradient."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.stop_rule import Needs, Status, Stop, Watch
from sgdone.kernels.svrg import make_anchor, make_svrg
from sgdone.losses.loss import is_whole, real_or_nan
from sgdone.rows.rows import Block
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import Phase, State
from sgdone.solvers.stretch import LoopResult, run_method
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize, step_sizes

#: The tolerance of a fit that is given no stopping rule.
_TOL = 1e-4


@dataclass
class AnchorState:
    """Slopes of the anchor row by row, the gradient of its intercept, and how far the inner steps are."""

    #: Name in files.
    name: ClassVar[str] = "Stage"

    length: int = 0
    made: int = 0
    stages: int = 0
    gradient_b: float = 0.0
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Option II: the inner step whose iterate becomes the anchor, and that iterate once it is there.
    pick: int = 0
    picked: tuple[NDArray[Any], NDArray[np.float64], float, float, float] | None = None
    #: Norms of the objective's gradient at the first anchor and at the last one.
    first_norm: float = np.nan
    norm: float = np.nan

    @property
    def ended(self) -> bool:
        """Whether a new anchor is due."""
        return self.made >= self.length


@final
@dataclass(frozen=True)
class SVRG(SingleModel):
    """w ← w − γ(∇f_i(w) − ∇f_i(w̃) + ∇f(w̃)), the anchor w̃ renewed every m steps: Johnson & Zhang (2013).

    The full gradient at each anchor reads all rows once, which counts as a pass. Steps take the rows in the order
    in which the passes give them; a step on a sparse row takes as many operations as the row has entries.

    Parameters
    ----------
    inner_length : int or "auto"
        m, the steps between two anchors; "auto" is twice the rows.
    option : {"I", "II"}
        The next anchor: the last inner iterate (I), or a random one of them (II), from which the steps continue.
    seed : int
        Of option II's choices.
    tol : float
        The method ends at an anchor where the norm of the objective's gradient is below ``tol`` times that at the first
        anchor. 0 leaves the end to the stopping rule; `sgdone.SGDClassifier` uses 1e-4 if it is given no rule.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = SGDRegressor(solver="svrg", alpha=0, stop=60, random_state=0).fit(X, 3.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([3.]), array([1.]))
    """

    inner_length: int | Literal["auto"] = "auto"
    option: Literal["I", "II"] = "I"
    seed: int = 0
    tol: float = 0.0
    name: ClassVar[str] = "svrg"

    @property
    def counts(self) -> Literal["sample", "update"]:
        """An update reads rows for the anchor too."""
        return "update"

    needs: ClassVar[Needs] = Needs(all_rows=True, fixed_loss=True)
    phases: ClassVar[tuple[Phase, ...]] = ("anchored",)
    vectors: ClassVar[int] = 2
    keeps: ClassVar[type] = AnchorState

    def __post_init__(self) -> None:
        length = self.inner_length
        if length != "auto" and not is_whole(length, 1):
            raise ValueError(f'inner_length={length!r}: give the steps between two anchors, 1 or more, or "auto"')
        if self.option not in ("I", "II"):
            raise ValueError(f'option={self.option!r} is neither "I" nor "II"')
        if not is_whole(self.seed, 0):
            raise ValueError(f"seed={self.seed!r}: give a whole number of 0 or more")
        if not 0 <= real_or_nan(self.tol) < 1:
            raise ValueError(f"tol={self.tol!r}: give the relative norm of the gradient at which to end, in [0, 1)")

    @property
    def ends_by_itself(self) -> bool:
        """Whether there is a tolerance."""
        return self.tol > 0

    def ending_by_itself(self) -> "SVRG":
        """The method with a tolerance."""
        return self if self.ends_by_itself else replace(self, tol=_TOL)

    @property
    def default_step(self) -> StepSize:
        """A quarter of the largest stable step: the method's theory requires less than that."""
        return Constant(fraction=0.25)

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Make a new anchor if one is due, and nothing else; or use rows of a block."""
        if any(watch.reads_model for watch in watches):
            raise ValueError(
                "a rule that checks the weights at every sample cannot be used with svrg: use another rule"
            )
        stage: AnchorState = state.extra
        if not updates or last == first:
            return Report(first)
        if stage.ended:
            ran = self._renew(state, stage, block)
            if ran.ending != "used":
                return Report(first, ran.ending, bad_row=ran.position)
            return Report(first, further_reads=block.rows.n_rows, finished=self._ended(stage))
        if stage.slopes.size != block.rows.n_rows:
            raise ValueError(
                "SVRG reads all rows again and again, and these are others than before: "
                "it cannot learn from a stream or in partial_fit"
            )
        count = min(updates, stage.length - stage.made, last - first)
        if stage.made < stage.pick:
            count = min(count, stage.pick - stage.made)
        return self._steps(state, stage, block, first, last, count, watches)

    def _renew(self, state: State, stage: AnchorState, block: Block) -> LoopResult:
        """Make the iterate (option II: the picked one) the anchor, and read all rows for its gradient."""
        objective = state.objective
        if stage.picked is not None:
            state.set_iterate(*stage.picked)
        state.fold_gradient()
        rows = np.arange(block.rows.n_rows, dtype=np.uint64)
        used = block.n_used
        stage.slopes, gradient_b = np.zeros(rows.size), np.zeros(1)
        everything = block.ordered(rows)
        own = 1.0 / used, stage.slopes, gradient_b
        ran = run_method(state, everything, 0, rows.size, 1, make_anchor, (objective.loss.kernel.slope,), [], own)
        stage.gradient_b = float(gradient_b[0])
        stage.length = 2 * used if self.inner_length == "auto" else int(self.inner_length)
        stage.stages, stage.made, stage.picked = stage.stages + 1, 0, None
        stage.norm = _gradient_norm(state, stage.gradient_b)
        stage.first_norm = stage.norm if stage.stages == 1 else stage.first_norm
        if self.option == "II":
            stage.pick = int(np.random.default_rng([self.seed, stage.stages]).integers(1, stage.length + 1))
        return ran

    def _ended(self, stage: AnchorState) -> Stop | None:
        """The end, if the gradient at the new anchor is small enough."""
        if not self.tol > 0 or not stage.norm <= self.tol * stage.first_norm:
            return None
        share = stage.norm / stage.first_norm if stage.first_norm > 0 else 0.0
        reason = f"the gradient of the objective is {share:.2g} times that at the start (tol: {self.tol:g})"
        evidence = {"gradient": stage.norm, "tol": float(self.tol)}
        return Stop("SVRG", Status.CONVERGED, reason, evidence, assumes_scaled=True)

    def _steps(
        self,
        state: State,
        stage: AnchorState,
        block: Block,
        first: int,
        last: int,
        count: int,
        watches: tuple[Watch, ...],
    ) -> Report:
        objective = state.objective
        functions = objective.loss.kernel.value, objective.loss.kernel.slope
        settings = [objective.known_alpha, stage.gradient_b]
        sizes = step_sizes(state.step, state.steps + 1, count) if count else np.empty(0)
        own = sizes, stage.slopes
        ran = run_method(state, block, first, last, count, make_svrg, functions, settings, own, watches)
        stage.made += ran.updates
        if self.option == "II" and stage.made == stage.pick and stage.picked is None:
            stage.picked = (state.weights.copy(), state.offsets.copy(), *state.place())
        return ran.report(ran.last_of(sizes))

    def check_memory(self, state: State) -> None:
        """An iterate that was picked must be like the state's."""
        super().check_memory(state)
        stage: AnchorState = state.extra
        if min(stage.length, stage.made, stage.stages, stage.pick) < 0:
            raise ValueError(f"the state of {self!r} has negative counts")
        if stage.picked is not None:
            weights, offsets = (np.asarray(array) for array in stage.picked[:2])
            if weights.shape != state.weights.shape or offsets.shape != state.offsets.shape:
                raise ValueError(f"an iterate of shape {weights.shape} was kept of weights of {state.weights.shape}")
            if weights.dtype != state.dtype or not (np.isfinite(weights).all() and np.isfinite(offsets).all()):
                raise ValueError("an iterate was kept that is not finite, or of another type")

    def summary(self, state: State) -> str:
        """Number of anchors."""
        stage: AnchorState = state.extra
        if stage.stages < 2:
            return f"{stage.stages:,} full gradient{'' if stage.stages == 1 else 's'}"
        share = stage.norm / stage.first_norm if stage.first_norm > 0 else 0.0
        return f"{stage.stages:,} full gradients, the norm of the last {share:.2g} times that of the first"

    def evidence(self, state: State) -> dict[str, Any]:
        """The same as a number."""
        return super().evidence(state) | {"anchors": state.extra.stages}


def _gradient_norm(state: State, gradient_b: float) -> float:
    """‖∇F‖ at an anchor, in the units of the rows: vector 1 is the gradient of the loss."""
    gradient = state.vector(1).astype(np.float64)
    if state.centre is not None and not state.access.vectors_first:
        gradient -= state.offsets[1, 0] * state.centre
    gradient += state.objective.known_alpha * state.running()[0]
    intercept = gradient_b if state.objective.fit_intercept else 0.0
    return float(np.sqrt(gradient @ gradient + intercept * intercept))
