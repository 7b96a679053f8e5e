"""Methods whose step is one scalar along the row: SGD and implicit SGD, with or without an average."""

from collections.abc import Callable
from typing import Any, Final

from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.outcome import ENERGY_EXCEEDED, NOT_FINITE, no_update, sums_of_row
from sgdone.kernels.rows import RowAccess
from sgdone.kernels.storage import Storage

#: Index into the settings, after those of `sgdone.kernels.loop`: the largest v(‖x‖² + 1) that the step size allows for.
#: Those of `sgdone.kernels.storage` follow.
ENERGY_LIMIT: Final = 2


def make_row_step(
    access: RowAccess,
    make_storage: Callable[[RowAccess, Callable[..., float]], Storage],
    make_update: Callable[[Callable[..., float]], Callable[..., Any]],
    value: Callable[..., float],
    slope: Callable[..., float],
) -> RowMethod:
    """Compose a kind of step (`sgdone.kernels.updates`) and a way of storing weights (`sgdone.kernels.storage`).

    ``slope`` is the slope or the implicit slope of the loss, as ``make_update`` needs. ``own`` is the step sizes, the
    penalties α, and the stride of the latter: 0 if one penalty is meant for all steps.
    """
    read, write, compare = make_storage(access, value)
    step_along = make_update(slope)

    @inlined
    def predict(rows: Any, i: Any, weights: Any, offsets: Any, model: Any, own: Any) -> Any:
        product, other, norm = read(rows, i, weights, offsets, model)
        wx = model.scale * product
        return wx + model.intercept, (wx, other, norm)

    @inlined
    def update(row: Any, arrays: Any, model: Any, own: Any) -> Any:
        i, y, v, z, reading, used = row
        _rows, settings, parameters, _weights, _offsets = arrays
        wx, other, norm = reading
        steps, penalties, penalty_stride = own
        energy = v * (norm + settings[UNIT])
        if energy > settings[ENERGY_LIMIT]:
            return no_update(ENERGY_EXCEEDED, energy, model)
        step = steps[used]
        shrink, amount, amount_b, slope_there = step_along(
            wx, model.intercept, norm, y, v, step, penalties[used * penalty_stride], settings[UNIT], parameters
        )
        if not abs(amount) <= settings[LARGEST]:
            return no_update(NOT_FINITE, z, model)
        intercept = model.intercept - amount_b
        scale, averaged, share, mean = write(i, (shrink, amount, step), intercept, arrays, model)
        loss = value(z, y, parameters)
        iterate_loss, moving_loss, outcome = compare(other, loss, y, v, parameters, model)
        changed = scale, averaged, share, intercept, mean, iterate_loss, moving_loss
        return outcome, z, slope_there, changed, sums_of_row(y, v, z, loss)

    return RowMethod(predict, update)


def make_predict(access: RowAccess) -> Callable[..., Any]:
    """The prediction of an iterate stored as scale × vector 0; it reads w·x and ‖x‖²."""
    dot = access.dot

    @inlined
    def predict(rows: Any, i: Any, weights: Any, offsets: Any, model: Any, own: Any) -> Any:
        product, norm = dot(rows, i, weights, offsets)
        wx = model.scale * product
        return wx + model.intercept, (wx, norm)

    return predict
