"""L1 penalties: weights that are exactly 0."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Needs, Watch
from sgdone.kernels.rows import CSR_SHIFTED
from sgdone.losses.loss import is_whole
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.sgd import SGD
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import Phase, State
from sgdone.steps import InverseSqrt
from sgdone.steps.step_size import StepSize


@dataclass
class Truncation:
    """The samples after which thresholds are applied, once the rows are known."""

    every: int = 0


@final
@dataclass(frozen=True)
class Truncated(SingleModel):
    """SGD with an L1 penalty: the thresholds γα₁ of K rows applied as one (Langford, Li & Zhang 2009).

    Each row is used as by `SGD`, with the L2 part α₂ of the penalty; every K-th row all weights move towards 0
    by what the last K rows owe, and stay there if it is no further away. Features pay when they are next seen, so that
    a row costs as many operations as it has entries. With K = 1 it is forward-backward splitting (Duchi & Singer 2009),
    whose iterates are sparse only where features are seldom seen: one row's noise is larger than its threshold.

    Parameters
    ----------
    inner : SGD
        The method that steps.
    every : int or "auto"
        K. Over K rows the thresholds of a weight sum to Kγα₁ and the noise of its gradients to √K·γσ: "auto" is
        (3σ/α₁)², with σ² estimated by the largest row's mean square, and at most the rows of a pass.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 20))
    >>> model = SGDRegressor(solver="sgd", penalty="l1", alpha=0.1, stop=10, random_state=0)
    >>> np.flatnonzero(model.fit(X, X[:, 3] - 2.0 * X[:, 7] + rng.standard_normal(4000)).coef_)
    array([3, 7])
    """

    offers: ClassVar[Needs] = SingleModel.offers | Needs(l1_penalty=True)
    phases: ClassVar[tuple[Phase, ...]] = ("truncated",)
    vectors: ClassVar[int] = 2
    keeps: ClassVar[type] = Truncation
    inner: SGD = field(default_factory=SGD)
    every: int | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.inner, SGD):
            raise TypeError(f"{self.inner!r} has no steps with an L1 penalty here: give SGD()")
        if self.every != "auto" and not is_whole(self.every, 1):
            raise ValueError(
                f'every={self.every!r}: give the rows after which to apply thresholds, 1 or more, or "auto"'
            )

    @property
    def default_step(self) -> StepSize:
        """A schedule that needs no curvature, which an L1 penalty does not give."""
        return InverseSqrt()

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """Two vectors: the weights', and what each feature has paid."""
        if rows.access is CSR_SHIFTED:
            raise ValueError("an L1 penalty cannot be combined with centred sparse rows: use center=False")
        return super().begin(objective, rows, step, coef, intercept)

    def check_memory(self, state: State) -> None:
        """A number of samples, 0 before the rows are known."""
        super().check_memory(state)
        if state.extra.every < 0:
            raise ValueError(f"the state of {self!r} is not a number of samples")

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        memory: Truncation = state.extra
        if not memory.every:
            memory.every = _above_noise(state, block.rows.n_rows) if self.every == "auto" else int(self.every)
        return self.inner.step_along(state, block, first, last, updates, watches, truncate_every=memory.every)


def _above_noise(state: State, n_rows: int) -> int:
    """Rows whose thresholds add up to three times what the noise of a gradient adds up to."""
    energy, l1 = state.step.energy_limit, state.objective.l1
    variance = energy / state.n_features if np.isfinite(energy) else 1.0
    return n_rows if l1 == 0 else max(1, int(min(float(n_rows), np.ceil(9.0 * variance / l1**2))))
