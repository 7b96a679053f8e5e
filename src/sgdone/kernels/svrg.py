"""SVRG: the gradient at an anchor, and steps corrected by it.

The iterate is ``scale`` × vector 0 + ``share`` × vector 1. Vector 1 is the mean gradient of the loss at the anchor, so
that a step along it changes one number: a sparse row costs as many operations as it has entries.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.bookkeeping import moved, no_update, sums_of_row
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.model import CEILING, FLOOR, load
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.rows import RowAccess

#: Indices into the settings, after those of `sgdone.kernels.loop`: the penalty, the intercept's gradient at the anchor.
ALPHA: Final = 2
GRADIENT_B: Final = 3


@lru_cache(maxsize=64)
def make_anchor(access: RowAccess, slope: Callable[..., float], types: str) -> Callable[..., tuple[int, int, float]]:
    """A loop over all rows that sums their gradients into vector 1 and keeps their slopes.

    It returns the row it came to, the outcome, and the sum of the intercept's gradients.
    """
    dot, add_both, sound = access.dot, access.add_both, access.sound
    mark = fingerprint(access.dot, slope, types)

    @compiled(mark)
    def anchor(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        factor: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        numbers: Any,
        slopes: Any,
    ) -> Any:
        _ = mark
        model = load(numbers)
        total = 0.0
        for position in range(order.size):
            i = order[position]
            v = sample_weight[i * weight_stride]
            if v != 0.0:
                if not sound(rows, i, weights):
                    return position, NOT_SOUND, total
                product, norm = dot(rows, i, weights, offsets)
                z = model.scale * product + model.intercept
                s = slope(z, labels[i], parameters)
                if not (abs(z) <= settings[LARGEST] and abs(s) <= settings[LARGEST] and norm < np.inf):
                    return position, NOT_FINITE, total
                slopes[i] = s
                add_both(rows, i, weights, offsets, 0.0, factor * v * s)
                total += factor * v * s
        return order.size, CONTINUE, total

    return anchor


def make_svrg(access: RowAccess, value: Callable[..., float], slope: Callable[..., float]) -> RowMethod:
    """Steps w ← w − γ(v(ℓ′ − ℓ̃′)x + αw + g̃); ``own`` is the step sizes and the slopes ℓ̃′ at the anchor."""
    dot_both, add, rescale = access.dot_both, access.add, access.rescale

    @inlined
    def predict(rows: Any, i: Any, weights: Any, offsets: Any, model: Any, own: Any) -> Any:
        product, along_gradient, _norm = dot_both(rows, i, weights, offsets)
        return model.scale * product + model.share * along_gradient + model.intercept, ()

    @inlined
    def update(
        rows: Any,
        i: Any,
        y: Any,
        v: Any,
        z: Any,
        reading: Any,
        used: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        model: Any,
        own: Any,
    ) -> Any:
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
