"""Rows for many models at once: weights are stored feature by feature, so that an entry is read once for all models.

Each way of reaching rows has

- ``dots(rows, i, weights, flat, model, own)``: writes the inner products of the row in scaled units with the columns of
  ``weights`` to ``own[1]``; returns ‖x‖² and ``()``, as `sgdone.kernels.loop` expects of a prediction. It may work in
  ``own[0]``: dense columns are written there in scaled units, followed, if others are sparse, by their inner products;
- ``adds(rows, i, weights, flat, own)``: column ``p`` += ``own[2][p]`` × row ``i``, as left by ``dots``; nothing if
  ``own[2]`` is empty;
- ``sound``, ``locate`` and ``fetch`` as in `sgdone.kernels.rows.RowAccess`.

``flat`` is ``weights`` as one row. With two columns (one model) or four (two models) the loops over features are worth
vectorising, for which the stride between features must be a constant. They are in one function with the other loops:
separate functions take a tenth of a second more to compile.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.rows import CSR_SCALED, DENSE_SCALED


class BankAccess(NamedTuple):
    """Functions by which a bank's loop reads row ``i`` and changes the models along it."""

    dots: Callable[..., Any]
    adds: Callable[..., Any]
    sound: Callable[..., Any]
    locate: Callable[..., Any]
    fetch: Callable[..., Any]


@inlined
def _dense_dots(rows: Any, i: Any, weights: Any, flat: Any, model: Any, own: Any) -> Any:
    row, sums = own[0], own[1]
    matrix, shift, inverse_scale = rows
    n_features = matrix.shape[1]
    norm = matrix.dtype.type(0)
    for j in range(n_features):
        x = (matrix[i, j] - shift[j]) * inverse_scale[j]
        row[j] = x
    # In a separate loop: whether a loop that also writes is vectorised depends on the addresses of its arrays.
    for j in range(n_features):
        norm += row[j] * row[j]
    if sums.size == 2:
        iterate = matrix.dtype.type(0)
        average = matrix.dtype.type(0)
        for j in range(n_features):
            iterate += row[j] * flat[2 * j]
            average += row[j] * flat[2 * j + 1]
        sums[0] = iterate
        sums[1] = average
        return norm, ()
    if sums.size == 4:
        s0 = s1 = s2 = s3 = matrix.dtype.type(0)
        for j in range(n_features):
            x = row[j]
            s0 += x * flat[4 * j]
            s1 += x * flat[4 * j + 1]
            s2 += x * flat[4 * j + 2]
            s3 += x * flat[4 * j + 3]
        sums[0] = s0
        sums[1] = s1
        sums[2] = s2
        sums[3] = s3
        return norm, ()
    for p in range(sums.size):
        sums[p] = 0
    j = 0
    # Four features at a time: the sums are read and written a quarter as often.
    while j + 4 <= n_features:
        x0, x1, x2, x3 = row[j], row[j + 1], row[j + 2], row[j + 3]
        for p in range(sums.size):
            sums[p] += (x0 * weights[j, p] + x1 * weights[j + 1, p]) + (x2 * weights[j + 2, p] + x3 * weights[j + 3, p])
        j += 4
    while j < n_features:
        for p in range(sums.size):
            sums[p] += row[j] * weights[j, p]
        j += 1
    return norm, ()


@inlined
def _dense_adds(rows: Any, i: Any, weights: Any, flat: Any, own: Any) -> None:
    row, amounts = own[0], own[2]
    if amounts.size == 0:
        return
    if amounts.size == 2:
        a0, a1 = amounts[0], amounts[1]
        for j in range(row.size):
            flat[2 * j] += row[j] * a0
            flat[2 * j + 1] += row[j] * a1
        return
    if amounts.size == 4:
        a0, a1, a2, a3 = amounts[0], amounts[1], amounts[2], amounts[3]
        for j in range(row.size):
            x = row[j]
            flat[4 * j] += x * a0
            flat[4 * j + 1] += x * a1
            flat[4 * j + 2] += x * a2
            flat[4 * j + 3] += x * a3
        return
    for j in range(row.size):
        x = row[j]
        for p in range(amounts.size):
            weights[j, p] += x * amounts[p]


