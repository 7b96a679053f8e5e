"""A stretch of rows through the compiled loop, whatever ends it on the way."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.kernels.loop import make_loop
from sgdone.kernels.outcome import AVERAGE_IS_BETTER, ENERGY_EXCEEDED, NOT_FINITE, NOT_SOUND
from sgdone.kernels.storage import make_averaged, make_plain, make_searching, make_truncated
from sgdone.losses.loss import Loss, ScalarFunction
from sgdone.solvers.base import BlockReport
from sgdone.solvers.state import State
from sgdone.steps.step_size import Preliminary
from sgdone.steps.step_table import step_sizes
from sgdone.stopping.base import Watch

_STORAGE = {
    "plain": make_plain,
    "averaged": make_averaged,
    "searching": make_searching,
    "truncated": make_truncated,
}

#: Predictions and steps beyond this count as diverged: their squares would overflow.
LARGEST = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e18}


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
    penalties_of: Callable[[int, int], NDArray[np.float64]] | None = None,
    truncate_every: int = 1,
    decay: float = 0.0,
) -> BlockReport:
    """Run the loop over ``block.order[first:last]``, going on after each outcome that is not an end.

    A row larger than the step size was made for makes the step size anew and is then used; averaging begins
    when the search for its start has succeeded or after the sample ``average_after``. A watch that fires ends it.
    ``penalties_of(first, count)`` gives what the update takes for α at each of some samples, if that is not the same.
    ``truncate_every`` is for L1 penalties and ``decay`` for averages: see `sgdone.solvers`' truncated and averaged.
    """
    problem = state.problem
    loss = problem.loss
    predictions = np.empty(last - first + 1)
    slopes = np.empty(last - first + 1)
    position, made, size, ending = first, 0, np.nan, "used"
    fired = False
    while position < last and made < updates and not fired:
        if state.phase == "plain" and average_after is not None and state.steps >= average_after:
            state.begin_average()
        count = min(last - position, updates - made)
        if state.phase == "plain" and average_after is not None:
            count = min(count, average_after - state.steps)
        sizes = step_sizes(state.step, state.steps + 1, count)
        loop = make_loop(
            problem.access,
            _STORAGE[state.phase],
            make_update,
            loss.kernel.value,
            slope_of(loss),
            block.rows.types,
            tuple(watch.make for watch in watches),
        )
        limits = [float(problem.fit_intercept), LARGEST[problem.dtype], state.step.energy_limit]
        settings = np.array([*limits, problem.l1, float(truncate_every), decay])
        one_penalty = penalties_of is None
        penalties = np.array([problem.l2]) if penalties_of is None else penalties_of(state.steps + 1, count)
        position, used, outcome = loop(
            block.rows.arrays,
            block.labels,
            block.sample_weight,
            block.weight_stride,
            block.order,
            block.upcoming,
            position,
            last,
            sizes,
            penalties,
            0 if one_penalty else 1,
            settings,
            loss.parameters,
            state.weights,
            state.offsets,
            state.numbers,
            predictions[made:],
            slopes[made:],
            held_by(watches),
        )
        made += used
        size = sizes[used - 1] if used else size
        if outcome in (NOT_FINITE, NOT_SOUND):
            ending = "not finite" if outcome == NOT_FINITE else "not sound"
            break
        if outcome == ENERGY_EXCEEDED:
            energy = float(predictions[made])
            if not np.isfinite(energy):
                ending = "not finite"
                break
            state.step = state.step.resolve(Preliminary(loss, problem.alpha, energy, energy))
            if state.step.energy_limit < energy:
                raise RuntimeError(
                    f"{state.step!r} was resolved for a row of size {energy:g} but does not allow for it"
                )
        if outcome == AVERAGE_IS_BETTER:
            state.begin_average()
        fired = any(watch.fired for watch in watches)
    return BlockReport(position, ending, predictions[:made], slopes[:made], float(size), fired)  # type: ignore[arg-type]


def held_by(watches: tuple[Watch, ...]) -> tuple[Any, ...]:
    """What the watches hold, nested as `sgdone.kernels.probes` has it."""
    nested: tuple[Any, ...] = ()
    for watch in reversed(watches):
        nested = ((watch.numbers, watch.memory), nested)
    return nested
