"""Averaging, around any method that steps along rows; `asgd` and `aisgd` by name."""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar, Literal, final

from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Needs, Watch
from sgdone.losses.loss import is_whole, real_or_nan
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.isgd import ISGD
from sgdone.solvers.row_solver import RowSolver
from sgdone.solvers.sgd import SGD
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import Phase, State
from sgdone.steps import Xu
from sgdone.steps.step_size import StepSize


@final
@dataclass(frozen=True)
class Averaged(SingleModel):
    """Return the mean of the iterates θ after the sample t₀: Xu (2011), Algorithm 1.

    Parameters
    ----------
    inner : RowSolver
        The method whose iterates are averaged.
    after : int or "auto"
        t₀. "auto" is Xu's section 5: begin once a moving average of the iterates (weight 0.01 on the newest)
        has the lower moving average of losses, compared from the 100th sample on.
    decay : float
        p: the k-th of these iterates weighs as k^p (polynomial-decay averaging, Shamir & Zhang 2013, with η = p). 0 is
        the paper's plain mean; with 3 or so the start is forgotten without a t₀, however long the run will be.

    Examples
    --------
    >>> Averaged(SGD(), after=0)
    Averaged(inner=SGD(), after=0, decay=0.0)
    """

    inner: RowSolver = field(default_factory=SGD)
    after: int | Literal["auto"] = "auto"
    decay: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.inner, RowSolver):
            raise TypeError(f"{self.inner!r} cannot be averaged: give a method that steps along rows, as SGD() does")
        if self.after != "auto" and not is_whole(self.after, 0):
            raise ValueError(f'after={self.after!r}: give "auto" or the number of samples to leave out')
        if not 0 <= real_or_nan(self.decay) < inf:
            raise ValueError(f"decay={self.decay!r}: give the power of its number that an iterate weighs, 0 or more")

    averages: ClassVar[bool] = True
    phases: ClassVar[tuple[Phase, ...]] = ("plain", "searching", "averaged")
    vectors: ClassVar[int] = 2

    def with_average(self, after: int | Literal["auto"]) -> "Averaged":
        """The same method, its average starting elsewhere."""
        return replace(self, after=after)

    @property
    def needs(self) -> Needs:
        """Requirements of the inner method."""
        return self.inner.needs

    @property
    def default_step(self) -> StepSize:
        """Xu's schedule, made for averaging."""
        return Xu()

    def summary(self, state: State) -> str:
        """Remark that averaging never began, if a given start was not reached."""
        if self.after == "auto" or state.phase == "averaged":
            return ""
        return f"averaging was to begin after sample {int(self.after):,}, so the last iterate is returned"

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """Two vectors of weights: the iterate's, and what the average needs."""
        phase = "searching" if self.after == "auto" else "plain"
        return State.at(objective, rows, step, phase, 2, coef, intercept)  # type: ignore[arg-type]

    def check_memory(self, state: State) -> None:
        """Check what the inner method keeps."""
        self.inner.check_memory(state)

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        after = None if self.after == "auto" else int(self.after)
        decay = float(self.decay)
        return self.inner.step_along(state, block, first, last, updates, watches, average_after=after, decay=decay)


def asgd() -> Averaged:
    """Averaged SGD as Xu (2011) has it: `Averaged` around `SGD`."""
    return Averaged(SGD())


def aisgd() -> Averaged:
    """Averaged implicit SGD: `Averaged` around `ISGD`."""
    return Averaged(ISGD())


asgd.name = "asgd"  # type: ignore[attr-defined]
aisgd.name = "aisgd"  # type: ignore[attr-defined]
