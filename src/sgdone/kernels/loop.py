"""The one loop over a block of rows: any loss, any way of reaching rows, any storage, either kind of step."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sgdone.kernels.ahead import make_ask_ahead
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.model import Numbers, load, store
from sgdone.kernels.outcome import (
    CONTINUE,
    ENERGY_EXCEEDED,
    FIRED_AFTER,
    FIRED_AT_LEFT_OUT,
    FIRED_BEFORE,
    LEFT_OUT,
    NOT_FINITE,
    NOT_SOUND,
)
from sgdone.kernels.probes import FIRE, GO, LEAVE_OUT, Probe, ProbeMaker, make_probes
from sgdone.kernels.rows import RowAccess
from sgdone.kernels.storage import Storage

#: Indices into a loop's ``settings``.
UNIT, LARGEST, ENERGY_LIMIT = range(3)


def make_row_step(
    storage: Storage, update: Callable[..., Any], value: Callable[..., float], probes: Probe
) -> Callable[..., Any]:
    """The work of one row on one model: predict, check, update; returns the outcome, prediction and slope."""
    read, write, watch = storage
    before, after = probes

    @inlined
    def row_step(
        rows: Any,
        i: Any,
        y: Any,
        v: Any,
        step: Any,
        penalty: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        model: Any,
        held: Any,
    ) -> Any:
        product, other, norm = read(rows, i, weights, offsets, model)
        wx = model.scale * product
        z = wx + model.intercept
        if not abs(z) <= settings[LARGEST]:
            return NOT_FINITE, z, 0.0, model
        wish = before(y, z, held)
        if wish != GO:
            if wish == FIRE:
                return FIRED_BEFORE, z, 0.0, model
            return LEFT_OUT if wish == LEAVE_OUT else FIRED_AT_LEFT_OUT, z, 0.0, model
        energy = v * (norm + settings[UNIT])
        if energy > settings[ENERGY_LIMIT]:
            return ENERGY_EXCEEDED, energy, 0.0, model
        shrink, amount, amount_b, slope = update(
            wx, model.intercept, norm, y, v, step, penalty, settings[UNIT], parameters
        )
        if not abs(amount) <= settings[LARGEST]:
            return NOT_FINITE, z, slope, model
        intercept = model.intercept - amount_b
        scale, own, share, averaged_intercept = write(
            rows, i, shrink, amount, intercept, step, settings, weights, offsets, model
        )
        loss = value(z, y, parameters)
        iterate_loss, moving_loss, outcome = watch(other, loss, y, v, parameters, model)
        model = Numbers(
            scale,
            own,
            share,
            intercept,
            averaged_intercept,
            model.steps + 1.0,
            model.averaged_steps + 1.0,
            model.pass_loss + v * loss,
            model.pass_weight + v,
            model.stretch_loss + v * loss,
            model.stretch_weight + v,
            model.stretch_wrong + (1.0 if y * z <= 0.0 else 0.0),
            model.stretch_squares + (y - z) * (y - z),
            iterate_loss,
            moving_loss,
        )
        if after(rows, i, v, slope, settings[UNIT], weights, offsets, model, held) and outcome == CONTINUE:
            outcome = FIRED_AFTER
        return outcome, z, slope, model

    return row_step


@lru_cache(maxsize=512)
def make_loop(
    access: RowAccess,
    make_storage: Callable[[RowAccess, Callable[..., float]], Storage],
    make_update: Callable[[Callable[..., float]], Callable[..., Any]],
    value: Callable[..., float],
    slope: Callable[..., float],
    types: str,
    probes: tuple[ProbeMaker, ...] = (),
) -> Callable[..., tuple[int, int, int]]:
    """Compose a compiled loop; ``slope`` is the loss's slope or implicit slope, as ``make_update`` asks.

    ``types`` names the types of the rows' arrays: a loop is only ever called with one kind of them.

    The loop runs over ``order[first:last]`` until the rows or the step sizes are used up or an outcome ends it;
    ``upcoming`` names rows that will be wanted long after, and are fetched from memory meanwhile. It returns the
    index of the next row, the number of updates made, and the outcome; the prediction and slope of each update
    are in ``predictions`` and ``slopes``, and behind them, if a row was larger than the limit, its energy.
    ``penalties`` holds what the update takes for α, one a step, or one for all of them if its stride is 0;
    ``held`` is what the ``probes`` hold, nested as `sgdone.kernels.probes` says.
    """
    row_step = make_row_step(make_storage(access, value), make_update(slope), value, make_probes(probes, access))
    sound = access.sound
    ask_ahead = make_ask_ahead(access.fetch, access.locate)
    mark = fingerprint(access.dot, make_storage, make_update, value, slope, types, *probes)

    @compiled(mark)
    def loop(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        upcoming: Any,
        first: Any,
        last: Any,
        steps: Any,
        penalties: Any,
        penalty_stride: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        numbers: Any,
        predictions: Any,
        slopes: Any,
        held: Any,
    ) -> Any:
        _ = mark
        model = load(numbers)
        outcome = CONTINUE
        position = first
        used = 0
        while position < last and used < steps.size:
            i = order[position]
            ask_ahead(rows, labels, order, upcoming, position, last)
            v = sample_weight[i * weight_stride]
            if v != 0.0:
                if not sound(rows, i, weights):
                    outcome = NOT_SOUND
                    break
                outcome, z, slope_there, model = row_step(
                    rows,
                    i,
                    labels[i],
                    v,
                    steps[used],
                    penalties[used * penalty_stride],
                    settings,
                    parameters,
                    weights,
                    offsets,
                    model,
                    held,
                )
                predictions[used] = z
                slopes[used] = slope_there
                if outcome in (NOT_FINITE, ENERGY_EXCEEDED, FIRED_BEFORE):
                    break
                if outcome == LEFT_OUT:
                    outcome = CONTINUE
                elif outcome != FIRED_AT_LEFT_OUT:
                    used += 1
            position += 1
            if outcome != CONTINUE:
                break
        store(model, numbers)
        return position, used, outcome

    return loop
