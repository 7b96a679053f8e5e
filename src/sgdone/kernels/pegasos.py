"""Pegasos: a step along each minibatch of rows, and a projection onto a ball.

Weights are scale × vector 0, so that the penalty and the projection each change one number. ‖w‖² is kept along with
them: a step w − a·x changes it by a²‖x‖² − 2a·w·x, and rows of a minibatch are added one after the other. It is
computed again where it has lost digits that matter to the projection, and at regular intervals.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.minibatch import AMOUNTS, make_minibatch_update
from sgdone.kernels.model import CEILING, FLOOR
from sgdone.kernels.outcome import moved
from sgdone.kernels.row_step import make_predict
from sgdone.kernels.rows import CSR_SHIFTED, RowAccess

#: Indices into the settings, after those of `sgdone.kernels.loop`: the penalty, the square of the ball's radius, and
#: the number of updates after which ‖w‖² is computed again.
ALPHA: Final = 2
RADIUS_SQUARED: Final = 3
RENEWAL: Final = 4

#: Indices into ``kept``: ‖w‖², and the number of projections.
NORM: Final = 0
PROJECTIONS: Final = 1

#: Indices into what is kept of the first row of a minibatch: w·x, and ‖x‖².
PRODUCT: Final = 0
SQUARE: Final = 1

#: ‖w‖² is computed again if it is the difference of numbers this much larger.
_LOST: Final = 1e-3


def make_squared_norm(access: RowAccess) -> Callable[..., Any]:
    """‖vector 0‖², as rows of this kind store it."""

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


def make_pegasos(access: RowAccess, value: Callable[..., float], slope: Callable[..., float]) -> RowMethod:
    """Steps w ← (1 − γα)w − (γ/k)·Σ v·ℓ′·x over k rows each, then projected: Shalev-Shwartz et al. (2007), figure 1.

    ``own`` is that of `sgdone.kernels.minibatch` with the step sizes, ``kept``, and an array for two numbers.
    """
    dot, add, rescale = access.dot, access.add, access.rescale
    squared_norm = make_squared_norm(access)

    @inlined
    def gather(rows: Any, i: Any, share: Any, first: Any, reading: Any, used: Any, settings: Any, method: Any) -> Any:
        steps, _kept, first_row = method
        wx, row_norm = reading
        if first:
            first_row[PRODUCT] = wx
            first_row[SQUARE] = row_norm
        amount = steps[used] * share
        return amount, abs(amount) <= settings[LARGEST] and amount * amount * row_norm < np.inf

    @inlined
    def complete(used: Any, arrays: Any, model: Any, batch: Any, method: Any) -> Any:
        rows, settings, _parameters, weights, offsets = arrays
        members, amounts, totals = batch
        steps, kept, first_row = method
        ball = settings[RADIUS_SQUARED]
        shrink = 1.0 - steps[used] * settings[ALPHA]
        scale = model.scale * shrink
        if abs(scale) < FLOOR or abs(scale) > CEILING:
            rescale(weights, offsets, scale)
            scale = 1.0
        norm = kept[NORM] * (shrink * shrink)
        largest = norm
        for k in range(members.size):
            along = shrink * first_row[PRODUCT]
            square = first_row[SQUARE]
            if k > 0:
                product, row_norm = dot(rows, members[k], weights, offsets)
                along = scale * product
                square = np.float64(row_norm)
            amount = amounts[k]
            add(rows, members[k], weights, offsets, -amount * (1.0 / scale))
            norm += amount * (amount * square - 2.0 * along)
            largest = max(largest, amount * amount * square, norm)
        doubtful = norm < _LOST * largest and ball < _LOST * largest
        due = np.uint64(model.steps + 1.0) % np.uint64(settings[RENEWAL]) == 0
        if doubtful or (due and ball < np.inf):
            norm = scale * scale * squared_norm(rows, weights, offsets)
        norm = max(norm, 0.0)
        if norm > ball:
            scale *= sqrt(ball / norm)
            norm = ball
            kept[PROJECTIONS] += 1.0
        kept[NORM] = norm
        return True, moved(model, scale, model.share, model.intercept - totals[AMOUNTS] * settings[UNIT])

    return RowMethod(make_predict(access), make_minibatch_update(value, slope, gather, complete))
