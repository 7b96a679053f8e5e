"""Hashes of rows, by which equal rows are found: keyed ones of 64 bits, and random projections.

The keyed hash of a row is the sum of the hashes of its cells that are not 0, each keyed by its column: the order of
entries, zeros that are stored, the sign of 0 and the bits of a NaN do not matter.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.jit import compiled, compiled_by_types, inlined
from sgdone.kernels.rows import CSR
from sgdone.kernels.words import FNV_START, PAIR_FACTOR, extended, mixed

_sound = CSR.sound
#: What stands for NaN of any bits.
_NAN = np.uint64(0x7FF8000000000000)


@inlined
def cell_hash(bits: Any, value: Any, column: Any, key: Any) -> Any:
    """Hash of a number that is not 0; ``bits`` are its own."""
    if value != value:
        bits = _NAN
    return mixed(bits ^ (key + (np.uint64(column) + np.uint64(1)) * PAIR_FACTOR))


@compiled()
def add_dense(matrix: Any, bits: Any, first_column: Any, key: Any, hashes: Any) -> None:
    """Add the hashes of the cells of a float64 array; ``bits`` is its view as uint64."""
    for i in range(matrix.shape[0]):
        total = hashes[i]
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            if value != 0.0:
                total += cell_hash(bits[i, j], value, first_column + np.uint64(j), key)
        hashes[i] = total


@compiled_by_types
def add_csr(data: Any, bits: Any, indices: Any, indptr: Any, first_column: Any, key: Any, hashes: Any) -> None:
    """A loop that adds the hashes of the entries of CSR rows; ``types`` are those of indices and row pointers."""
    for i in range(hashes.size):
        total = hashes[i]
        for k in range(indptr[i], indptr[i + 1]):
            value = data[k]
            if value != 0.0:
                total += cell_hash(bits[k], value, first_column + np.uint64(indices[k]), key)
        hashes[i] = total


@compiled()
def add_texts(data: Any, offsets: Any, column: Any, key: Any, hashes: Any) -> None:
    """Add the hashes of the texts of a column: bytes, and where each text begins and the last one ends."""
    for i in range(hashes.size):
        bits = extended(FNV_START, data, offsets[i], offsets[i + 1])
        hashes[i] += cell_hash(bits, 1.0, column, key)


#: 2⁶⁴ over the golden ratio: the upper bits of its multiples lie evenly.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled_by_types
def dense_keys(rows: Any, order: Any, factors: Any, keys: Any) -> None:
    """A loop that writes a hash of each row of ``order`` to ``keys``: equal for equal rows, hardly ever for others.

    It is the sum of the entries times ``factors``, one per column, added in the order of the columns.
    """
    matrix = rows[0]
    for position in range(order.size):
        i = order[position]
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * factors[j, 0]
        keys[position] = total


@compiled_by_types
def csr_keys(rows: Any, order: Any, factors: Any, keys: Any) -> None:
    """The same for sparse rows: equal rows have equal hashes in both forms."""
    data, indices, indptr, _reach = rows
    for position in range(order.size):
        i = order[position]
        total = 0.0
        if _sound(rows, i, factors):
            for k in range(indptr[i], indptr[i + np.uint64(1)]):
                total += data[k] * factors[indices[k], 0]
        keys[position] = total


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
