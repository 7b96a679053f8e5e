"""Steps on all rows, each row weighed by what all of them predict."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.model import Numbers
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE
from sgdone.rows.source import Block
from sgdone.solvers.all_rows import predictions_of, weighted_sum
from sgdone.solvers.batch import BatchSolver, Descended
from sgdone.solvers.state import State


@final
@dataclass(frozen=True)
class Seen:
    """What a step knows of the rows of positive weight: one number a row of each."""

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
    def coefficients(self, state: State, seen: Seen) -> NDArray[np.float64]:
        """The c of each row: of plain gradient descent it is v·ℓ′/n."""

    def descend(self, state: State, block: Block, sizes: NDArray[np.float64]) -> Descended:
        """Make a step of each size."""
        rows = block.all_used()
        labels, weights, loss = block.labels[rows], block.weights_of(rows), state.objective.loss
        means = np.empty((2, sizes.size))
        for t, size in enumerate(sizes):
            predictions, outcome, row = predictions_of(state, block, rows)
            if outcome != CONTINUE:
                return Descended(t, outcome, row, *means)
            losses, slopes = loss.value(predictions, labels), loss.slope(predictions, labels)
            wrong = np.flatnonzero(~np.isfinite(losses + slopes))
            if wrong.size:
                return Descended(t, NOT_FINITE, int(rows[wrong[0]]), *means)
            seen = Seen(labels, weights, predictions, losses, slopes)
            coefficients = self.coefficients(state, seen)
            _move(state, block, rows, coefficients, float(size))
            _count(state, seen)
            means[:, t] = np.mean(predictions), np.mean(slopes)
        return Descended(sizes.size, CONTINUE, 0, *means)


def _move(state: State, block: Block, rows: NDArray[np.uint64], coefficients: NDArray[np.float64], size: float) -> None:
    objective = state.objective
    old, intercept = state.running()
    total = weighted_sum(state, block, rows, coefficients)
    new = old - size * (objective.penalty * old + total)
    if objective.fit_intercept:
        intercept -= size * float(np.sum(coefficients))
    state.set_running(new, intercept)


def _count(state: State, seen: Seen) -> None:
    """Count an update, which is a pass of its own, and add to the sums of the stretch."""
    loss, weight = float(seen.weights @ seen.losses), float(np.sum(seen.weights))
    sums = {
        "steps": state.steps + 1,
        "pass_loss": loss,
        "pass_weight": weight,
        "stretch_loss": state.number("stretch_loss") + loss,
        "stretch_weight": state.number("stretch_weight") + weight,
        "stretch_wrong": state.number("stretch_wrong") + float(np.mean(seen.labels * seen.predictions <= 0.0)),
        "stretch_squares": state.number("stretch_squares") + float(np.mean((seen.labels - seen.predictions) ** 2)),
    }
    for name, value in sums.items():
        state.numbers[Numbers._fields.index(name)] = value
