"""Rows of a CSR matrix in scaled and shifted units, without making any row dense.

Row i stands for x̃ = x·inverse_scale − c with the same c = shift·inverse_scale in every row. A vector along
such rows is ``weights − δ·c`` with sparse changes in ``weights`` and one number δ, so ``offsets`` contains, for
each vector, δ and the inner product weights·c. Then, with d = (x·inverse_scale)·c and C = c·c,

    x̃·(weights − δc) = (x·inverse_scale)·weights − δ·d − (weights·c − δ·C),     ‖x̃‖² = ‖x·inverse_scale‖² − 2d + C.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels import rows_csr, rows_csr_scaled
from sgdone.kernels.jit import inlined
from sgdone.kernels.pair import add_pair

VECTORS_FIRST: Final = False

sound = rows_csr_scaled.sound
locate = rows_csr_scaled.locate
fetch = rows_csr_scaled.fetch
# The vectors of shifted rows are not the weights: methods with a threshold refuse these rows.
settle = rows_csr_scaled.settle
settle_all = rows_csr_scaled.settle_all


@inlined
def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner product of row ``i`` with vector 0, and its squared norm."""
    data, indices, indptr, _, inverse_scale, centre, centre_norm = rows
    product = 0.0
    with_centre = 0.0
    norm = 0.0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        product += x * weights[j, 0]
        with_centre += x * centre[j]
        norm += x * x
    product -= offsets[0, 0] * with_centre + (offsets[0, 1] - offsets[0, 0] * centre_norm)
    return product, max(norm - 2.0 * with_centre + centre_norm, 0.0)


@inlined
def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
    """Inner products of row ``i`` with both vectors, and its squared norm."""
    data, indices, indptr, _, inverse_scale, centre, centre_norm = rows
    first = 0.0
    second = 0.0
    with_centre = 0.0
    norm = 0.0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        first += x * weights[j, 0]
        second += x * weights[j, 1]
        with_centre += x * centre[j]
        norm += x * x
    first -= offsets[0, 0] * with_centre + (offsets[0, 1] - offsets[0, 0] * centre_norm)
    second -= offsets[1, 0] * with_centre + (offsets[1, 1] - offsets[1, 0] * centre_norm)
    return first, second, max(norm - 2.0 * with_centre + centre_norm, 0.0)


@inlined
def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
    """Vector 0 += amount × row ``i``."""
    data, indices, indptr, _, inverse_scale, centre, _centre_norm = rows
    a = data.dtype.type(amount)
    with_centre = 0.0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        weights[j, 0] += a * x
        with_centre += x * centre[j]
    offsets[0, 0] += amount
    offsets[0, 1] += amount * with_centre


@inlined
def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
    """Vector 0 += amount × row ``i``; vector 1 += amount_both × row ``i``."""
    data, indices, indptr, _, inverse_scale, centre, _centre_norm = rows
    a = data.dtype.type(amount)
    b = data.dtype.type(amount_both)
    with_centre = 0.0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        add_pair(weights, j, x, a, b)
        with_centre += x * centre[j]
    offsets[0, 0] += amount
    offsets[0, 1] += amount * with_centre
    offsets[1, 0] += amount_both
    offsets[1, 1] += amount_both * with_centre


@inlined
def rescale(weights: Any, offsets: Any, factor: Any) -> None:
    """Vector 0 *= factor."""
    rows_csr.rescale(weights, offsets, factor)
    offsets[0, 0] *= factor
    offsets[0, 1] *= factor


@inlined
def fold(weights: Any, offsets: Any, own: Any, share: Any, factor: Any) -> None:
    """Vector 1 ← own × vector 1 + share × vector 0; then vector 0 *= factor."""
    rows_csr.fold(weights, offsets, own, share, factor)
    for k in range(2):
        offsets[1, k] = own * offsets[1, k] + share * offsets[0, k]
        offsets[0, k] *= factor


@inlined
def overlap(rows: Any, i: Any, memory: Any) -> Any:
    """Inner product of row ``i`` with the row of the last call, kept in ``memory``, where it takes its place.

    With x̃ = x·inverse_scale − c it is that of the sparse parts, less both their products with c, plus c·c.
    """
    data, indices, indptr, _, inverse_scale, centre, centre_norm = rows
    with_centre = 0.0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        with_centre += data[k] * inverse_scale[j] * centre[j]
    last_with_centre = memory[3]
    product = rows_csr_scaled.overlap(rows[:5], i, memory) + centre_norm - with_centre - last_with_centre[0]
    last_with_centre[0] = with_centre
    return product
