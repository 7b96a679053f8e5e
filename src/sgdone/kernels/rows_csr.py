"""Rows of a CSR matrix; the weights of a feature are stored side by side.

Indices need not be sorted; repeated ones are summed beforehand, because the squared norm needs it.
Indices are unsigned: with signed ones Numba guards against negative values and the loop is three times slower.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.last_row import swap
from sgdone.kernels.pair import add_pair
from sgdone.kernels.prefetch import prefetch
from sgdone.kernels.updates import soft_threshold

VECTORS_FIRST: Final = False


@inlined
def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner product of row ``i`` with vector 0, and its squared norm."""
    data, indices, indptr, _ = rows
    product = data.dtype.type(0)
    norm = data.dtype.type(0)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        x = data[k]
        product += x * weights[indices[k], 0]
        norm += x * x
    return product, norm


@inlined
def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner products of row ``i`` with both vectors, and its squared norm."""
    data, indices, indptr, _ = rows
    first = data.dtype.type(0)
    second = data.dtype.type(0)
    norm = data.dtype.type(0)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        x = data[k]
        first += x * weights[indices[k], 0]
        second += x * weights[indices[k], 1]
        norm += x * x
    return first, second, norm


@inlined
def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
    """Vector 0 += amount × row ``i``."""
    data, indices, indptr, _ = rows
    a = data.dtype.type(amount)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        weights[indices[k], 0] += a * data[k]


@inlined
def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
    """Vector 0 += amount × row ``i``; vector 1 += amount_both × row ``i``."""
    data, indices, indptr, _ = rows
    a = data.dtype.type(amount)
    b = data.dtype.type(amount_both)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        add_pair(weights, indices[k], data[k], a, b)


@inlined
def sound(rows: Any, i: Any, weights: Any) -> Any:
    """Whether the row stays within the matrix; as unsigned numbers, negative indices are too large as well."""
    _, indices, indptr, _ = rows
    start = indptr[i]
    end = indptr[i + np.uint64(1)]
    if start > end or end > np.uint64(indices.size):
        return False
    largest = indices.dtype.type(0)
    for k in range(start, end):
        largest = max(largest, indices[k])
    return largest < np.uint64(weights.shape[0]) or start == end


@inlined
def locate(rows: Any, i: Any) -> None:
    """Prefetch where row ``i`` begins."""
    prefetch(rows[2], i)


@inlined
def fetch(rows: Any, i: Any) -> None:
    """Prefetch the lines of a row of usual length: always the same number, so that no branch is mispredicted."""
    data, indices, indptr, reach = rows
    start = indptr[i]
    for k in range(np.uint64(0), reach, np.uint64(8)):
        prefetch(data, start + k)
    for k in range(np.uint64(0), reach, np.uint64(16)):
        prefetch(indices, start + k)


@inlined
def rescale(weights: Any, offsets: Any, factor: Any) -> None:
    """Vector 0 *= factor."""
    a = weights.dtype.type(factor)
    for j in range(weights.shape[0]):
        weights[j, 0] *= a


@inlined
def fold(weights: Any, offsets: Any, own: Any, share: Any, factor: Any) -> None:
    """Vector 1 ← own × vector 1 + share × vector 0; then vector 0 *= factor."""
    a = weights.dtype.type(own)
    b = weights.dtype.type(share)
    c = weights.dtype.type(factor)
    for j in range(weights.shape[0]):
        weights[j, 1] = a * weights[j, 1] + b * weights[j, 0]
        weights[j, 0] *= c


@inlined
def overlap(rows: Any, i: Any, memory: Any) -> Any:
    """Inner product of row ``i`` with the row of the last call, kept in ``memory``, where it takes its place."""
    data, indices, indptr, _ = rows
    start = indptr[i]
    length = indptr[i + np.uint64(1)] - start
    marks = memory[0]
    row, begin, last, last_begin, last_length = swap(memory, length)
    product = 0.0
    for k in range(length):
        j = indices[start + k]
        x = data[start + k]
        product += x * last[min(np.uint32(marks[j] - last_begin), last_length)]
        marks[j] = np.uint32(begin + np.uint32(k))
        row[k] = x
    return product


@inlined
def settle(rows: Any, i: Any, weights: Any, total: Any) -> None:
    """Take off the weights of row ``i`` what they owe of ``total``; vector 1 holds what each has paid."""
    _, indices, indptr, _ = rows
    due = weights.dtype.type(total)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        weights[j, 0] = soft_threshold(weights[j, 0], due - weights[j, 1])
        weights[j, 1] = due


@inlined
def settle_all(weights: Any, total: Any, begin: Any) -> None:
    """Take off every weight what it owes of ``total``, and let the payments go on from ``begin``."""
    due = weights.dtype.type(total)
    first = weights.dtype.type(begin)
    for j in range(weights.shape[0]):
        weights[j, 0] = soft_threshold(weights[j, 0], due - weights[j, 1])
        weights[j, 1] = first
