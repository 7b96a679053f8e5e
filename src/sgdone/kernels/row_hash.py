"""Keyed 64-bit hashes of rows: equal for equal rows, however they are stored.

The hash of a row is the sum of the hashes of its cells that are not 0, each keyed by its column: the order of entries,
zeros that are stored, the sign of 0 and the bits of a NaN do not matter.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled, inlined
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
