"""The loop of SGD-QN: steps of a size of its own for every feature, learnt once in a while.

The iterate θ is vector 0 (with a scale of 1, so that probes read it as any other), the diagonal B vector 1. Every
``skip`` samples θ is kept as ω and shrunk; at the next row the gradients at θ and ω tell of the curvature.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from sgdone.kernels.ahead import make_ask_ahead
from sgdone.kernels.bookkeeping import after_update
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled
from sgdone.kernels.loop import LARGEST, UNIT
from sgdone.kernels.model import load, store
from sgdone.kernels.outcome import CONTINUE, FIRED_AFTER, FIRED_AT_LEFT_OUT, FIRED_BEFORE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.probes import FIRE, GO, LEAVE_OUT, ProbeMaker, make_probes
from sgdone.kernels.rows import RowAccess
from sgdone.kernels.rows_rescaled import rescaled

#: The place of the penalty in the settings, behind those of `sgdone.kernels.loop`.
ALPHA: Final = 3
#: Places in what the loop remembers of the intercept: its step size, and its value in ω.
STEP_B: Final = 0
KEPT_B: Final = 1
#: Bordes et al. (2009): a curvature is between α and this many α.
MOST: Final = 100.0


@lru_cache(maxsize=64)
def make_rescaling_loop(
    access: RowAccess,
    value: Callable[..., float],
    slope: Callable[..., float],
    types: str,
    probes: tuple[ProbeMaker, ...] = (),
) -> Callable[..., tuple[int, int, int]]:
    """A loop of at most ``updates`` steps θ ← θ − v·ℓ′·B∘(x, 1); see `sgdone.kernels.loop` for what it shares."""
    dot, sound = access.dot, access.sound
    ask_ahead = make_ask_ahead(access.fetch, access.locate)
    move, learn, age, keep = rescaled(access)
    before, after = make_probes(probes, access)
    mark = fingerprint(access.dot, value, slope, types, *probes)

    @compiled(mark)
    def rescaling_loop(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        upcoming: Any,
        first: Any,
        last: Any,
        updates: Any,
        skip: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        numbers: Any,
        kept: Any,
        of_intercept: Any,
        predictions: Any,
        slopes: Any,
        held: Any,
    ) -> Any:
        _ = mark
        model = load(numbers)
        alpha = settings[ALPHA]
        outcome = CONTINUE
        position = first
        used = 0
        while position < last and used < updates:
            i = order[position]
            ask_ahead(rows, labels, order, upcoming, position, last)
            v = sample_weight[i * weight_stride]
            if v == 0.0:
                position += 1
                continue
            if not sound(rows, i, weights):
                outcome = NOT_SOUND
                break
            y = labels[i]
            product, _norm = dot(rows, i, weights, offsets)
            z = product + model.intercept
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
            amount = v * s
            if not abs(amount) <= settings[LARGEST]:
                outcome = NOT_FINITE
                break
            if model.steps > 0.0 and model.steps % skip == 0.0:
                product, _norm = dot(rows, i, kept, offsets)
                change = amount - v * slope(product + of_intercept[KEPT_B], y, parameters)
                if not abs(change) <= settings[LARGEST]:
                    outcome = NOT_FINITE
                    break
                # What a curvature has beyond α is added to 1/B after the α that every feature gets.
                age(weights, skip * alpha)
                learn(rows, i, weights, kept, change, skip, (MOST - 1.0) * alpha)
                moved = model.intercept - of_intercept[KEPT_B]
                ratio = min(max(change / moved, alpha), MOST * alpha) if moved != 0.0 else alpha
                of_intercept[STEP_B] /= 1.0 + skip * of_intercept[STEP_B] * ratio
            if (model.steps + 1.0) % skip == 0.0:
                keep(weights, kept, skip * alpha)
                of_intercept[KEPT_B] = model.intercept
            move(rows, i, weights, amount)
            loss = value(z, y, parameters)
            model = after_update(
                model,
                model.scale,
                model.share,
                model.intercept - amount * of_intercept[STEP_B] * settings[UNIT],
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

    return rescaling_loop