@inlined
def _csr_dots(rows: Any, i: Any, weights: Any, flat: Any, model: Any, own: Any) -> Any:
    sums = own[1]
    data, indices, indptr, _, inverse_scale = rows
    norm = data.dtype.type(0)
    if sums.size == 2:
        iterate = data.dtype.type(0)
        average = data.dtype.type(0)
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = data[k] * inverse_scale[j]
            norm += x * x
            iterate += x * weights[j, 0]
            average += x * weights[j, 1]
        sums[0] = iterate
        sums[1] = average
        return norm, ()
    if sums.size == 4:
        s0 = s1 = s2 = s3 = data.dtype.type(0)
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = data[k] * inverse_scale[j]
            norm += x * x
            s0 += x * weights[j, 0]
            s1 += x * weights[j, 1]
            s2 += x * weights[j, 2]
            s3 += x * weights[j, 3]
        sums[0] = s0
        sums[1] = s1
        sums[2] = s2
        sums[3] = s3
        return norm, ()
    for p in range(sums.size):
        sums[p] = 0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        norm += x * x
        for p in range(sums.size):
            sums[p] += x * weights[j, p]
    return norm, ()


@inlined
def _csr_adds(rows: Any, i: Any, weights: Any, flat: Any, own: Any) -> None:
    amounts = own[2]
    if amounts.size == 0:
        return
    data, indices, indptr, _, inverse_scale = rows
    if amounts.size == 2:
        a0, a1 = amounts[0], amounts[1]
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = data[k] * inverse_scale[j]
            weights[j, 0] += x * a0
            weights[j, 1] += x * a1
        return
    if amounts.size == 4:
        a0, a1, a2, a3 = amounts[0], amounts[1], amounts[2], amounts[3]
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = data[k] * inverse_scale[j]
            weights[j, 0] += x * a0
            weights[j, 1] += x * a1
            weights[j, 2] += x * a2
            weights[j, 3] += x * a3
        return
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        x = data[k] * inverse_scale[j]
        for p in range(amounts.size):
            weights[j, p] += x * amounts[p]


@inlined
def _mixed_dots(rows: Any, i: Any, weights: Any, flat: Any, model: Any, own: Any) -> Any:
    dense, entries = rows
    n_dense = dense[0].shape[1]
    sums = own[1]
    of_dense = own[0][n_dense:]
    norm, nothing = _dense_dots(dense, i, weights, flat, model, own)
    for p in range(sums.size):
        of_dense[p] = sums[p]
    norm_of_entries, _ = _csr_dots(entries, i, weights[n_dense:], flat, model, own)
    for p in range(sums.size):
        sums[p] += of_dense[p]
    return norm + norm_of_entries, nothing


@inlined
def _mixed_adds(rows: Any, i: Any, weights: Any, flat: Any, own: Any) -> None:
    dense, entries = rows
    n_dense = dense[0].shape[1]
    _dense_adds(dense, i, weights, flat, (own[0][:n_dense], own[1], own[2]))
    _csr_adds(entries, i, weights[n_dense:], flat, own)


_sound, _locate, _fetch, _fetch_dense = CSR_SCALED.sound, CSR_SCALED.locate, CSR_SCALED.fetch, DENSE_SCALED.fetch


@inlined
def _mixed_sound(rows: Any, i: Any, weights: Any) -> Any:
    return _sound(rows[1], i, weights[rows[0][0].shape[1] :])


@inlined
def _mixed_locate(rows: Any, i: Any) -> None:
    _locate(rows[1], i)


@inlined
def _mixed_fetch(rows: Any, i: Any) -> None:
    _fetch_dense(rows[0], i)
    _fetch(rows[1], i)


DENSE = BankAccess(_dense_dots, _dense_adds, DENSE_SCALED.sound, DENSE_SCALED.locate, _fetch_dense)
CSR = BankAccess(_csr_dots, _csr_adds, _sound, _locate, _fetch)
#: Dense columns first; ``rows`` are the arrays of these, and those of the sparse columns.
MIXED = BankAccess(_mixed_dots, _mixed_adds, _mixed_sound, _mixed_locate, _mixed_fetch)
