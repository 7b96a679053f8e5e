"""SGD-QN: a step size for every feature, learnt from how gradients change."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.kernels.outcome import NOT_FINITE, NOT_SOUND
from sgdone.kernels.rows_rescaled import rescaled
from sgdone.kernels.sgdqn import STEP_B, make_rescaling_loop
from sgdone.solvers.base import BlockReport, Ending, Solver
from sgdone.solvers.problem import Problem
from sgdone.solvers.sample import settle_t0, t0_in_words, t0_of
from sgdone.solvers.skip import check_skip, skip_of
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LARGEST, held_by
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import StepSize
from sgdone.steps.step_table import step_sizes
from sgdone.stopping.base import Watch


@dataclass
class Rescaling:
    """The skip (0 before the first row), the weights ω of the last shrinkage, the intercept's step size and its ω."""

    skip: int = 0
    kept: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    of_intercept: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))


@final
@dataclass(frozen=True)
class SGDQN(Solver):
    """θ ← θ − v·ℓ′(z, y)·B∘(x, 1) with a diagonal B: Bordes, Bottou & Gallinari (2009), erratum 2010.

    Every ``skip`` samples θ is kept as ω and shrunk, θ ← θ − skip·αB∘θ. At the next row the gradients at both points,
    divided by how far these are apart and kept within [α, 100α], add skip times themselves to 1/B. So the step of a
    feature is between 1/(100αt) and 1/(αt). B starts with the first step size, 1/(αt₀), where t₀ ≥ skip did best on the
    first 1000 rows: see `sgdone.steps.Bottou`. Of any other step size, too, the first value alone is used.

    Parameters
    ----------
    skip : int or "auto"
        The samples between two shrinkages; "auto" is 16 times features over entries of a row.

    Examples
    --------
    >>> from sgdone import LinearClassifier
    >>> model = LinearClassifier(solver="sgdqn", alpha=0.01).fit([[-1.0], [1.0]], [0, 1])
    >>> model.predict([[3.0]]), model.verdict_.evidence["skip"]
    (array([1]), 16)
    """

    skip: int | Literal["auto"] = "auto"
    name: ClassVar[str] = "sgdqn"

    def __post_init__(self) -> None:
        check_skip(self.skip)

    @property
    def default_step(self) -> StepSize:
        """1/(αt₀), t₀ found on a sample."""
        return Bottou("sample")

    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """Two vectors: θ and B."""
        if not problem.alpha > 0:
            raise ValueError("sgdqn needs a positive alpha: it keeps its steps between 1/(100·alpha·t) and 1/(alpha·t)")
        rescaled(problem.access)
        state = State.at(problem, step, "plain", 2, coef, intercept)
        state.extra = Rescaling()
        return state

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> BlockReport:
        """Use rows of a block, having found t₀ on the very first of them."""
        memory: Rescaling = state.extra
        if not memory.skip:
            skip = skip_of(block.rows) if self.skip == "auto" else int(self.skip)
            # With a smaller t₀ the first shrinkage, 1 − skip/t₀, would change signs; the sample may end before it.
            ended = settle_t0(state, block, first, last, self.advance, at_least=skip)
            if ended is not None:
                return ended
            self._begin(state, memory, skip)
        problem = state.problem
        if memory.kept.shape != (problem.n_features,) or memory.kept.dtype != problem.dtype:
            raise ValueError(f"a memory of {memory.kept.size} weights does not fit {problem.n_features} features")
        loss = problem.loss
        count = min(updates, last - first)
        makers = tuple(watch.make for watch in watches)
        loop = make_rescaling_loop(problem.access, loss.kernel.value, loss.kernel.slope, block.rows.types, makers)
        predictions, slopes = np.empty(count), np.empty(count)
        position, used, outcome = loop(
            block.rows.arrays,
            block.labels,
            block.sample_weight,
            block.weight_stride,
            block.order,
            block.upcoming,
            first,
            last,
            count,
            memory.skip,
            np.array([float(problem.fit_intercept), LARGEST[problem.dtype], np.inf, problem.alpha]),
            loss.parameters,
            state.weights,
            state.offsets,
            state.numbers,
            memory.kept.reshape((1, -1) if problem.access.vectors_first else (-1, 1)),
            memory.of_intercept,
            predictions,
            slopes,
            held_by(watches),
        )
        ending: Ending = "not finite" if outcome == NOT_FINITE else "not sound" if outcome == NOT_SOUND else "used"
        size = float(state.vector(1).mean()) if used else np.nan
        fired = any(watch.fired for watch in watches)
        return BlockReport(position, ending, predictions[:used], slopes[:used], size, fired)

    def _begin(self, state: State, memory: Rescaling, skip: int) -> None:
        """All features start with the first step size."""
        first_step = float(step_sizes(state.step, 1, 1)[0])
        state.vector(1)[:] = first_step
        memory.of_intercept[STEP_B] = first_step
        memory.kept = np.zeros(state.problem.n_features, state.problem.dtype)
        memory.skip = skip

    def says(self, state: State) -> str:
        """The t₀ of the first step."""
        return t0_in_words(state)

    def evidence(self, state: State) -> dict[str, Any]:
        """The t₀ and the skip."""
        return {"t0": t0_of(state), "skip": state.extra.skip or None}
