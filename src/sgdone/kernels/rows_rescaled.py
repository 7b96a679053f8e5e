"""Rows with a step size for every feature: vector 0 is θ, vector 1 the diagonal B of step sizes.

Not for shifted rows of a CSR matrix: B∘x would be dense.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.rows import CSR_SHIFTED, RowAccess


class RescaledRows(NamedTuple):
    """The functions of θ, B and ``kept``, a copy of an earlier θ stored as a model of one vector."""

    #: ``move(rows, i, weights, amount)``: θ −= amount × B∘x.
    move: Callable[..., Any]
    #: ``learn(rows, i, weights, kept, change, skip, most)``: 1/B += skip × change·x/(θ − kept) kept within [0, most].
    learn: Callable[..., Any]
    #: ``age(weights, amount)``: 1/B += amount.
    age: Callable[..., Any]
    #: ``keep(weights, kept, rate)``: kept ← θ, and θ −= rate × B∘θ.
    keep: Callable[..., Any]


@inlined
def _tightened(step: Any, theta: Any, kept: Any, gradient: Any, skip: Any, most: Any) -> Any:
    """A step size after an estimate of the curvature; where θ has not moved there is none."""
    moved = theta - kept
    return step / (1.0 + skip * step * min(max(gradient / moved, 0.0), most)) if moved != 0.0 else step


def _dense(entry: Callable[..., Any]) -> RescaledRows:
    """Every feature in turn."""

    @inlined
    def move(rows: Any, i: Any, weights: Any, amount: Any) -> None:
        a = weights.dtype.type(amount)
        for j in range(weights.shape[1]):
            weights[0, j] -= a * weights[1, j] * entry(rows, i, j)

    @inlined
    def learn(rows: Any, i: Any, weights: Any, kept: Any, change: Any, skip: Any, most: Any) -> None:
        for j in range(weights.shape[1]):
            gradient = change * entry(rows, i, j)
            weights[1, j] = _tightened(weights[1, j], weights[0, j], kept[0, j], gradient, skip, most)

    @inlined
    def age(weights: Any, amount: Any) -> None:
        a = weights.dtype.type(amount)
        one = weights.dtype.type(1)
        for j in range(weights.shape[1]):
            weights[1, j] /= one + a * weights[1, j]

    @inlined
    def keep(weights: Any, kept: Any, rate: Any) -> None:
        a = weights.dtype.type(rate)
        for j in range(weights.shape[1]):
            kept[0, j] = weights[0, j]
            weights[0, j] -= a * weights[1, j] * weights[0, j]

    return RescaledRows(move, learn, age, keep)


def _sparse(entry: Callable[..., Any]) -> RescaledRows:
    """Only the entries of the row."""

    @inlined
    def move(rows: Any, i: Any, weights: Any, amount: Any) -> None:
        a = weights.dtype.type(amount)
        for k in range(rows[2][i], rows[2][i + np.uint64(1)]):
            j = rows[1][k]
            weights[j, 0] -= a * weights[j, 1] * entry(rows, k, j)

    @inlined
    def learn(rows: Any, i: Any, weights: Any, kept: Any, change: Any, skip: Any, most: Any) -> None:
        for k in range(rows[2][i], rows[2][i + np.uint64(1)]):
            j = rows[1][k]
            gradient = change * entry(rows, k, j)
            weights[j, 1] = _tightened(weights[j, 1], weights[j, 0], kept[j, 0], gradient, skip, most)

    @inlined
    def age(weights: Any, amount: Any) -> None:
        a = weights.dtype.type(amount)
        one = weights.dtype.type(1)
        for j in range(weights.shape[0]):
            weights[j, 1] /= one + a * weights[j, 1]

    @inlined
    def keep(weights: Any, kept: Any, rate: Any) -> None:
        a = weights.dtype.type(rate)
        for j in range(weights.shape[0]):
            kept[j, 0] = weights[j, 0]
            weights[j, 0] -= a * weights[j, 1] * weights[j, 0]

    return RescaledRows(move, learn, age, keep)


@lru_cache
def rescaled(access: RowAccess) -> RescaledRows:
    """The functions for a way of reaching rows; an error for shifted sparse rows."""
    if access is CSR_SHIFTED:
        raise ValueError(
            "sgdqn cannot learn from centred sparse rows, whose every entry it would need: "
            "give X as a dense array, or leave centring out"
        )
    return _dense(access.entry) if access.vectors_first else _sparse(access.entry)
