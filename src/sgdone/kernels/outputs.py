"""Several predictions for one row: their loss, and the slopes of an implicit step for all of them.

Each factory takes a loss's functions and returns

- ``cost(z, first, count, label, parameters)``: the loss of the predictions ``z[first:first + count]``;
- ``slopes(z, count, label, q, parameters, out, room)``: writes to ``out`` the s with s = ∇ℓ(z − q·s); ``room`` is as
  long as ``z``;
- ``miss(z, first, count, label)``: 1 for a wrong class, or the squared error of a regression.

A label is −1 or 1, or a target, of a single prediction; with several, the number of the row's class.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.softmax import softmax_slopes


class Outputs(NamedTuple):
    """The functions of a way of predicting."""

    cost: Callable[..., Any]
    slopes: Callable[..., Any]
    miss: Callable[..., Any]
    #: Whether there is only one prediction, so that no loop over predictions is compiled.
    single: bool = False


def make_two_classes(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction per row, whose sign is the predicted class."""
    return _make_single(value, implicit, _sign_is_wrong)


def make_target(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction per row, of a number."""
    return _make_single(value, implicit, _squared_error)


def _make_single(value: Callable[..., float], implicit: Callable[..., float], miss: Callable[..., Any]) -> Outputs:

    @inlined
    def cost(z: Any, first: Any, count: Any, label: Any, parameters: Any) -> Any:
        return value(z[first], label, parameters)

    @inlined
    def slopes(z: Any, count: Any, label: Any, q: Any, parameters: Any, out: Any, room: Any) -> None:
        out[0] = implicit(z[0], label, q, parameters)

    return Outputs(cost, slopes, miss, single=True)


def make_one_vs_rest(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction per class, each against the rest; their losses are added."""

    @inlined
    def cost(z: Any, first: Any, count: Any, label: Any, parameters: Any) -> Any:
        total = 0.0
        for k in range(count):
            total += value(z[first + k], 1.0 if k == label else -1.0, parameters)
        return total

    @inlined
    def slopes(z: Any, count: Any, label: Any, q: Any, parameters: Any, out: Any, room: Any) -> None:
        for k in range(count):
            out[k] = implicit(z[k], 1.0 if k == label else -1.0, q, parameters)

    return Outputs(cost, slopes, _largest_is_wrong)


def make_softmax(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction per class, coupled: the loss is log Σ exp(z) − z of the row's class."""
    return Outputs(_log_loss, softmax_slopes, _largest_is_wrong)


@inlined
def _log_loss(z: Any, first: Any, count: Any, label: Any, parameters: Any) -> Any:
    largest = z[first]
    for k in range(1, count):
        largest = max(largest, z[first + k])
    total = 0.0
    for k in range(count):
        total += math.exp(z[first + k] - largest)
    return math.log(total) + (largest - z[first + int(label)])


@inlined
def _largest_is_wrong(z: Any, first: Any, count: Any, label: Any) -> Any:
    best = 0
    for k in range(1, count):
        if z[first + k] > z[first + best]:
            best = k
    return 0.0 if best == label else 1.0


@inlined
def _sign_is_wrong(z: Any, first: Any, count: Any, label: Any) -> Any:
    return 1.0 if z[first] * label <= 0.0 else 0.0


@inlined
def _squared_error(z: Any, first: Any, count: Any, label: Any) -> Any:
    return (z[first] - label) * (z[first] - label)
