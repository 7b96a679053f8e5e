"""A bank of models: they advance together, and each row is read once for all of them.

Every model is averaged implicit SGD: γ = γ₀/√(1 + t/τ) at its t-th row, and the k-th iterate has a weight of about k³
in the average (Shamir & Zhang 2013). Iterates and averages are stored as `sgdone.kernels.averaging` says, with one s,
A and T per model, whatever its number of outputs.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from sgdone.kernels.averaging import average_numbers, moved_mean, polynomial_rate, row_multiples
from sgdone.kernels.bank_rows import BankAccess
from sgdone.kernels.bookkeeping import no_update
from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE
from sgdone.kernels.outputs import Outputs
from sgdone.kernels.storage import make_must_fold
from sgdone.kernels.updates import implicit_shrinkage

#: Columns of a bank's ``scalars``, one row per model.
SCALE, OWN, SHARE, STEPS = range(4)
#: Columns of a bank's ``plans``: γ₀, τ, α, the fold whose rows the model does not train on, and whether its losses are
#: recorded while it trains.
GAIN, CLOCK, PENALTY, LEAVES_OUT, TOLD = range(5)
#: Indices into the settings, after those of `sgdone.kernels.loop`: the power p of averaging, and whether to
#: train at all.
DECAY: Final = 2
LEARNS: Final = 3
#: In place of a fold: of a model that leaves none out, and of a row that is in none.
ALL_ROWS: Final = 254
NO_FOLD: Final = 255


def make_bank(
    access: BankAccess,
    make_outputs: Callable[..., Outputs],
    value: Callable[..., float],
    implicit: Callable[..., float],
) -> RowMethod:
    """Train many models on a row.

    ``weights`` is (features × 2·predictions): the vectors u of all models, then û. ``own`` is

    - ``folds``, the fold of each row, and ``plans``;
    - ``flat``, the weights as one row; ``intercepts`` of the iterates and of the averages; ``scalars``;
    - ``losses``: its k-th row gets, for the k-th row used, the loss of the *average* of every model whose losses are
      recorded, before the row is trained on; and ``misses``, the sum of its errors;
    - arrays to work in: ``row``, ``sums``, ``amounts`` and ``room``.
    """
    dots, adds = access.dots, access.adds
    train = _make_train(make_outputs(value, implicit))

    @inlined
    def predict(rows: Any, i: Any, weights: Any, offsets: Any, model: Any, own: Any) -> Any:
        _folds, _plans, flat, _intercepts, _scalars, _losses, _misses, row, sums, _amounts, _room = own
        norm = dots(rows, i, weights, flat, row, sums)
        # In place of a prediction: where one of them is not finite, neither is ‖x‖².
        return norm, (norm,)

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
        folds, plans, flat, intercepts, scalars, losses, misses, row, sums, amounts, room = own
        (norm,) = reading
        if not abs(y) <= settings[LARGEST]:
            return no_update(NOT_FINITE, y, model)
        n_models = scalars.shape[0]
        for number in range(n_models):
            train(
                number,
                n_models,
                norm,
                y,
                v,
                folds[i],
                plans,
                settings,
                parameters,
                weights,
                intercepts,
                scalars,
                losses[used],
                misses,
                sums,
                amounts,
                room,
            )
        if settings[LEARNS] != 0.0:
            adds(rows, i, weights, flat, row, amounts)
        return no_update(CONTINUE, y, model)

    return RowMethod(predict, update)


def _make_train(outputs: Outputs) -> Callable[..., None]:
    """Train one model on a row: record its loss, and find the multiples of the row that its columns take."""
    cost, slopes, miss, single = outputs
    must_fold = make_must_fold()

    @inlined
    def train(
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
        scalars: Any,
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
        scale, own, share = scalars[model, SCALE], scalars[model, OWN], scalars[model, SHARE]
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
        steps = scalars[model, STEPS] + 1.0
        step = plans[model, GAIN] / math.sqrt(1.0 + steps / plans[model, CLOCK])
        shrink, q = implicit_shrinkage(step, plans[model, PENALTY], norm, v, settings[UNIT])
        for k in range(count):
            predictions[k] = scale * sums[begin + k] * shrink + intercepts[0, begin + k]
        slopes(predictions, count, label, q, parameters, slope, room[2])
        scale *= shrink
        if must_fold(scale, own):
            for j in range(weights.shape[0]):
                for k in range(count):
                    weights[j, averages + k] = own * weights[j, averages + k] + share * weights[j, begin + k]
                    weights[j, begin + k] *= scale
            scale, own, share = 1.0, 1.0, 0.0
        rate = polynomial_rate(steps, settings[DECAY])
        if rate >= 1.0:  # the average starts with this iterate, whatever was there before
            own, share = 1.0, 0.0
            for j in range(weights.shape[0]):
                for k in range(count):
                    weights[j, averages + k] = 0.0
        to_iterate, to_average = row_multiples(step * v * shrink, scale, own, share)
        for k in range(count):
            amounts[begin + k] = to_iterate * slope[k]
            amounts[averages + k] = to_average * slope[k]
            intercept = intercepts[0, begin + k] - step * v * slope[k] * settings[UNIT]
            intercepts[0, begin + k] = intercept
            intercepts[1, begin + k] = moved_mean(intercepts[1, begin + k], intercept, rate)
        scalars[model, SCALE] = scale
        scalars[model, OWN], scalars[model, SHARE] = average_numbers(scale, own, share, rate)
        scalars[model, STEPS] = steps

    return train
