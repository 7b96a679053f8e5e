"""Gradient descent: every step reads all rows once, and many steps are made in one call.

Weights are vector 0, at scale 1. The gradient is summed in float64.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import compiled
from sgdone.kernels.loop import LARGEST, UNIT
from sgdone.kernels.model import Numbers, load, store
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND, count_update, moved, sums_of_row
from sgdone.kernels.plain_vectors import make_vectors
from sgdone.kernels.rows import RowAccess

#: Indices into the settings, after those of `sgdone.kernels.loop`: the penalty, and the rows of positive weight.
ALPHA: Final = 2
USED: Final = 3
#: Indices into the numbers of a model.
PASS_LOSS: Final = Numbers._fields.index("pass_loss")
PASS_WEIGHT: Final = Numbers._fields.index("pass_weight")


@lru_cache(maxsize=64)
def make_descent(
    access: RowAccess, value: Callable[..., float], slope: Callable[..., float], types: str
) -> Callable[..., tuple[int, int, int]]:
    """A loop of steps w ← (1 − γα)w − (γ/n)·Σ v·ℓ′·x, one for each of ``steps``.

    ``room`` is the sum of gradients, its offsets, and two vectors to work in. It returns the number of steps, the
    outcome, and the row that could not be used; ``means`` receive those of predictions and slopes over each step.
    """
    dot, add, sound = access.dot, access.add, access.sound
    take, move, read = make_vectors(access)

    @compiled(access.dot, value, slope, types)
    def descent(
        rows: Any, labelled: Any, steps: Any, settings: Any, parameters: Any, stored: Any, room: Any, means: Any
    ) -> Any:
        labels, sample_weight, weight_stride = labelled
        weights, offsets, numbers = stored
        predictions, slopes = means
        model = load(numbers)
        sums, sum_offsets, old, change = room
        n_rows = np.uint64(labels.size)
        used = settings[USED]
        for t in range(steps.size):
            total_z = total_s = total_amount = total_loss = total_v = total_wrong = total_squares = 0.0
            for i in range(n_rows):
                v = sample_weight[i * weight_stride]
                if v == 0.0:
                    continue
                if t == 0 and not sound(rows, i, weights):
                    store(model, numbers)
                    return t, NOT_SOUND, i
                y = labels[i]
                product, _norm = dot(rows, i, weights, offsets)
                z = product + model.intercept
                s = slope(z, y, parameters)
                if not (abs(z) <= settings[LARGEST] and abs(v * s) <= settings[LARGEST]):
                    store(model, numbers)
                    return t, NOT_FINITE, i
                amount = v * s / used
                add(rows, i, sums, sum_offsets, amount)
                total_amount += amount
                total_z += z
                total_s += s
                loss, weight, wrong, square = sums_of_row(y, v, z, value(z, y, parameters))
                total_loss += loss
                total_v += weight
                total_wrong += wrong
                total_squares += square
            step = steps[t]
            read(weights, old)
            take(rows, sums, sum_offsets, old, settings[ALPHA], change)
            for j in range(change.size):
                change[j] *= -step
            move(rows, weights, offsets, old, change)
            intercept = model.intercept - step * total_amount * settings[UNIT]
            sums_of_step = total_loss, total_v, total_wrong / used, total_squares / used
            store(model, numbers)
            numbers[PASS_LOSS], numbers[PASS_WEIGHT] = 0.0, 0.0  # each step is a pass of its own
            model = load(numbers)
            model = count_update(model, moved(model, model.scale, model.share, intercept), sums_of_step)
            predictions[t] = total_z / used
            slopes[t] = total_s / used
        store(model, numbers)
        return steps.size, CONTINUE, 0

    return descent
