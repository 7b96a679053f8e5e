"""Methods whose step is one scalar along the row: what they share, and what varies."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.losses.loss import Loss, ScalarFunction
from sgdone.solvers.base import BlockReport, Solver
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.solvers.stretch import advance_along_rows
from sgdone.steps import InverseTime
from sgdone.steps.step_size import StepSize
from sgdone.stopping.base import Watch


class RowSolver(Solver):
    """A method that moves the weights along each row by one scalar; `Averaged` wraps any of them."""

    @property
    @abstractmethod
    def make_update(self) -> Callable[..., Any]:
        """The factory in `sgdone.kernels.updates` of this kind of step."""

    @abstractmethod
    def slope_of(self, loss: Loss) -> ScalarFunction:
        """The function of the loss that the step calls."""

    def penalties_of(self, state: State, block: Block) -> Callable[[int, int], NDArray[np.float64]] | None:
        """What each of some samples (the first, how many) takes for α, if it is not the same for all."""
        return None

    @property
    def default_step(self) -> StepSize:
        """The best schedule for an iterate that is not averaged (Xu 2011, eq. (8))."""
        return InverseTime()

    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights."""
        return State.at(problem, step, "plain", 1, coef, intercept)

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> BlockReport:
        """Use rows of a block."""
        make, slope_of, penalties = self.make_update, self.slope_of, self.penalties_of(state, block)
        return advance_along_rows(state, block, first, last, updates, make, slope_of, watches, penalties_of=penalties)
