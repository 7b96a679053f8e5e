"""Squared norms of rows, and sums over their columns from which scales and shifts are computed."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sgdone.kernels.instructions import AHEAD
from sgdone.kernels.jit import compiled, compiled_by_types
from sgdone.kernels.rows import CSR, RowAccess

_fetch, _sound = CSR.fetch, CSR.sound


@lru_cache(maxsize=16)
def make_scan(access: RowAccess, types: str) -> Callable[..., None]:
    """A loop that writes ‖x‖² of each row of ``order`` to ``norms`` (0 for a row that is not sound)."""
    dot, sound = access.dot, access.sound

    @compiled(access.dot, types)
    def scan(rows: Any, order: Any, weights: Any, offsets: Any, norms: Any) -> None:
        for position in range(order.size):
            norms[position] = 0.0
            if sound(rows, order[position], weights):
                _product, norms[position] = dot(rows, order[position], weights, offsets)

    return scan


@compiled_by_types
def dense_statistics(
    rows: Any, sample_weight: Any, stride: Any, order: Any, pivot: Any, factors: Any, firsts: Any, squares: Any
) -> int:
    """A loop that adds, for rows of positive weight, (x − pivot)·factor and its square to the sums of each column."""
    matrix = rows[0]
    used = 0
    for position in range(order.size):
        i = order[position]
        if sample_weight[i * stride] == 0.0:
            continue
        used += 1
        for j in range(matrix.shape[1]):
            x = (matrix[i, j] - pivot[j]) * factors[j]
            firsts[j] += x
            squares[j] += x * x
    return used


@compiled_by_types
def csr_statistics(
    rows: Any, sample_weight: Any, stride: Any, order: Any, weights: Any, factors: Any, counts: Any, squares: Any
) -> int:
    """A loop that counts, for rows of positive weight, the entries of each column that are not 0.

    It adds the squares of x·factor. A row that is not sound is skipped: the training loop reports it.
    """
    data, indices, indptr, _reach = rows
    used = 0
    for position in range(order.size):
        i = order[position]
        if position + AHEAD < order.size:
            _fetch(rows, order[position + AHEAD])
        if sample_weight[i * stride] == 0.0 or not _sound(rows, i, weights):
            continue
        used += 1
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = np.float64(data[k]) * factors[j]
            counts[j] += 1.0 if x != 0.0 else 0.0
            squares[j] += x * x
    return used
