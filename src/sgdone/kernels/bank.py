"""A bank of models: they advance together, and each row is read once for all of them.

Every model is averaged implicit SGD: γ = γ₀/√(1 + t/τ) at its t-th row, and the k-th iterate has a weight of about k³
in the average (Shamir & Zhang 2013). Iterates and averages are stored as `sgdone.kernels.updates` says, with one s,
A and T per model, whatever its number of outputs.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from sgdone.kernels.bank_rows import BankAccess
from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.outcome import CONTINUE, NO_MODEL, NOT_FINITE
from sgdone.kernels.outputs import Outputs
from sgdone.kernels.storage import make_must_fold
from sgdone.kernels.updates import average_step, implicit_shrinkage, polynomial_rate

#: Columns of a bank's ``scalars``, one row per model.
SCALE, OWN, SHARE, STEPS = range(4)
#: Columns of a bank's ``plans``: γ₀, τ, α, the fold whose rows the model does not train on, and whether its losses are
#: recorded while it trains.
STEP_SCALE, DECAY_ROWS, ALPHA, LEAVES_OUT, RECORDS_LOSSES = range(5)
#: Indices into the settings, after those of `sgdone.kernels.loop`: the power p of averaging.
DECAY: Final = 2
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

    ``weights`` is (features × 2·predictions): the vectors u of all models, then û; ``offsets`` is the same as one row.
    In place of a prediction ``access.dots`` returns ‖x‖²: it is not finite where a prediction is not. ``own`` is

    - arrays to work in: the row in scaled units, ``sums``, ``amounts`` (of size 0 to predict only) and
      ``room``;
    - ``folds``, the fold of each row, and ``plans``;
    - ``intercepts`` of the iterates and of the averages, and ``scalars``;
    - ``losses``: its k-th row gets, for the k-th row used, the loss of the *average* of every model whose losses are
      recorded, before the row is trained on; and ``misses``, the sum of its errors.
    """
    cost, slopes, miss, single = make_outputs(value, implicit)
    must_fold = make_must_fold()

    @inlined
    def update(row: Any, arrays: Any, model: Any, bank: Any) -> Any:
        i, y, v, norm, _reading, used = row
        _rows, settings, parameters, weights, _flat = arrays
        _row, sums, amounts, room, folds, plans, intercepts, scalars, losses, misses = bank
        if not abs(y) <= settings[LARGEST]:
            return NOT_FINITE, y, 0.0, (), ()
        n_models = scalars.shape[0]
        predictions = room[0]
        slope = room[1]
        count = 1 if single else predictions.size
        for number in range(n_models):
            begin = number * count
            averages = n_models * count + begin
            scale, own, share = scalars[number, SCALE], scalars[number, OWN], scalars[number, SHARE]
            if plans[number, RECORDS_LOSSES] != 0.0 or amounts.size == 0:
                for k in range(count):
                    predictions[k] = own * sums[averages + k] + share * sums[begin + k] + intercepts[1, begin + k]
                losses[used, number] = cost(predictions, 0, count, y, parameters)
                misses[number] += miss(predictions, 0, count, y)
            if amounts.size == 0:
                continue
            if plans[number, LEAVES_OUT] == folds[i]:
                for k in range(count):
                    amounts[begin + k] = 0
                    amounts[averages + k] = 0
                continue
            steps = scalars[number, STEPS] + 1.0
            step = plans[number, STEP_SCALE] / math.sqrt(1.0 + steps / plans[number, DECAY_ROWS])
            shrink, q = implicit_shrinkage(step, plans[number, ALPHA], norm, v, settings[UNIT])
            for k in range(count):
                predictions[k] = scale * sums[begin + k] * shrink + intercepts[0, begin + k]
            slopes(predictions, count, y, q, parameters, slope, room[2])
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
            to_iterate, to_average, own, share = average_step(step * v * shrink, scale, own, share, rate)
            for k in range(count):
                amounts[begin + k] = to_iterate * slope[k]
                amounts[averages + k] = to_average * slope[k]
                intercept = intercepts[0, begin + k] - step * v * slope[k] * settings[UNIT]
                intercepts[0, begin + k] = intercept
                intercepts[1, begin + k] += rate * (intercept - intercepts[1, begin + k])
            scalars[number, SCALE], scalars[number, OWN], scalars[number, SHARE] = scale, own, share
            scalars[number, STEPS] = steps
        return CONTINUE, y, 0.0, (), ()

    return RowMethod(access.dots, update, access.adds, NO_MODEL)
