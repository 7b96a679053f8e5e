"""Weights read and written as a plain vector of float64, for every way of reaching rows."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.rows import CSR_SHIFTED, RowAccess


class Vectors(NamedTuple):
    """Vector 0 as a plain vector, for one way of reaching rows."""

    #: ``take(rows, sums, sum_offsets, vector, factor, out)``: out ← sums + factor·vector, and sums ← 0.
    take: Callable[..., Any]
    #: ``move(rows, weights, offsets, old, step)``: weights ← old + step.
    move: Callable[..., Any]
    #: ``read(weights, out)``: out ← weights.
    read: Callable[..., Any]


def make_vectors(access: RowAccess) -> Vectors:
    """The functions for dense rows, sparse rows, or sparse rows that are shifted."""
    if access.vectors_first:
        return Vectors(_take_dense, _move_dense, _read_dense)
    if access is CSR_SHIFTED:
        return Vectors(_take_shifted, _move_shifted, _read_sparse)
    return Vectors(_take_sparse, _move_sparse, _read_sparse)


@inlined
def inner(a: Any, b: Any) -> Any:
    """The inner product of two vectors."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@inlined
def _take_dense(rows: Any, sums: Any, sum_offsets: Any, vector: Any, factor: Any, out: Any) -> None:
    for j in range(sums.shape[1]):
        out[j] = sums[0, j] + factor * vector[j]
        sums[0, j] = 0.0


@inlined
def _take_sparse(rows: Any, sums: Any, sum_offsets: Any, vector: Any, factor: Any, out: Any) -> None:
    for j in range(sums.shape[0]):
        out[j] = sums[j, 0] + factor * vector[j]
        sums[j, 0] = 0.0


@inlined
def _take_shifted(rows: Any, sums: Any, sum_offsets: Any, vector: Any, factor: Any, out: Any) -> None:
    centre = rows[5]
    for j in range(sums.shape[0]):
        out[j] = sums[j, 0] - sum_offsets[0, 0] * centre[j] + factor * vector[j]
        sums[j, 0] = 0.0
    sum_offsets[0, 0] = 0.0
    sum_offsets[0, 1] = 0.0


@inlined
def _move_dense(rows: Any, weights: Any, offsets: Any, old: Any, step: Any) -> None:
    for j in range(weights.shape[1]):
        weights[0, j] = old[j] + step[j]


@inlined
def _move_sparse(rows: Any, weights: Any, offsets: Any, old: Any, step: Any) -> None:
    for j in range(weights.shape[0]):
        weights[j, 0] = old[j] + step[j]


@inlined
def _move_shifted(rows: Any, weights: Any, offsets: Any, old: Any, step: Any) -> None:
    """For shifted rows: δ stays 0, and the product of the weights with the centre is computed."""
    centre = rows[5]
    with_centre = 0.0
    for j in range(weights.shape[0]):
        weights[j, 0] = old[j] + step[j]
        with_centre += weights[j, 0] * centre[j]
    offsets[0, 1] = with_centre


@inlined
def _read_dense(weights: Any, out: Any) -> None:
    for j in range(weights.shape[1]):
        out[j] = weights[0, j]


@inlined
def _read_sparse(weights: Any, out: Any) -> None:
    for j in range(weights.shape[0]):
        out[j] = weights[j, 0]
