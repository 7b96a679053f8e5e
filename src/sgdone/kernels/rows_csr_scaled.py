"""Rows of a CSR matrix in scaled units: x·inverse_scale, never stored; zeros stay zeros."""

from typing import Any, Final

import numpy as np

from sgdone.kernels import rows_csr
from sgdone.kernels.jit import inlined
from sgdone.kernels.last_row import swap
from sgdone.kernels.pair import add_pair

VECTORS_FIRST: Final = False

rescale = rows_csr.rescale
fold = rows_csr.fold
settle_all = rows_csr.settle_all


@inlined
def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner product of row ``i`` with vector 0, and its squared norm."""
    data, indices, indptr, _, inverse_scale = rows
    product = data.dtype.type(0)
    norm = data.dtype.type(0)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        product += x * weights[j, 0]
        norm += x * x
    return product, norm


@inlined
def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner products of row ``i`` with both vectors, and its squared norm."""
    data, indices, indptr, _, inverse_scale = rows
    first = data.dtype.type(0)
    second = data.dtype.type(0)
    norm = data.dtype.type(0)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        first += x * weights[j, 0]
        second += x * weights[j, 1]
        norm += x * x
    return first, second, norm


@inlined
def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
    """Vector 0 += amount × row ``i``."""
    data, indices, indptr, _, inverse_scale = rows
    a = data.dtype.type(amount)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        weights[j, 0] += a * (data[k] * inverse_scale[j])


@inlined
def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
    """Vector 0 += amount × row ``i``; vector 1 += amount_both × row ``i``."""
    data, indices, indptr, _, inverse_scale = rows
    a = data.dtype.type(amount)
    b = data.dtype.type(amount_both)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        add_pair(weights, j, data[k] * inverse_scale[j], a, b)


@inlined
def sound(rows: Any, i: Any, weights: Any) -> Any:
    """Whether the row stays within the matrix."""
    return rows_csr.sound(rows[:4], i, weights)


@inlined
def locate(rows: Any, i: Any) -> None:
    """Prefetch where row ``i`` begins."""
    rows_csr.locate(rows[:4], i)


@inlined
def fetch(rows: Any, i: Any) -> None:
    """Prefetch row ``i``."""
    rows_csr.fetch(rows[:4], i)


@inlined
def overlap(rows: Any, i: Any, memory: Any) -> Any:
    """Inner product of row ``i`` with the row of the last call, kept in ``memory``, where it takes its place."""
    data, indices, indptr, _, inverse_scale = rows
    start = indptr[i]
    length = indptr[i + np.uint64(1)] - start
    marks = memory[0]
    row, begin, last, last_begin, last_length = swap(memory, length)
    product = 0.0
    for k in range(length):
        j = indices[start + k]
        x = data[start + k] * inverse_scale[j]
        product += x * last[min(np.uint32(marks[j] - last_begin), last_length)]
        marks[j] = np.uint32(begin + np.uint32(k))
        row[k] = x
    return product


@inlined
def settle(rows: Any, i: Any, weights: Any, total: Any) -> None:
    """Take off the weights of row ``i`` what they owe of ``total``."""
    rows_csr.settle(rows[:4], i, weights, total)
