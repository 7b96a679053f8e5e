"""What a solver is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.base import Block
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.steps.base import StepSize

Ending = Literal["used", "not finite", "not sound"]


@final
@dataclass(frozen=True)
class BlockReport:
    """What happened to a stretch of a block.

    ``position`` is the next row of the block; ``predictions`` (before each update) and ``slopes`` are one an
    update; ``ending`` says whether the stretch was used or a row could not be.
    """

    position: int
    ending: Ending
    predictions: NDArray[np.float64]
    slopes: NDArray[np.float64]
    step_size: float

    @property
    def updates(self) -> int:
        """Updates made."""
        return self.predictions.size


class Solver(ABC):
    """A method: how a row changes a model. A frozen dataclass; what changes is in the `State`."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def default_step(self) -> StepSize:
        """The step size that suits the method."""

    @abstractmethod
    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """The state before the first update."""

    @abstractmethod
    def advance(self, state: State, block: Block, first: int, last: int, updates: int) -> BlockReport:
        """Use ``block.order[first:last]``, making at most ``updates`` updates."""
