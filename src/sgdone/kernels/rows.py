"""The ways of reaching a row: dense or CSR, as it is, in scaled units, or in scaled and shifted ones.

Indices of a CSR matrix need not be sorted; repeated ones are summed beforehand, because the squared norm needs it. They
are unsigned: with signed ones Numba guards against negative values and the loop is three times slower. Scaled values,
(x − shift)·inverse_scale of dense rows and x·inverse_scale of CSR rows, are never stored.

Row i of a *shifted* CSR matrix stands for x̃ = x·inverse_scale − c with the same c = shift·inverse_scale in every row,
without making any row dense. A vector along such rows is ``weights − δ·c`` with sparse changes in ``weights`` and one
number δ, so ``offsets`` contains, for each vector, δ and the inner product weights·c. Then, with
d = (x·inverse_scale)·c and C = c·c,

    x̃·(weights − δc) = (x·inverse_scale)·weights − δ·d − (weights·c − δ·C),     ‖x̃‖² = ‖x·inverse_scale‖² − 2d + C.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from sgdone.kernels.instructions import add_pair, prefetch
from sgdone.kernels.jit import inlined
from sgdone.kernels.updates import soft_threshold


class RowAccess(NamedTuple):
    """The functions that reach row ``i``."""

    #: ``dot(rows, i, weights, offsets)``: inner product with vector 0, and ‖x‖².
    dot: Callable[..., Any]
    #: ``dot_both(rows, i, weights, offsets)``: inner products with both vectors, and ‖x‖².
    dot_both: Callable[..., Any]
    #: ``add(rows, i, weights, offsets, amount)``: vector 0 += amount × row.
    add: Callable[..., Any]
    #: ``add_both(rows, i, weights, offsets, amount, amount_both)``: the same, and vector 1 += amount_both × row.
    add_both: Callable[..., Any]
    #: ``sound(rows, i, weights)``: whether the row lies within its matrix.
    sound: Callable[..., Any]
    #: ``locate(rows, i)``: prefetch where the row begins.
    locate: Callable[..., Any]
    #: ``fetch(rows, i)``: prefetch the row.
    fetch: Callable[..., Any]
    #: ``rescale(weights, offsets, factor)``: vector 0 *= factor.
    rescale: Callable[..., Any]
    #: ``fold(weights, offsets, own, share, factor)``: vector 1 ← own × vector 1 + share × vector 0, vector 0 *= factor.
    fold: Callable[..., Any]
    #: ``overlap(rows, i, memory)``: inner product with the row of the last call, which is kept in ``memory``.
    overlap: Callable[..., Any]
    #: ``settle(rows, i, weights, total)``: take off the weights of the row what they owe of ``total``; vector 1 holds
    #: what each has paid. The vectors of shifted rows are not the weights: methods with a threshold refuse these rows.
    settle: Callable[..., Any]
    #: ``settle_all(weights, total, begin)``: take off every weight what it owes; the payments go on from ``begin``.
    settle_all: Callable[..., Any]
    #: ``entry(rows, i, j)``: feature j of a dense row i; ``entry(rows, k, j)``: the k-th entry of a CSR matrix.
    entry: Callable[..., Any]
    #: Whether weights are stored as (vectors, features) or (features, vectors).
    vectors_first: bool
    name: str

    def __reduce__(self) -> tuple[Any, ...]:
        return _access, (self.name,)


def _access(name: str) -> RowAccess:
    return {access.name: access for access in (DENSE, CSR, DENSE_SCALED, CSR_SCALED, CSR_SHIFTED)}[name]


@inlined
def _dense_entry(rows: Any, i: Any, j: Any) -> Any:
    return rows[0][i, j]


@inlined
def _dense_scaled_entry(rows: Any, i: Any, j: Any) -> Any:
    return (rows[0][i, j] - rows[1][j]) * rows[2][j]


@inlined
def _csr_entry(rows: Any, k: Any, j: Any) -> Any:
    return rows[0][k]


@inlined
def _csr_scaled_entry(rows: Any, k: Any, j: Any) -> Any:
    return rows[0][k] * rows[4][j]


@inlined
def _dense_sound(rows: Any, i: Any, weights: Any) -> Any:
    return True


@inlined
def _dense_locate(rows: Any, i: Any) -> None:
    """Nothing to do."""


@inlined
def _dense_fetch(rows: Any, i: Any) -> None:
    """Up to its first 16 cache lines: the hardware prefetches the rest."""
    x = rows[0][i]
    line = 64 // x.itemsize
    for j in range(0, min(x.size, 16 * line), line):
        prefetch(x, j)


@inlined
def _dense_rescale(weights: Any, offsets: Any, factor: Any) -> None:
    u = weights[0]
    a = u.dtype.type(factor)
    for j in range(u.size):
        u[j] *= a


@inlined
def _dense_fold(weights: Any, offsets: Any, own: Any, share: Any, factor: Any) -> None:
    u = weights[0]
    v = weights[1]
    a = u.dtype.type(own)
    b = u.dtype.type(share)
    c = u.dtype.type(factor)
    for j in range(u.size):
        v[j] = a * v[j] + b * u[j]
        u[j] *= c


@inlined
def _dense_settle(rows: Any, i: Any, weights: Any, total: Any) -> None:
    _dense_settle_all(weights, total, total)


@inlined
def _dense_settle_all(weights: Any, total: Any, begin: Any) -> None:
    due = weights.dtype.type(total)
    first = weights.dtype.type(begin)
    for j in range(weights.shape[1]):
        weights[0, j] = soft_threshold(weights[0, j], due - weights[1, j])
        weights[1, j] = first


def _dense(name: str, entry: Callable[..., Any]) -> RowAccess:
    """Rows of a C-contiguous matrix."""

    @inlined
    def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
        matrix = rows[0]
        product = matrix.dtype.type(0)
        norm = matrix.dtype.type(0)
        for j in range(matrix.shape[1]):
            x = entry(rows, i, j)
            product += x * weights[0, j]
            norm += x * x
        return product, norm

    @inlined
    def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
        matrix = rows[0]
        first = matrix.dtype.type(0)
        second = matrix.dtype.type(0)
        norm = matrix.dtype.type(0)
        for j in range(matrix.shape[1]):
            x = entry(rows, i, j)
            first += x * weights[0, j]
            second += x * weights[1, j]
            norm += x * x
        return first, second, norm

    @inlined
    def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
        a = rows[0].dtype.type(amount)
        for j in range(rows[0].shape[1]):
            weights[0, j] += a * entry(rows, i, j)

    @inlined
    def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
        a = rows[0].dtype.type(amount)
        b = rows[0].dtype.type(amount_both)
        for j in range(rows[0].shape[1]):
            x = entry(rows, i, j)
            weights[0, j] += a * x
            weights[1, j] += b * x

    @inlined
    def overlap(rows: Any, i: Any, memory: Any) -> Any:
        last = memory[0]
        product = rows[0].dtype.type(0)
        for j in range(rows[0].shape[1]):
            x = entry(rows, i, j)
            product += x * last[j]
            last[j] = x
        return product

    reading = _dense_sound, _dense_locate, _dense_fetch
    storing = _dense_rescale, _dense_fold, overlap, _dense_settle, _dense_settle_all
    return RowAccess(dot, dot_both, add, add_both, *reading, *storing, entry, True, name)


@inlined
def _csr_sound(rows: Any, i: Any, weights: Any) -> Any:
    """As unsigned numbers, negative indices are too large as well."""
    indices, indptr = rows[1], rows[2]
    start = indptr[i]
    end = indptr[i + np.uint64(1)]
    if start > end or end > np.uint64(indices.size):
        return False
    largest = indices.dtype.type(0)
    for k in range(start, end):
        largest = max(largest, indices[k])
    return largest < np.uint64(weights.shape[0]) or start == end


@inlined
def _csr_locate(rows: Any, i: Any) -> None:
    prefetch(rows[2], i)


@inlined
def _csr_fetch(rows: Any, i: Any) -> None:
    """The lines of a row of usual length: always the same number, so that no branch is mispredicted."""
    data, indices, indptr, reach = rows[:4]
    start = indptr[i]
    for k in range(np.uint64(0), reach, np.uint64(8)):
        prefetch(data, start + k)
    for k in range(np.uint64(0), reach, np.uint64(16)):
        prefetch(indices, start + k)


@inlined
def _csr_rescale(weights: Any, offsets: Any, factor: Any) -> None:
    a = weights.dtype.type(factor)
    for j in range(weights.shape[0]):
        weights[j, 0] *= a


@inlined
def _csr_fold(weights: Any, offsets: Any, own: Any, share: Any, factor: Any) -> None:
    a = weights.dtype.type(own)
    b = weights.dtype.type(share)
    c = weights.dtype.type(factor)
    for j in range(weights.shape[0]):
        weights[j, 1] = a * weights[j, 1] + b * weights[j, 0]
        weights[j, 0] *= c


@inlined
def _csr_settle(rows: Any, i: Any, weights: Any, total: Any) -> None:
    indices, indptr = rows[1], rows[2]
    due = weights.dtype.type(total)
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        weights[j, 0] = soft_threshold(weights[j, 0], due - weights[j, 1])
        weights[j, 1] = due


@inlined
def _csr_settle_all(weights: Any, total: Any, begin: Any) -> None:
    due = weights.dtype.type(total)
    first = weights.dtype.type(begin)
    for j in range(weights.shape[0]):
        weights[j, 0] = soft_threshold(weights[j, 0], due - weights[j, 1])
        weights[j, 1] = first


#: A mark that no row has made: as far as can be from every number.
UNSEEN: Final = np.uint32(0xFFFFFFFF)
_LARGEST: Final = np.uint32(0x80000000)


def make_memory(n_features: int) -> tuple[Any, ...]:
    """The memory of `RowAccess.overlap` of CSR rows before the first one, which costs as much as rows have entries.

    Entries are numbered from the first row on, and ``marks`` has the number of the latest entry of every feature: if it
    is within the range of the last row, it gives the feature's place in that row. Nothing needs clearing, and two
    successive rows may be in different matrices. The memory is the marks, the values of the last two rows, in ``place``
    the number of the last row's first entry, its length, and which of the two it is, and the inner product of the last
    row with the centre.
    """
    return np.full(n_features, UNSEEN), np.zeros((2, n_features + 1)), np.zeros(3, dtype=np.uint32), np.zeros(1)


@inlined
def swap(memory: Any, length: Any) -> Any:
    """Make room for a row. Returns its array and first number, and those of the last row with its length."""
    marks = memory[0]
    values = memory[1]
    place = memory[2]
    begin = place[0]
    last_length = place[1]
    last = values[place[2]]
    if begin > _LARGEST:
        for j in range(marks.size):
            offset = np.uint32(marks[j] - begin)
            marks[j] = offset if offset < last_length else UNSEEN
        begin = np.uint32(0)
    place[0] = np.uint32(begin + last_length)
    place[1] = np.uint32(length)
    place[2] = np.uint32(1) - place[2]
    values[place[2], length] = 0.0
    return values[place[2]], place[0], last, begin, last_length


def _csr(name: str, entry: Callable[..., Any]) -> RowAccess:
    """Rows of a CSR matrix; the weights of a feature are stored side by side."""

    @inlined
    def dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
        data, indices, indptr = rows[:3]
        product = data.dtype.type(0)
        norm = data.dtype.type(0)
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = entry(rows, k, j)
            product += x * weights[j, 0]
            norm += x * x
        return product, norm

    @inlined
    def dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
        data, indices, indptr = rows[:3]
        first = data.dtype.type(0)
        second = data.dtype.type(0)
        norm = data.dtype.type(0)
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            x = entry(rows, k, j)
            first += x * weights[j, 0]
            second += x * weights[j, 1]
            norm += x * x
        return first, second, norm

    @inlined
    def add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
        data, indices, indptr = rows[:3]
        a = data.dtype.type(amount)
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            weights[j, 0] += a * entry(rows, k, j)

    @inlined
    def add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
        data, indices, indptr = rows[:3]
        a = data.dtype.type(amount)
        b = data.dtype.type(amount_both)
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[k]
            add_pair(weights, j, entry(rows, k, j), a, b)

    @inlined
    def overlap(rows: Any, i: Any, memory: Any) -> Any:
        indices, indptr = rows[1], rows[2]
        start = indptr[i]
        length = indptr[i + np.uint64(1)] - start
        marks = memory[0]
        row, begin, last, last_begin, last_length = swap(memory, length)
        product = 0.0
        for k in range(length):
            j = indices[start + k]
            x = entry(rows, start + k, j)
            product += x * last[min(np.uint32(marks[j] - last_begin), last_length)]
            marks[j] = np.uint32(begin + np.uint32(k))
            row[k] = x
        return product

    reading = _csr_sound, _csr_locate, _csr_fetch
    storing = _csr_rescale, _csr_fold, overlap, _csr_settle, _csr_settle_all
    return RowAccess(dot, dot_both, add, add_both, *reading, *storing, entry, False, name)


DENSE = _dense("DENSE", _dense_entry)
DENSE_SCALED = _dense("DENSE_SCALED", _dense_scaled_entry)
CSR = _csr("CSR", _csr_entry)
CSR_SCALED = _csr("CSR_SCALED", _csr_scaled_entry)
_scaled_overlap = CSR_SCALED.overlap


@inlined
def _shifted_dot(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
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
def _shifted_dot_both(rows: Any, i: Any, weights: Any, offsets: Any) -> Any:
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
def _shifted_add(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any) -> None:
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
def _shifted_add_both(rows: Any, i: Any, weights: Any, offsets: Any, amount: Any, amount_both: Any) -> None:
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
def _shifted_rescale(weights: Any, offsets: Any, factor: Any) -> None:
    _csr_rescale(weights, offsets, factor)
    offsets[0, 0] *= factor
    offsets[0, 1] *= factor


@inlined
def _shifted_fold(weights: Any, offsets: Any, own: Any, share: Any, factor: Any) -> None:
    _csr_fold(weights, offsets, own, share, factor)
    for k in range(2):
        offsets[1, k] = own * offsets[1, k] + share * offsets[0, k]
        offsets[0, k] *= factor


@inlined
def _shifted_overlap(rows: Any, i: Any, memory: Any) -> Any:
    """Inner product of the sparse parts, less both their products with c, plus c·c."""
    data, indices, indptr, _, inverse_scale, centre, centre_norm = rows
    with_centre = 0.0
    for k in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[k]
        with_centre += data[k] * inverse_scale[j] * centre[j]
    last_with_centre = memory[3]
    product = _scaled_overlap(rows, i, memory) + centre_norm - with_centre - last_with_centre[0]
    last_with_centre[0] = with_centre
    return product


CSR_SHIFTED = CSR_SCALED._replace(
    name="CSR_SHIFTED",
    dot=_shifted_dot,
    dot_both=_shifted_dot_both,
    add=_shifted_add,
    add_both=_shifted_add_both,
    rescale=_shifted_rescale,
    fold=_shifted_fold,
    overlap=_shifted_overlap,
)
