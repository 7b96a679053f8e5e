"""Rows of a C-contiguous matrix; weights are stored vector by vector."""

from typing import Any, Final

from sgdone.kernels.jit import inlined
from sgdone.kernels.prefetch import prefetch
from sgdone.kernels.updates import soft_threshold

VECTORS_FIRST: Final = True


@inlined
def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner product of row ``i`` with vector 0, and its squared norm."""
    (matrix,) = rows
    product = matrix.dtype.type(0)
    norm = matrix.dtype.type(0)
    for j in range(matrix.shape[1]):
        x = matrix[i, j]
        product += x * weights[0, j]
        norm += x * x
    return product, norm


@inlined
def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner products of row ``i`` with both vectors, and its squared norm."""
    (matrix,) = rows
    first = matrix.dtype.type(0)
    second = matrix.dtype.type(0)
    norm = matrix.dtype.type(0)
    for j in range(matrix.shape[1]):
        x = matrix[i, j]
        first += x * weights[0, j]
        second += x * weights[1, j]
        norm += x * x
    return first, second, norm


@inlined
def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
    """Vector 0 += amount × row ``i``."""
    (matrix,) = rows
    a = matrix.dtype.type(amount)
    for j in range(matrix.shape[1]):
        weights[0, j] += a * matrix[i, j]


@inlined
def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
    """Vector 0 += amount × row ``i``; vector 1 += amount_both × row ``i``."""
    (matrix,) = rows
    a = matrix.dtype.type(amount)
    b = matrix.dtype.type(amount_both)
    for j in range(matrix.shape[1]):
        weights[0, j] += a * matrix[i, j]
        weights[1, j] += b * matrix[i, j]


@inlined
def sound(rows: Any, i: Any, weights: Any) -> Any:
    """Whether row ``i`` lies within its matrix: a dense one always does."""
    return True


@inlined
def locate(rows: Any, i: Any) -> None:
    """Prefetch where row ``i`` begins: nothing to do for a dense one."""


@inlined
def fetch(rows: Any, i: Any) -> None:
    """Prefetch row ``i``, up to its first 16 cache lines: the hardware prefetches the rest."""
    x = rows[0][i]
    line = 64 // x.itemsize
    for j in range(0, min(x.size, 16 * line), line):
        prefetch(x, j)


@inlined
def rescale(weights: Any, offsets: Any, factor: Any) -> None:
    """Vector 0 *= factor."""
    u = weights[0]
    a = u.dtype.type(factor)
    for j in range(u.size):
        u[j] *= a


@inlined
def fold(weights: Any, offsets: Any, own: Any, share: Any, factor: Any) -> None:
    """Vector 1 ← own × vector 1 + share × vector 0; then vector 0 *= factor."""
    u = weights[0]
    v = weights[1]
    a = u.dtype.type(own)
    b = u.dtype.type(share)
    c = u.dtype.type(factor)
    for j in range(u.size):
        v[j] = a * v[j] + b * u[j]
        u[j] *= c


@inlined
def overlap(rows: Any, i: Any, memory: Any) -> Any:
    """Inner product of row ``i`` with the row of the last call, kept in ``memory``, where it takes its place."""
    (matrix,) = rows
    last = memory[0]
    product = matrix.dtype.type(0)
    for j in range(matrix.shape[1]):
        x = matrix[i, j]
        product += x * last[j]
        last[j] = x
    return product


@inlined
def settle(rows: Any, i: Any, weights: Any, total: Any) -> None:
    """Take off the weights of row ``i`` what they owe of ``total``; vector 1 holds what each has paid."""
    settle_all(weights, total, total)


@inlined
def settle_all(weights: Any, total: Any, begin: Any) -> None:
    """Take off every weight what it owes of ``total``, and let the payments go on from ``begin``."""
    due = weights.dtype.type(total)
    first = weights.dtype.type(begin)
    for j in range(weights.shape[1]):
        weights[0, j] = soft_threshold(weights[0, j], due - weights[1, j])
        weights[1, j] = first
