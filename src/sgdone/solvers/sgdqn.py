"""SGD-QN: a step size for every feature, estimated from changes of the gradient."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Needs, Watch
from sgdone.kernels.sgdqn import STEP_B, make_sgdqn, rescaled
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.bottou_schedule import check_skip, settle_t0, skip_of, t0_in_words, t0_of
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.solvers.stretch import run_method
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import StepSize, step_sizes


@dataclass
class Rescaling:
    """The skip (0 before the first row), the weights ω of the last shrinkage, the intercept's step size and its ω."""

    skip: int = 0
    kept: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    of_intercept: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))


@final
@dataclass(frozen=True)
class SGDQN(SingleModel):
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
    >>> from sgdone import SGDClassifier
    >>> model = SGDClassifier(solver="sgdqn", alpha=0.01).fit([[-1.0], [1.0]], [0, 1])
    >>> model.predict([[3.0]]), model.verdict_.evidence["skip"]
    (array([1]), 16)
    """

    skip: int | Literal["auto"] = "auto"
    name: ClassVar[str] = "sgdqn"
    vectors: ClassVar[int] = 2
    keeps: ClassVar[type] = Rescaling
    needs: ClassVar[Needs] = Needs(why_positive_alpha="it keeps its steps between 1/(100·alpha·t) and 1/(alpha·t)")

    def __post_init__(self) -> None:
        check_skip(self.skip)

    @property
    def default_step(self) -> StepSize:
        """1/(αt₀), t₀ found on a sample."""
        return Bottou("sample")

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """Two vectors: θ and B."""
        rescaled(rows.access)
        return super().begin(objective, rows, step, coef, intercept)

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block, having found t₀ on the very first of them."""
        memory: Rescaling = state.extra
        if not memory.skip:
            skip = skip_of(block.rows) if self.skip == "auto" else int(self.skip)
            # With a smaller t₀ the first shrinkage, 1 − skip/t₀, would change signs; the sample may end before it.
            ended = settle_t0(state, block, first, last, self.use_rows, at_least=skip)
            if ended is not None:
                return ended
            self._begin(state, memory, skip)
        objective = state.objective
        kept = memory.kept.reshape((1, -1) if state.access.vectors_first else (-1, 1))
        functions = objective.loss.kernel.value, objective.loss.kernel.slope
        own = memory.skip, kept, memory.of_intercept
        count = min(updates, last - first)
        ran = run_method(state, block, first, last, count, make_sgdqn, functions, [objective.known_alpha], own, watches)
        return ran.report(float(state.vector(1).mean()) if ran.updates else np.nan)

    def check_memory(self, state: State) -> None:
        """The weights kept are as many as there are features, and so are the numbers of the intercept."""
        super().check_memory(state)
        memory: Rescaling = state.extra
        fits = memory.skip >= 0 and memory.of_intercept.shape == (2,) and bool(np.isfinite(memory.of_intercept).all())
        if memory.skip:
            fits = fits and memory.kept.shape == (state.n_features,) and memory.kept.dtype == state.dtype
        if not fits or not np.isfinite(memory.kept).all():
            raise ValueError(f"a memory of {memory.kept.size} weights does not fit {state.n_features} features")

    def _begin(self, state: State, memory: Rescaling, skip: int) -> None:
        """All features start with the first step size."""
        first_step = float(step_sizes(state.step, 1, 1)[0])
        state.vector(1)[:] = first_step
        memory.of_intercept[STEP_B] = first_step
        memory.kept = np.zeros(state.n_features, state.dtype)
        memory.skip = skip

    def summary(self, state: State) -> str:
        """The t₀ of the first step."""
        return t0_in_words(state)

    def evidence(self, state: State) -> dict[str, Any]:
        """The t₀ and the skip."""
        return super().evidence(state) | {"t0": t0_of(state), "skip": state.extra.skip or None}
