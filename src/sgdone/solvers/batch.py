"""Methods every step of which reads all rows: what they share."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.kernels.batch import make_predictions
from sgdone.kernels.outcome import NOT_FINITE, NOT_SOUND
from sgdone.solvers.base import BlockReport, Ending, Solver
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LARGEST
from sgdone.steps.descent import Descent
from sgdone.steps.step_size import StepSize
from sgdone.steps.step_table import step_sizes
from sgdone.stopping.base import Watch

#: Steps of one call at most: a person may want to interrupt, and each step leaves two numbers.
_MOST_STEPS = 1 << 14


@final
@dataclass(frozen=True)
class Descended:
    """Steps made, the outcome, the row that could not be used if one could not, and the means of each step."""

    made: int
    outcome: int
    row: int
    predictions: NDArray[np.float64]
    slopes: NDArray[np.float64]


class BatchSolver(Solver):
    """A method whose update reads all rows, which must be in memory; t of a step size counts updates.

    The order of the rows does not matter. Rules that look at every sample cannot watch it, for there is none.
    """

    reads_all_rows: ClassVar[bool] = True
    whole_passes: ClassVar[bool] = True
    #: How often an update reads each row.
    passes_per_update: ClassVar[int] = 1

    @property
    def default_step(self) -> StepSize:
        """The largest that is sure to descend."""
        return Descent()

    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights."""
        return State.at(problem, step, "plain", 1, coef, intercept)

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> BlockReport:
        """Make as many steps as ``last − first`` rows allow, but one at least."""
        if watches:
            raise ValueError(
                f"a rule that looks at every sample cannot watch {self.name}, each step of which reads all rows: "
                "use another rule, a number of passes or ProgressiveLoss() say"
            )
        nothing = np.empty(0)
        if not updates or first >= last:
            return BlockReport(first, "used", nothing, nothing, np.nan)
        if not np.any(block.sample_weight):
            raise ValueError("no row has a positive weight: there is nothing to learn from")
        reads = self.passes_per_update * block.rows.n_rows
        count = min(updates, max(1, (last - first) // reads), _MOST_STEPS)
        sizes = step_sizes(state.step, state.steps + 1, count)
        ran = self.descend(state, block, sizes)
        made = ran.made
        return BlockReport(
            first,
            _ending(ran.outcome),
            ran.predictions[:made],
            ran.slopes[:made],
            float(sizes[made - 1]) if made else np.nan,
            further_reads=made * reads,
            blamed=ran.row if _ending(ran.outcome) != "used" else None,
            passes=made * self.passes_per_update,
        )

    @abstractmethod
    def descend(self, state: State, block: Block, sizes: NDArray[np.float64]) -> Descended:
        """Make a step of each size."""


def predictions_of(
    state: State, block: Block, rows: NDArray[np.uint64], out: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], int, int]:
    """What the running iterate predicts for some rows, the outcome, and the row that could not be used if so."""
    problem = state.problem
    out = np.empty(rows.size) if out is None else out
    scale, _, intercept = state.place()
    outcome, place = make_predictions(problem.access, block.rows.types)(
        block.rows.arrays, rows, state.weights, state.offsets, scale, intercept, LARGEST[problem.dtype], out
    )
    return out, outcome, int(rows[place]) if rows.size else 0


def room_for_sums(state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A sum of rows, in float64, and its offsets."""
    return np.zeros(state.weights.shape), np.zeros((1, 2))


def _ending(outcome: int) -> Ending:
    return "not finite" if outcome == NOT_FINITE else "not sound" if outcome == NOT_SOUND else "used"
