"""Methods whose step is one scalar along the row: what they share, and what varies."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Watch
from sgdone.losses.loss import Loss, ScalarFunction
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.solvers.stretch import advance_along_rows
from sgdone.steps import InverseTime
from sgdone.steps.step_size import StepSize


class RowSolver(SingleModel):
    """A method that moves the weights along each row by one scalar; `Averaged` wraps any of them."""

    def with_average(self, after: int | Literal["auto"]) -> SingleModel:
        """`Averaged` around the method."""
        from sgdone.solvers.averaged import Averaged

        return Averaged(self, after)

    @property
    @abstractmethod
    def make_update(self) -> Callable[..., Any]:
        """The factory in `sgdone.kernels.updates` of this kind of step."""

    @abstractmethod
    def slope_of(self, loss: Loss) -> ScalarFunction:
        """The function of the loss that the step calls."""

    def alphas_of(self, state: State, block: Block) -> Callable[[int, int], NDArray[np.float64]] | None:
        """A function of the first of some samples and their number: α of each; None if all have the same α."""
        return None

    @property
    def default_step(self) -> StepSize:
        """The best schedule for an iterate that is not averaged (Xu 2011, eq. (8))."""
        return InverseTime()

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights."""
        return State.at(objective, rows, step, "plain", 1, coef, intercept)

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        make, slope_of, alphas = self.make_update, self.slope_of, self.alphas_of(state, block)
        return advance_along_rows(state, block, first, last, updates, make, slope_of, watches, alphas_of=alphas)
