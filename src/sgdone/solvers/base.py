"""What a solver is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.steps.step_size import StepSize
from sgdone.stopping.base import Stop, Watch

Ending = Literal["used", "not finite", "not sound"]


@final
@dataclass(frozen=True)
class BlockReport:
    """What happened to a stretch of a block.

    ``position`` is the next row of the block; ``predictions`` (before each update) and ``slopes`` are one an
    update; ``ending`` says whether the stretch was used or a row could not be. ``fired`` says whether a watch broke
    the stretch off, ``further_reads`` how many rows were read beside those of the stretch, and ``finished`` why the
    method itself wants to end, if it does. ``blamed`` is the row that could not be used, if it is not the next one.
    ``passes`` counts the passes that a method made through all rows by itself, the last of which has just ended.
    """

    position: int
    ending: Ending
    predictions: NDArray[np.float64]
    slopes: NDArray[np.float64]
    step_size: float
    fired: bool = False
    further_reads: int = 0
    finished: Stop | None = None
    blamed: int | None = None
    passes: int = 0

    @property
    def updates(self) -> int:
        """Updates made."""
        return self.predictions.size


class Solver(ABC):
    """A method: how a row changes a model. A frozen dataclass; what changes is in the `State`."""

    name: ClassVar[str]
    #: Whether it must be able to read all rows at any time: a stream is not enough.
    reads_all_rows: ClassVar[bool] = False
    #: Whether each update reads all rows, so that it ends a pass.
    whole_passes: ClassVar[bool] = False
    #: Whether it keeps slopes of the loss, which then must stay as it is.
    keeps_slopes: ClassVar[bool] = False
    #: Whether columns of very different sizes keep it from getting anywhere.
    minds_scales: ClassVar[bool] = True

    @property
    @abstractmethod
    def default_step(self) -> StepSize:
        """The step size that suits the method."""

    @abstractmethod
    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """The state before the first update."""

    @abstractmethod
    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> BlockReport:
        """Use ``block.order[first:last]``, making at most ``updates`` updates, until one of ``watches`` fires."""

    def check(self, state: State) -> None:  # noqa: B027
        """Refuse what this solver alone knows of a state that was read from a file, if it is not of its kind."""

    def says(self, state: State) -> str:
        """What the method did on its own account, in a few words; nothing for most."""
        return ""

    def evidence(self, state: State) -> dict[str, Any]:
        """The numbers behind it."""
        return {}
