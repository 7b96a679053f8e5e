"""SGD-QN: a step size for every feature, estimated from how gradients change.

The iterate θ is vector 0, at scale 1, and the diagonal B of step sizes is vector 1. Every ``skip`` samples θ is copied
to ω and shrunk; at the next row the gradients at θ and ω give the curvature.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, moved, no_update, sums_of_row
from sgdone.kernels.row_step import make_predict
from sgdone.kernels.rows import CSR_SHIFTED, RowAccess

#: Index into the settings, after those of `sgdone.kernels.loop`: the penalty.
ALPHA: Final = 2
#: Indices into what is kept of the intercept: its step size, and its value in ω.
STEP_B: Final = 0
KEPT_B: Final = 1
#: Bordes et al. (2009): a curvature is between α and this multiple of α.
MOST: Final = 100.0


class RescaledRows(NamedTuple):
    """The functions of θ, B and ``kept``, a copy of an earlier θ, for one way of reaching rows."""

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


def make_sgdqn(access: RowAccess, value: Callable[..., float], slope: Callable[..., float]) -> RowMethod:
    """Steps θ ← θ − v·ℓ′·B∘(x, 1); ``own`` is the skip, the weights of ω, and what is kept of the intercept."""
    dot = access.dot
    move, learn, age, keep = rescaled(access)

    @inlined
    def update(row: Any, arrays: Any, model: Any, own: Any) -> Any:
        i, y, v, z, _reading, _used = row
        rows, settings, parameters, weights, offsets = arrays
        skip, kept, of_intercept = own
        alpha = settings[ALPHA]
        s = slope(z, y, parameters)
        amount = v * s
        if not abs(amount) <= settings[LARGEST]:
            return no_update(NOT_FINITE, z, model)
        if model.steps > 0.0 and model.steps % skip == 0.0:
            product, _norm = dot(rows, i, kept, offsets)
            change = amount - v * slope(product + of_intercept[KEPT_B], y, parameters)
            if not abs(change) <= settings[LARGEST]:
                return no_update(NOT_FINITE, z, model)
            # The α of every feature is added to 1/B first, then what a curvature has beyond it.
            age(weights, skip * alpha)
            learn(rows, i, weights, kept, change, skip, (MOST - 1.0) * alpha)
            difference = model.intercept - of_intercept[KEPT_B]
            ratio = min(max(change / difference, alpha), MOST * alpha) if difference != 0.0 else alpha
            of_intercept[STEP_B] /= 1.0 + skip * of_intercept[STEP_B] * ratio
        if (model.steps + 1.0) % skip == 0.0:
            keep(weights, kept, skip * alpha)
            of_intercept[KEPT_B] = model.intercept
        move(rows, i, weights, amount)
        intercept = model.intercept - amount * of_intercept[STEP_B] * settings[UNIT]
        sums = sums_of_row(y, v, z, value(z, y, parameters))
        return CONTINUE, z, s, moved(model, model.scale, model.share, intercept), sums

    return RowMethod(make_predict(access), update)
