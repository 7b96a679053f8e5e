"""The loop of a bank: many models advance together, each row read once and used for all of them.

Every model is averaged implicit SGD: γ = γ₀/√(1 + t/τ) at its t-th row, the k-th iterate weighing as k³ or so in the
average (Shamir & Zhang 2013). Iterates and averages are stored as `sgdone.kernels.storage` stores them: w = s·u and
w̄ = A·û + T·u, with one s, A and T a model, however many outputs it has.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from sgdone.kernels.ahead import make_ask_ahead
from sgdone.kernels.bank_rows import BankAccess
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.model import AVERAGE_FLOOR
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.outputs import Outputs

#: Columns of a bank's ``numbers``, a row a model.
SCALE, OWN, SHARE, STEPS = range(4)
#: Columns of a bank's ``plans``: γ₀, τ, α, the fold whose rows the model does not learn from, and whether its losses
#: are told while it learns.
GAIN, CLOCK, PENALTY, LEAVES_OUT, TOLD = range(5)
#: Places in a bank's ``settings``: 1 with an intercept, the largest prediction allowed, the power of its number that
#: an iterate weighs, and whether to learn at all.
UNIT, LARGEST, DECAY, LEARNS = range(4)
#: What stands for the fold of a model that leaves none out, and of a row that is in none: no number of a fold.
ALL_ROWS: Final = 254
NO_FOLD: Final = 255


@lru_cache(maxsize=64)
def make_bank(
    access: BankAccess,
    make_outputs: Callable[..., Outputs],
    value: Callable[..., float],
    implicit: Callable[..., float],
    types: str,
) -> Callable[..., tuple[int, int, int]]:
    """Compose a compiled loop over ``order[first:last]``; it returns the next position, rows used and the outcome.

    ``weights`` is (features × 2·predictions): the vectors u of all models, then û. ``intercepts`` are the iterates' and
    the averages'. ``losses[k]`` gets, for the k-th row used, the loss of the *average* of every model that is told of,
    before the row is learnt from, and ``misses`` the sum of its errors.
    """
    outputs = make_outputs(value, implicit)
    model_step = _make_model_step(outputs)
    dots, adds, sound, locate, fetch = access
    ask_ahead = make_ask_ahead(fetch, locate)
    mark = fingerprint(access.dots, make_outputs, value, implicit, types)

    @compiled(mark)
    def bank(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        folds: Any,
        order: Any,
        upcoming: Any,
        first: Any,
        last: Any,
        plans: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        flat: Any,
        intercepts: Any,
        numbers: Any,
        losses: Any,
        misses: Any,
        row: Any,
        sums: Any,
        amounts: Any,
        room: Any,
    ) -> Any:
        _ = mark
        n_models = numbers.shape[0]
        outcome = CONTINUE
        position = first
        used = 0
        while position < last and outcome == CONTINUE:
            i = order[position]
            ask_ahead(rows, labels, order, upcoming, position, last)
            v = sample_weight[i * weight_stride]
            if v != 0.0:
                if not sound(rows, i, weights):
                    outcome = NOT_SOUND
                    break
                norm = dots(rows, i, weights, flat, row, sums)
                # A prediction that is no number shows in every model, so that none has learnt from the row.
                if not abs(norm) <= settings[LARGEST] or not abs(labels[i]) <= settings[LARGEST]:
                    outcome = NOT_FINITE
                    break
                for model in range(n_models):
                    model_step(
                        model,
                        n_models,
                        norm,
                        labels[i],
                        v,
                        folds[i],
                        plans,
                        settings,
                        parameters,
                        weights,
                        intercepts,
                        numbers,
                        losses[used],
                        misses,
                        sums,
                        amounts,
                        room,
                    )
                if settings[LEARNS] != 0.0:
                    adds(rows, i, weights, flat, row, amounts)
                used += 1
            position += 1
        return position, used, outcome

    return bank


def _make_model_step(outputs: Outputs) -> Callable[..., None]:
    """What a row does to one model: its loss, and the amounts of the row that its columns take."""
    cost, slopes, miss, single = outputs

    @inlined
    def model_step(
        model: Any,
        n_models: Any,
        norm: Any,
        label: Any,
        v: Any,
        fold: Any,
        plans: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        intercepts: Any,
        numbers: Any,
        losses: Any,
        misses: Any,
        sums: Any,
        amounts: Any,
        room: Any,
    ) -> None:
        predictions = room[0]
        slope = room[1]
        count = 1 if single else predictions.size
        begin = model * count
        averages = n_models * count + begin
        scale, own, share = numbers[model, SCALE], numbers[model, OWN], numbers[model, SHARE]
        if plans[model, TOLD] != 0.0 or settings[LEARNS] == 0.0:
            for k in range(count):
                predictions[k] = own * sums[averages + k] + share * sums[begin + k] + intercepts[1, begin + k]
            losses[model] = cost(predictions, 0, count, label, parameters)
            misses[model] += miss(predictions, 0, count, label)
        if settings[LEARNS] == 0.0 or plans[model, LEAVES_OUT] == fold:
            for k in range(count):
                amounts[begin + k] = 0
                amounts[averages + k] = 0
            return
        steps = numbers[model, STEPS] + 1.0
        gain = plans[model, GAIN] / math.sqrt(1.0 + steps / plans[model, CLOCK])
        shrink = 1.0 / (1.0 + gain * plans[model, PENALTY])
        for k in range(count):
            predictions[k] = scale * sums[begin + k] * shrink + intercepts[0, begin + k]
        slopes(predictions, count, label, gain * v * (norm * shrink + settings[UNIT]), parameters, slope, room[2])
        scale *= shrink
        if scale < AVERAGE_FLOOR or own < AVERAGE_FLOOR:
            for j in range(weights.shape[0]):
                for k in range(count):
                    weights[j, averages + k] = own * weights[j, averages + k] + share * weights[j, begin + k]
                    weights[j, begin + k] *= scale
            scale, own, share = 1.0, 1.0, 0.0
        rate = (1.0 + settings[DECAY]) / (steps + settings[DECAY])
        along = gain * v * shrink / scale
        if rate >= 1.0:  # the average starts with this iterate, whatever was there before
            own, share = 1.0, 0.0
            for j in range(weights.shape[0]):
                for k in range(count):
                    weights[j, averages + k] = 0.0
        for k in range(count):
            amounts[begin + k] = -along * slope[k]
            amounts[averages + k] = along * slope[k] * (share / own)
            intercept = intercepts[0, begin + k] - gain * v * slope[k] * settings[UNIT]
            intercepts[0, begin + k] = intercept
            intercepts[1, begin + k] += rate * (intercept - intercepts[1, begin + k])
        keep = 1.0 - rate
        numbers[model, SCALE] = scale
        numbers[model, OWN] = own * keep if rate < 1.0 else 1.0
        numbers[model, SHARE] = share * keep + rate * scale
        numbers[model, STEPS] = steps

    return model_step
