"""A hash for every row, to find equal rows."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled
from sgdone.kernels.rows_csr import sound

#: 2⁶⁴ over the golden ratio: the upper bits of its multiples lie evenly.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@lru_cache(maxsize=8)
def make_row_keys(types: str, dense: bool) -> Callable[..., None]:
    """A loop that writes a hash of each row of ``order`` to ``keys``: equal for equal rows, hardly ever for others.

    It is the sum of the entries times ``factors``, one per column, added in the order of the columns.
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


def number_copies(keys: NDArray[np.float64]) -> tuple[NDArray[np.intp], int]:
    """Number the distinct keys 0, 1, … in order of appearance: the number of each key, and their count.

    Examples
    --------
    >>> number_copies(np.array([0.5, 7.0, 0.5, 2.0, 7.0]))
    (array([0, 1, 0, 2, 1]), 3)
    """
    bits = (keys + 0.0).view(np.uint64)
    size = max(2, 2 * keys.size - 1).bit_length()
    starts = (bits * _GOLDEN) >> np.uint64(64 - size)
    numbers = np.empty(keys.size, np.intp)
    count = _number(bits, starts.astype(np.intp), np.full(1 << size, -1, np.intp), numbers)
    return numbers, count


@compiled()
def _number(bits: Any, starts: Any, table: Any, numbers: Any) -> Any:
    """A hash table with open addressing: the search for a key begins at its place in ``starts``."""
    count = 0
    for i in range(bits.size):
        place = starts[i]
        while table[place] >= 0 and bits[table[place]] != bits[i]:
            place = (place + 1) & (table.size - 1)
        known = table[place]
        if known >= 0:
            numbers[i] = numbers[known]
        else:
            table[place] = i
            numbers[i] = count
            count += 1
    return count
