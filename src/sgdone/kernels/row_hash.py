"""Hashes of rows, by which equal rows are found: keyed ones of 64 bits, and random projections.

The keyed hash of a row is the sum of the hashes of its cells that are not 0, each keyed by its column: the order of
entries, zeros that are stored, the sign of 0 and the bits of a NaN do not matter.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.jit import compiled, fingerprint, inlined
from sgdone.kernels.rows_csr import sound
from sgdone.kernels.words import FNV_START, PAIR_FACTOR, extended, mixed

#: What stands for NaN of any bits.
_NAN = np.uint64(0x7FF8000000000000)


@inlined
def cell_hash(bits: Any, value: Any, column: Any, key: Any) -> Any:
    """Hash of a number that is not 0; ``bits`` are its own."""
    if value != value:
        bits = _NAN
    return mixed(bits ^ (key + (np.uint64(column) + np.uint64(1)) * PAIR_FACTOR))


@compiled("dense_row_hashes")
def add_dense(matrix: Any, bits: Any, first_column: Any, key: Any, hashes: Any) -> None:
    """Add the hashes of the cells of a float64 array; ``bits`` is its view as uint64."""
    for i in range(matrix.shape[0]):
        total = hashes[i]
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            if value != 0.0:
                total += cell_hash(bits[i, j], value, first_column + np.uint64(j), key)
        hashes[i] = total


@lru_cache(maxsize=4)
def make_add_csr(types: str) -> Callable[..., None]:
    """A loop that adds the hashes of the entries of CSR rows; ``types`` are those of indices and row pointers."""
    mark = fingerprint(types)

    @compiled(mark)
    def add_csr(data: Any, bits: Any, indices: Any, indptr: Any, first_column: Any, key: Any, hashes: Any) -> None:
        _ = mark
        for i in range(hashes.size):
            total = hashes[i]
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                if value != 0.0:
                    total += cell_hash(bits[k], value, first_column + np.uint64(indices[k]), key)
            hashes[i] = total

    return add_csr


@compiled("text_row_hashes")
def add_texts(data: Any, offsets: Any, column: Any, key: Any, hashes: Any) -> None:
    """Add the hashes of the texts of a column: bytes, and where each text begins and the last one ends."""
    for i in range(hashes.size):
        bits = extended(FNV_START, data, offsets[i], offsets[i + 1])
        hashes[i] += cell_hash(bits, 1.0, column, key)


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
