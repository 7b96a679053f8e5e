"""The two halves of a step on all rows whose coefficients depend on the predictions for all of them.

First the prediction for every row; then the sum of the rows times their coefficients, one of which may be Catoni's
M-estimate of location.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import compiled
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.plain_vectors import make_vectors
from sgdone.kernels.rows import RowAccess


@lru_cache(maxsize=16)
def make_predictions(access: RowAccess, types: str) -> Callable[..., tuple[int, int]]:
    """A loop that writes xᵀw + b of each row of ``order`` to ``predictions``.

    It returns the outcome, and the position of a row that could not be used. w is vector 0 times ``scale``.
    """
    dot, sound = access.dot, access.sound

    @compiled(access.dot, types)
    def predict(
        rows: Any,
        order: Any,
        weights: Any,
        offsets: Any,
        scale: Any,
        intercept: Any,
        largest: Any,
        predictions: Any,
    ) -> Any:
        for position in range(order.size):
            i = order[position]
            if not sound(rows, i, weights):
                return NOT_SOUND, position
            product, norm = dot(rows, i, weights, offsets)
            z = scale * product + intercept
            if not (abs(z) <= largest and norm < np.inf):
                return NOT_FINITE, position
            predictions[position] = z
        return CONTINUE, 0

    return predict


@lru_cache(maxsize=16)
def make_combination(access: RowAccess, types: str) -> Callable[..., None]:
    """A loop that writes Σ c·x over the rows of ``order`` to ``out``; rows with c = 0 are skipped.

    ``sums`` and ``sum_offsets`` are arrays to work in, all 0 before and after.
    """
    add = access.add
    take = make_vectors(access).take

    @compiled(access.dot, types)
    def combine(rows: Any, order: Any, coefficients: Any, sums: Any, sum_offsets: Any, out: Any) -> None:
        for position in range(order.size):
            c = coefficients[position]
            if c != 0.0:
                add(rows, order[position], sums, sum_offsets, c)
        take(rows, sums, sum_offsets, out, 0.0, out)

    return combine


_ROOT2: Final = math.sqrt(2.0)
_STEEPEST: Final = 2.0 * _ROOT2 / 3.0
_MOST: Final = 200


@compiled()
def location(values: Any, weights: Any, scale: Any, guess: Any) -> Any:
    """A function of values, their weights, s and a guess: the θ with Σ v·ψ((θ − value)/s) = 0, Holland (2018), eq. (2).

    Newton's method within the bracket of the smallest and the largest value, halved where a step leaves it.
    """
    low = math.inf
    high = -math.inf
    for i in range(values.size):
        low = min(low, values[i])
        high = max(high, values[i])
    theta = min(max(guess, low), high)
    for _ in range(_MOST):
        total = 0.0
        rise = 0.0
        for i in range(values.size):
            u = (theta - values[i]) / scale
            if abs(u) <= _ROOT2:
                total += weights[i] * u * (1.0 - u * u / 6.0)
                rise += weights[i] * (1.0 - 0.5 * u * u)
            else:
                total += math.copysign(weights[i] * _STEEPEST, u)
        if total > 0.0:
            high = theta
        elif total < 0.0:
            low = theta
        else:
            break
        new = theta - scale * total / rise if rise > 0.0 else math.inf
        if not low <= new <= high:
            new = low + 0.5 * (high - low)
        step = abs(new - theta)
        theta = new
        if step <= 2.0**-52 * abs(theta):
            break
    return theta
