"""Rows of a C-contiguous matrix in scaled units: (x − shift)·inverse_scale, never stored."""

from typing import Any, Final

from sgdone.kernels import rows_dense
from sgdone.kernels.jit import inlined

VECTORS_FIRST: Final = True

sound = rows_dense.sound
locate = rows_dense.locate
fetch = rows_dense.fetch
rescale = rows_dense.rescale
fold = rows_dense.fold
settle = rows_dense.settle
settle_all = rows_dense.settle_all


@inlined
def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner product of row ``i`` with vector 0, and its squared norm."""
    matrix, shift, inverse_scale = rows
    product = matrix.dtype.type(0)
    norm = matrix.dtype.type(0)
    for j in range(matrix.shape[1]):
        x = (matrix[i, j] - shift[j]) * inverse_scale[j]
        product += x * weights[0, j]
        norm += x * x
    return product, norm


@inlined
def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner products of row ``i`` with both vectors, and its squared norm."""
    matrix, shift, inverse_scale = rows
    first = matrix.dtype.type(0)
    second = matrix.dtype.type(0)
    norm = matrix.dtype.type(0)
    for j in range(matrix.shape[1]):
        x = (matrix[i, j] - shift[j]) * inverse_scale[j]
        first += x * weights[0, j]
        second += x * weights[1, j]
        norm += x * x
    return first, second, norm


@inlined
def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
    """Vector 0 += amount × row ``i``."""
    matrix, shift, inverse_scale = rows
    a = matrix.dtype.type(amount)
    for j in range(matrix.shape[1]):
        weights[0, j] += a * ((matrix[i, j] - shift[j]) * inverse_scale[j])


@inlined
def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
    """Vector 0 += amount × row ``i``; vector 1 += amount_both × row ``i``."""
    matrix, shift, inverse_scale = rows
    a = matrix.dtype.type(amount)
    b = matrix.dtype.type(amount_both)
    for j in range(matrix.shape[1]):
        x = (matrix[i, j] - shift[j]) * inverse_scale[j]
        weights[0, j] += a * x
        weights[1, j] += b * x


@inlined
def overlap(rows: Any, i: Any, memory: Any) -> Any:
    """Inner product of row ``i`` with the row of the last call, kept in ``memory``, where it takes its place."""
    matrix, shift, inverse_scale = rows
    last = memory[0]
    product = matrix.dtype.type(0)
    for j in range(matrix.shape[1]):
        x = (matrix[i, j] - shift[j]) * inverse_scale[j]
        product += x * last[j]
        last[j] = x
    return product
