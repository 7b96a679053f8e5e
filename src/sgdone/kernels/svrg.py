"""SVRG: the gradient at an anchor, and steps corrected by it.

The iterate is ``scale`` × vector 0 + ``share`` × vector 1. Vector 1 is the mean gradient of the loss at the anchor, so
that a step along it changes one number: a sparse row costs as many operations as it has entries.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.model import CEILING, FLOOR
from sgdone.kernels.outcome import CONTINUE, GATHERED, NOT_FINITE, moved, no_update, sums_of_row
from sgdone.kernels.row_step import make_predict
from sgdone.kernels.rows import RowAccess

#: Indices into the settings, after those of `sgdone.kernels.loop`: the penalty, the intercept's gradient at the anchor.
ALPHA: Final = 2
GRADIENT_B: Final = 3


def make_anchor(access: RowAccess, slope: Callable[..., float]) -> RowMethod:
    """Sum the gradients of rows into vector 1, without an update: every row is gathered.

    ``own`` is the factor 1/n of the mean, the slopes at the anchor to be written, one per row of the matrix, and an
    array for the intercept's gradient.
    """
    add_both = access.add_both

    @inlined
    def update(row: Any, arrays: Any, model: Any, own: Any) -> Any:
        i, y, v, z, reading, _used = row
        rows, settings, parameters, weights, offsets = arrays
        factor, anchor_slopes, gradient_b = own
        _wx, norm = reading
        s = slope(z, y, parameters)
        if not (abs(s) <= settings[LARGEST] and norm < np.inf):
            return no_update(NOT_FINITE, z, model)
        anchor_slopes[i] = s
        add_both(rows, i, weights, offsets, 0.0, factor * v * s)
        gradient_b[0] += factor * v * s
        return no_update(GATHERED, z, model)

    return RowMethod(make_predict(access), update)


def make_svrg(access: RowAccess, value: Callable[..., float], slope: Callable[..., float]) -> RowMethod:
    """Steps w ← w − γ(v(ℓ′ − ℓ̃′)x + αw + g̃); ``own`` is the step sizes and the slopes ℓ̃′ at the anchor."""
    dot_both, add, rescale = access.dot_both, access.add, access.rescale

    @inlined
    def predict(rows: Any, i: Any, weights: Any, offsets: Any, model: Any, own: Any) -> Any:
        product, along_gradient, _norm = dot_both(rows, i, weights, offsets)
        return model.scale * product + model.share * along_gradient + model.intercept, ()

    @inlined
    def update(row: Any, arrays: Any, model: Any, own: Any) -> Any:
        i, y, v, z, _reading, used = row
        rows, settings, parameters, weights, offsets = arrays
        steps, anchor_slopes = own
        s = slope(z, y, parameters)
        step = steps[used]
        amount = step * v * (s - anchor_slopes[i])
        if not abs(amount) <= settings[LARGEST]:
            return no_update(NOT_FINITE, z, model)
        shrink = 1.0 - step * settings[ALPHA]
        scale = model.scale * shrink
        if abs(scale) < FLOOR or abs(scale) > CEILING:
            rescale(weights, offsets, scale)
            scale = 1.0
        add(rows, i, weights, offsets, -amount / scale)
        intercept = model.intercept - (amount + step * settings[GRADIENT_B]) * settings[UNIT]
        sums = sums_of_row(y, v, z, value(z, y, parameters))
        return CONTINUE, z, s, moved(model, scale, model.share * shrink - step, intercept), sums

    return RowMethod(predict, update)
