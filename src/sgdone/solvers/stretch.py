"""A stretch of rows through the compiled loop of a method; predictions for rows, and weighted sums of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Ending, Report, ending_of
from sgdone.interfaces.stop_rule import Watch
from sgdone.kernels.batch import make_combination, make_predictions
from sgdone.kernels.loop import RowMethod, make_loop
from sgdone.kernels.outcome import ENERGY_EXCEEDED
from sgdone.rows.rows import Block
from sgdone.solvers.state import State

#: Predictions and steps beyond this count as diverged: their squares would overflow.
LARGEST = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e18}


@final
@dataclass(frozen=True)
class LoopResult:
    """Result of a call of a loop: the next position, the outcome, and the prediction and slope of each update."""

    position: int
    outcome: int
    predictions: NDArray[np.float64]
    slopes: NDArray[np.float64]
    #: Whether a watch fired.
    fired: bool
    #: The energy of the next row, if it exceeded the limit of the step size.
    energy: float

    @property
    def updates(self) -> int:
        """Number of updates."""
        return self.predictions.size

    @property
    def ending(self) -> Ending:
        """Report of how the loop ended."""
        return ending_of(self.outcome)

    def last_of(self, sizes: NDArray[np.float64]) -> float:
        """The size of the last step; NaN if there was none."""
        return float(sizes[self.updates - 1]) if self.updates else np.nan

    def report(self, step_size: float) -> Report:
        """The report of a stretch that is this call alone."""
        return Report(self.position, self.ending, self.predictions, self.slopes, step_size, self.fired)


def run_loop(
    block: Block,
    first: int,
    last: int,
    updates: int,
    loop: Callable[..., tuple[int, int, int]],
    settings: list[float],
    parameters: Any,
    weights: NDArray[Any],
    offsets: NDArray[np.float64],
    numbers: NDArray[np.float64],
    own: tuple[Any, ...],
    watches: tuple[Watch, ...] = (),
) -> LoopResult:
    """Call a loop of `sgdone.kernels.loop` on ``block.order[first:last]``, for at most ``updates`` updates."""
    predictions, slopes = np.empty(updates), np.empty(updates)
    position, used, outcome = loop(
        block.rows.arrays,
        block.labels,
        block.sample_weight,
        block.weight_stride,
        block.order.rows,
        block.order.upcoming,
        first,
        last,
        updates,
        np.array(settings),
        parameters,
        weights,
        offsets,
        numbers,
        own,
        predictions,
        slopes,
        _held_by(watches),
    )
    energy = float(predictions[used]) if outcome == ENERGY_EXCEEDED else np.nan
    fired = any(watch.fired for watch in watches)
    return LoopResult(position, outcome, predictions[:used], slopes[:used], fired, energy)


def run_method(
    state: State,
    block: Block,
    first: int,
    last: int,
    updates: int,
    make_method: Callable[..., RowMethod],
    functions: tuple[Callable[..., Any], ...],
    settings: list[float],
    own: tuple[Any, ...],
    watches: tuple[Watch, ...] = (),
) -> LoopResult:
    """Run the loop of a method of one model. ``settings`` and ``own`` are what the method alone needs."""
    objective = state.objective
    makers = tuple(watch.make for watch in watches)
    loop = make_loop(state.access, make_method, functions, block.rows.types, makers)
    shared = [float(objective.fit_intercept), LARGEST[state.dtype]]
    model = state.weights, state.offsets, state.numbers
    return run_loop(
        block, first, last, updates, loop, shared + settings, objective.loss.parameters, *model, own, watches
    )


def _held_by(watches: tuple[Watch, ...]) -> tuple[Any, ...]:
    """Numbers and memory of the watches, nested as `sgdone.kernels.probes` expects it."""
    nested: tuple[Any, ...] = ()
    for watch in reversed(watches):
        nested = ((watch.numbers, watch.memory), nested)
    return nested


def predictions_of(state: State, block: Block, rows: NDArray[np.uint64]) -> tuple[NDArray[np.float64], int, int]:
    """Predictions of the running iterate for some rows, the outcome, and the row that could not be used if any."""
    out = np.empty(rows.size)
    scale, _, intercept = state.place()
    outcome, place = make_predictions(state.access, block.rows.types)(
        block.rows.arrays, rows, state.weights, state.offsets, scale, intercept, LARGEST[state.dtype], out
    )
    return out, outcome, int(rows[place]) if rows.size else 0


def weighted_sum(
    state: State, block: Block, rows: NDArray[np.uint64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ c·x over some rows, in the units in which the method sees them."""
    total = np.zeros(state.n_features)
    combine = make_combination(state.access, block.rows.types)
    combine(block.rows.arrays, rows, coefficients, *room_for_sums(state), total)
    return total


def room_for_sums(state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Room for a sum of rows in float64, and for its offsets."""
    return np.zeros(state.weights.shape), np.zeros((1, 2))
