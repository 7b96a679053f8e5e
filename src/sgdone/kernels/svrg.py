"""Loops of a variance-reduced method: the gradient at an anchor, and steps corrected by it.

The iterate is ``scale`` × vector 0 + ``share`` × vector 1, vector 1 being the mean gradient of the loss at the
anchor: a step along it changes one number, so sparse rows cost as many operations as they have entries.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.bookkeeping import after_update
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled
from sgdone.kernels.loop import LARGEST, UNIT
from sgdone.kernels.model import CEILING, FLOOR, load, store
from sgdone.kernels.outcome import CONTINUE, FIRED_AFTER, FIRED_AT_LEFT_OUT, FIRED_BEFORE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.probes import FIRE, GO, LEAVE_OUT, ProbeMaker, make_probes
from sgdone.kernels.rows import RowAccess

#: Places in an inner loop's settings, behind those of `sgdone.kernels.loop`: the penalty, the intercept's gradient.
ALPHA: Final = 3
GRADIENT_B: Final = 4


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


@lru_cache(maxsize=64)
def make_inner_loop(
    access: RowAccess,
    value: Callable[..., float],
    slope: Callable[..., float],
    types: str,
    probes: tuple[ProbeMaker, ...] = (),
) -> Callable[..., tuple[int, int, int]]:
    """A loop of corrected steps w ← w − γ(v(ℓ′ − ℓ̃′)x + αw + g̃); see `sgdone.kernels.loop` for what it shares."""
    dot_both, add, rescale, sound = access.dot_both, access.add, access.rescale, access.sound
    before, after = make_probes(probes, access)
    mark = fingerprint(access.dot, value, slope, types, *probes)

    @compiled(mark)
    def inner_loop(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        first: Any,
        last: Any,
        steps: Any,
        anchor_slopes: Any,
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
            v = sample_weight[i * weight_stride]
            if v == 0.0:
                position += 1
                continue
            if not sound(rows, i, weights):
                outcome = NOT_SOUND
                break
            y = labels[i]
            own, along_gradient, _norm = dot_both(rows, i, weights, offsets)
            z = model.scale * own + model.share * along_gradient + model.intercept
            if not abs(z) <= settings[LARGEST]:
                outcome = NOT_FINITE
                break
            wish = before(y, z, held)
            if wish == FIRE:
                outcome = FIRED_BEFORE
                break
            if wish != GO:
                position += 1
                if wish != LEAVE_OUT:
                    outcome = FIRED_AT_LEFT_OUT
                    break
                continue
            s = slope(z, y, parameters)
            step = steps[used]
            amount = step * v * (s - anchor_slopes[i])
            if not abs(amount) <= settings[LARGEST]:
                outcome = NOT_FINITE
                break
            shrink = 1.0 - step * settings[ALPHA]
            scale = model.scale * shrink
            if abs(scale) < FLOOR or abs(scale) > CEILING:
                rescale(weights, offsets, scale)
                scale = 1.0
            add(rows, i, weights, offsets, -amount / scale)
            loss = value(z, y, parameters)
            model = after_update(
                model,
                scale,
                model.share * shrink - step,
                model.intercept - (amount + step * settings[GRADIENT_B]) * settings[UNIT],
                v * loss,
                v,
                1.0 if y * z <= 0.0 else 0.0,
                (y - z) * (y - z),
            )
            predictions[used] = z
            slopes[used] = s
            used += 1
            position += 1
            if after(rows, i, v, s, settings[UNIT], weights, offsets, model, held):
                outcome = FIRED_AFTER
                break
        store(model, numbers)
        return position, used, outcome

    return inner_loop
