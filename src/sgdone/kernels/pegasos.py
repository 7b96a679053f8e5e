"""The loop of Pegasos: a step along each minibatch of rows, and a projection onto a ball.

Weights are scale × vector 0, so that the penalty and the projection each change one number. ‖w‖² is kept along with
them: a step w − a·x changes it by a²‖x‖² − 2a·w·x, and rows of a minibatch are added one after the other. It is
computed anew where it has lost digits that matter to the projection, and every so many updates.
"""

from collections.abc import Callable
from functools import lru_cache
from math import sqrt
from typing import Any, Final

import numpy as np

from sgdone.kernels.ahead import make_ask_ahead
from sgdone.kernels.bookkeeping import after_update
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.loop import LARGEST, UNIT
from sgdone.kernels.model import CEILING, FLOOR, load, store
from sgdone.kernels.outcome import CONTINUE, FIRED_AFTER, FIRED_AT_LEFT_OUT, FIRED_BEFORE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.probes import FIRE, GO, LEAVE_OUT, ProbeMaker, make_probes
from sgdone.kernels.rows import CSR_SHIFTED, RowAccess

#: Places in the loop's settings, behind those of `sgdone.kernels.loop`: the penalty, the square of the ball's radius,
#: and the updates between two renewals of ‖w‖².
ALPHA: Final = 3
RADIUS_SQUARED: Final = 4
RENEWAL: Final = 5

#: Places in ``kept``: ‖w‖², and the projections made.
NORM: Final = 0
PROJECTIONS: Final = 1

#: A ‖w‖² that is the difference of numbers so much larger is computed anew.
_LOST: Final = 1e-3


def make_squared_norm(access: RowAccess) -> Callable[..., Any]:
    """‖vector 0‖² of weights as such rows keep them."""

    @inlined
    def dense(rows: Any, weights: Any, offsets: Any) -> Any:
        total = 0.0
        for j in range(weights.shape[1]):
            total += np.float64(weights[0, j]) * np.float64(weights[0, j])
        return total

    @inlined
    def sparse(rows: Any, weights: Any, offsets: Any) -> Any:
        total = 0.0
        for j in range(weights.shape[0]):
            total += np.float64(weights[j, 0]) * np.float64(weights[j, 0])
        return total

    @inlined
    def shifted(rows: Any, weights: Any, offsets: Any) -> Any:
        centre = rows[5]
        total = 0.0
        for j in range(weights.shape[0]):
            weight = np.float64(weights[j, 0]) - offsets[0, 0] * centre[j]
            total += weight * weight
        return total

    if access.vectors_first:
        return dense
    return shifted if access is CSR_SHIFTED else sparse


@lru_cache(maxsize=64)
def make_projected_loop(
    access: RowAccess,
    value: Callable[..., float],
    slope: Callable[..., float],
    types: str,
    probes: tuple[ProbeMaker, ...] = (),
) -> Callable[..., tuple[int, int, int, int]]:
    """A loop of steps w ← (1 − γα)w − (γ/k)·Σ v·ℓ′·x over k rows each, projected; see `sgdone.kernels.loop`.

    It returns the index of the next row, the updates made, the outcome, and how many rows at the end wait for others to
    make a minibatch: ``members`` begins with them. ``predictions`` and ``slopes`` are the means over a minibatch, and
    ``probes`` are for minibatches of one row.
    """
    dot, add, rescale, sound = access.dot, access.add, access.rescale, access.sound
    ask_ahead = make_ask_ahead(access.fetch, access.locate)
    squared_norm = make_squared_norm(access)
    before, after = make_probes(probes, access)
    mark = fingerprint(access.dot, value, slope, types, *probes)

    @compiled(mark)
    def projected_loop(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        upcoming: Any,
        first: Any,
        last: Any,
        steps: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        numbers: Any,
        kept: Any,
        members: Any,
        amounts: Any,
        predictions: Any,
        slopes: Any,
        held: Any,
    ) -> Any:
        _ = mark
        model = load(numbers)
        norm = kept[NORM]
        ball = settings[RADIUS_SQUARED]
        size = members.size
        outcome = CONTINUE
        position = first
        used = 0
        filled = 0
        # Of the minibatch under way: w·x and ‖x‖² of its first row, and sums.
        first_product = 0.0
        first_norm = 0.0
        total_z = total_s = total_loss = total_v = total_wrong = total_squares = 0.0
        while position < last and used < steps.size:
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
            product, row_norm = dot(rows, i, weights, offsets)
            wx = model.scale * product
            z = wx + model.intercept
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
            step = steps[used]
            s = slope(z, y, parameters)
            amount = step * v * s / size
            if not (abs(amount) <= settings[LARGEST] and amount * amount * row_norm < np.inf):
                outcome = NOT_FINITE
                break
            if filled == 0:
                first_product = wx
                first_norm = np.float64(row_norm)
                total_z = total_s = total_loss = total_v = total_wrong = total_squares = 0.0
            members[filled] = i
            amounts[filled] = amount
            loss = value(z, y, parameters)
            total_z += z
            total_s += s
            total_loss += v * loss
            total_v += v
            total_wrong += 1.0 if y * z <= 0.0 else 0.0
            total_squares += (y - z) * (y - z)
            filled += 1
            position += 1
            if filled < size:
                continue
            filled = 0
            shrink = 1.0 - step * settings[ALPHA]
            scale = model.scale * shrink
            if abs(scale) < FLOOR or abs(scale) > CEILING:
                rescale(weights, offsets, scale)
                scale = 1.0
            norm *= shrink * shrink
            largest = norm
            total_amount = 0.0
            for k in range(size):
                along = shrink * first_product
                square = first_norm
                if k > 0:
                    product, row_norm = dot(rows, members[k], weights, offsets)
                    along = scale * product
                    square = np.float64(row_norm)
                amount = amounts[k]
                add(rows, members[k], weights, offsets, -amount * (1.0 / scale))
                norm += amount * (amount * square - 2.0 * along)
                largest = max(largest, amount * amount * square, norm)
                total_amount += amount
            doubtful = norm < _LOST * largest and ball < _LOST * largest
            due = np.uint64(model.steps + 1.0) % np.uint64(settings[RENEWAL]) == 0
            if doubtful or (due and ball < np.inf):
                norm = scale * scale * squared_norm(rows, weights, offsets)
            norm = max(norm, 0.0)
            if norm > ball:
                scale *= sqrt(ball / norm)
                norm = ball
                kept[PROJECTIONS] += 1.0
            model = after_update(
                model,
                scale,
                model.share,
                model.intercept - total_amount * settings[UNIT],
                total_loss,
                total_v,
                total_wrong / size,
                total_squares / size,
            )
            predictions[used] = total_z / size
            slopes[used] = total_s / size
            used += 1
            if after(rows, i, v, s, settings[UNIT], weights, offsets, model, held):
                outcome = FIRED_AFTER
                break
        store(model, numbers)
        kept[NORM] = norm
        return position, used, outcome, filled

    return projected_loop
