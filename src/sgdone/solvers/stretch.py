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
from sgdone.kernels.outcome import AVERAGE_IS_BETTER, ENERGY_EXCEEDED
from sgdone.kernels.row_step import make_row_step
from sgdone.kernels.storage import make_averaged, make_plain, make_searching, make_truncated
from sgdone.losses.loss import Loss, ScalarFunction
from sgdone.rows.rows import Block
from sgdone.solvers.state import State
from sgdone.steps.step_size import Preliminary, step_sizes

_STORAGE = {
    "plain": make_plain,
    "averaged": make_averaged,
    "searching": make_searching,
    "truncated": make_truncated,
}

#: Predictions and steps beyond this count as diverged: their squares would overflow.
LARGEST = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e18}


@final
@dataclass(frozen=True)
class Ran:
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
        """How it ended, for a report."""
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
) -> Ran:
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
    return Ran(position, outcome, predictions[:used], slopes[:used], fired, energy)


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
) -> Ran:
    """Run the loop of a method of one model. ``settings`` and ``own`` are what the method alone needs."""
    objective = state.objective
    makers = tuple(watch.make for watch in watches)
    loop = make_loop(state.access, make_method, functions, block.rows.types, makers)
    shared = [float(objective.fit_intercept), LARGEST[state.dtype]]
    model = state.weights, state.offsets, state.numbers
    return run_loop(
        block, first, last, updates, loop, shared + settings, objective.loss.parameters, *model, own, watches
    )


def advance_along_rows(
    state: State,
    block: Block,
    first: int,
    last: int,
    updates: int,
    make_update: Callable[..., Any],
    slope_of: Callable[[Loss], ScalarFunction],
    watches: tuple[Watch, ...] = (),
    average_after: int | None = None,
    alphas_of: Callable[[int, int], NDArray[np.float64]] | None = None,
    truncate_every: int = 1,
    decay: float = 0.0,
) -> Report:
    """Run steps along the rows of ``block.order[first:last]``, continuing after each outcome that is not an end.

    A row that is larger than the step size allows for gives a new step size and is then used. Averaging begins when the
    search for its start has succeeded, or after the sample ``average_after``. ``alphas_of(first, count)`` returns
    the α of ``count`` samples, if they differ. For ``truncate_every`` and ``decay`` see `sgdone.solvers.Truncated` and
    `sgdone.solvers.Averaged`.
    """
    objective = state.objective
    loss = objective.loss
    parts: list[Ran] = []
    position, made, size = first, 0, np.nan
    ending: Ending = "used"
    fired = False
    while position < last and made < updates and not fired and ending == "used":
        if state.phase == "plain" and average_after is not None and state.steps >= average_after:
            state.begin_average()
        count = min(last - position, updates - made)
        if state.phase == "plain" and average_after is not None:
            count = min(count, average_after - state.steps)
        sizes = step_sizes(state.step, state.steps + 1, count)
        alphas = np.array([objective.l2]) if alphas_of is None else alphas_of(state.steps + 1, count)
        ran = run_method(
            state,
            block,
            position,
            last,
            count,
            make_row_step,
            (_STORAGE[state.phase], make_update, loss.kernel.value, slope_of(loss)),
            [state.step.energy_limit, objective.l1, float(truncate_every), decay],
            (sizes, alphas, 0 if alphas_of is None else 1),
            watches,
        )
        parts.append(ran)
        position, made, fired, ending = ran.position, made + ran.updates, ran.fired, ran.ending
        size = ran.last_of(sizes) if ran.updates else size
        if ran.outcome == ENERGY_EXCEEDED:
            if np.isfinite(ran.energy):
                _allow_for(state, ran.energy)
            else:
                ending = "not finite"
        if ran.outcome == AVERAGE_IS_BETTER:
            state.begin_average()
    predictions, slopes = (joined([getattr(part, name) for part in parts]) for name in ("predictions", "slopes"))
    return Report(position, ending, predictions, slopes, size, fired)


def _allow_for(state: State, energy: float) -> None:
    """Resolve the step size again for a larger row."""
    state.step = state.step.resolve(Preliminary(state.objective.loss, state.objective.known_alpha, energy, energy))
    if state.step.energy_limit < energy:
        raise RuntimeError(f"{state.step!r} was resolved for a row of size {energy:g} but does not allow for it")


def joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Arrays one after the other, without a copy if there is but one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)


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
