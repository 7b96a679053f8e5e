"""The two halves of a step on all rows whose coefficients depend on the predictions for all of them.

First the prediction for every row; then the sum of the rows times their coefficients.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled, fingerprint
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.plain_vectors import make_vectors
from sgdone.kernels.rows import RowAccess


@lru_cache(maxsize=16)
def make_predictions(access: RowAccess, types: str) -> Callable[..., tuple[int, int]]:
    """A loop that writes xᵀw + b of each row of ``order`` to ``predictions``.

    It returns the outcome, and the position of a row that could not be used. w is vector 0 times ``scale``.
    """
    dot, sound = access.dot, access.sound
    mark = fingerprint(access.dot, types)

    @compiled(mark)
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
        _ = mark
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
    mark = fingerprint(access.dot, types)

    @compiled(mark)
    def combine(rows: Any, order: Any, coefficients: Any, sums: Any, sum_offsets: Any, out: Any) -> None:
        _ = mark
        for position in range(order.size):
            c = coefficients[position]
            if c != 0.0:
                add(rows, order[position], sums, sum_offsets, c)
        take(rows, sums, sum_offsets, out, 0.0, out)

    return combine
