"""Numbers that tell rows apart by what they hold."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled
from sgdone.kernels.rows_csr import sound


@lru_cache(maxsize=8)
def make_row_keys(types: str, dense: bool) -> Callable[..., None]:
    """A loop that writes to ``keys`` a number for each of ``order``: the same for the same row, hardly for another.

    It is the sum of the entries times ``factors``, one a column, added up in the order of the columns.
    """
    mark = fingerprint(types, str(dense))

    @compiled(mark)
    def dense_keys(rows: Any, order: Any, factors: Any, keys: Any) -> None:
        _ = mark
        matrix = rows[0]
        for position in range(order.size):
            i = order[position]
            total = 0.0
            for j in range(matrix.shape[1]):
                total += matrix[i, j] * factors[j, 0]
            keys[position] = total

    @compiled(mark)
    def csr_keys(rows: Any, order: Any, factors: Any, keys: Any) -> None:
        _ = mark
        data, indices, indptr, _reach = rows
        for position in range(order.size):
            i = order[position]
            total = 0.0
            if sound(rows, i, factors):
                for k in range(indptr[i], indptr[i + np.uint64(1)]):
                    total += data[k] * factors[indices[k], 0]
            keys[position] = total

    return dense_keys if dense else csr_keys
