"""Methods every step of which reads all rows: what they share."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report, ending_of
from sgdone.interfaces.stop_rule import Needs, Watch
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE
from sgdone.rows.rows import Block
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.solvers.stretch import predictions_of, weighted_sum
from sgdone.steps.descent import Descent
from sgdone.steps.step_size import StepSize, step_sizes

#: Steps of one call at most: a person may want to interrupt, and each step leaves two numbers.
_MOST_STEPS = 1 << 14


@final
@dataclass(frozen=True)
class DescentOutcome:
    """Steps made, the outcome, the row that could not be used if one could not, and the means of each step."""

    made: int
    outcome: int
    row: int
    predictions: NDArray[np.float64]
    slopes: NDArray[np.float64]


class BatchSolver(SingleModel):
    """A method whose update reads all rows, which must be in memory; t of a step size counts updates.

    The order of the rows does not matter. Rules that check every sample cannot be used.
    """

    needs: ClassVar[Needs] = Needs(all_rows=True)
    whole_passes: ClassVar[bool] = True
    #: How often an update reads each row.
    passes_per_update: ClassVar[int] = 1

    @property
    def default_step(self) -> StepSize:
        """The largest that is sure to descend."""
        return Descent()

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Make as many steps as ``last − first`` rows allow, but one at least."""
        if watches:
            raise ValueError(
                f"a rule that checks every sample cannot be used with {self.name}, each step of which reads all rows: "
                "use a number of passes or ProgressiveLoss()"
            )
        if not updates or first >= last:
            return Report(first)
        if not np.any(block.sample_weight):
            raise ValueError("no row has a positive weight: there is nothing to learn from")
        reads = self.passes_per_update * block.rows.n_rows
        count = min(updates, max(1, (last - first) // reads), _MOST_STEPS)
        sizes = step_sizes(state.step, state.steps + 1, count)
        ran = self.descend(state, block, sizes)
        made = ran.made
        return Report(
            first,
            ending_of(ran.outcome),
            ran.predictions[:made],
            ran.slopes[:made],
            float(sizes[made - 1]) if made else np.nan,
            further_reads=made * reads,
            bad_row=ran.row if ending_of(ran.outcome) != "used" else None,
            passes=made * self.passes_per_update,
        )

    @abstractmethod
    def descend(self, state: State, block: Block, sizes: NDArray[np.float64]) -> DescentOutcome:
        """Make a step of each size."""


@final
@dataclass(frozen=True)
class StepMeasurements:
    """Measurements of the rows of positive weight that a step uses, one number per row each."""

    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    predictions: NDArray[np.float64]
    losses: NDArray[np.float64]
    slopes: NDArray[np.float64]


class WeighingSolver(BatchSolver):
    """w ← (1 − γα)w − γ·Σ c·x with coefficients c that a method makes of the predictions for all rows.

    Rows are read twice a step, for the predictions and for the sum, which counts as two passes.
    """

    passes_per_update: ClassVar[int] = 2

    @abstractmethod
    def coefficients(self, state: State, seen: StepMeasurements) -> NDArray[np.float64]:
        """The c of each row: of plain gradient descent it is v·ℓ′/n."""

    def descend(self, state: State, block: Block, sizes: NDArray[np.float64]) -> DescentOutcome:
        """Make a step of each size."""
        rows = block.all_used()
        labels, weights, loss = block.labels[rows], block.weights_of(rows), state.objective.loss
        means = np.empty((2, sizes.size))
        for t, size in enumerate(sizes):
            predictions, outcome, row = predictions_of(state, block, rows)
            if outcome != CONTINUE:
                return DescentOutcome(t, outcome, row, *means)
            losses, slopes = loss.value(predictions, labels), loss.slope(predictions, labels)
            wrong = np.flatnonzero(~np.isfinite(losses + slopes))
            if wrong.size:
                return DescentOutcome(t, NOT_FINITE, int(rows[wrong[0]]), *means)
            seen = StepMeasurements(labels, weights, predictions, losses, slopes)
            coefficients = self.coefficients(state, seen)
            _move(state, block, rows, coefficients, float(size))
            _count(state, seen)
            means[:, t] = np.mean(predictions), np.mean(slopes)
        return DescentOutcome(sizes.size, CONTINUE, 0, *means)


def _move(state: State, block: Block, rows: NDArray[np.uint64], coefficients: NDArray[np.float64], size: float) -> None:
    objective = state.objective
    old, intercept = state.running()
    total = weighted_sum(state, block, rows, coefficients)
    new = old - size * (objective.known_alpha * old + total)
    if objective.fit_intercept:
        intercept -= size * float(np.sum(coefficients))
    state.set_running(new, intercept)


def _count(state: State, seen: StepMeasurements) -> None:
    """Count an update, which is a pass of its own, and add to the sums of the stretch."""
    loss, weight = float(seen.weights @ seen.losses), float(np.sum(seen.weights))
    state.set_numbers(pass_loss=loss, pass_weight=weight)
    state.add_numbers(
        steps=1,
        stretch_loss=loss,
        stretch_weight=weight,
        stretch_wrong=float(np.mean(seen.labels * seen.predictions <= 0.0)),
        stretch_squares=float(np.mean((seen.labels - seen.predictions) ** 2)),
    )
