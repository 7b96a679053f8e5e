"""Several predictions of one row: what they cost together, and the slopes of an implicit step for all of them.

Each factory takes a loss's functions and returns

- ``cost(z, first, count, label, parameters)``: the loss of the predictions ``z[first:first + count]``;
- ``slopes(z, count, label, q, parameters, out)``: writes to ``out`` the s with s = ∇ℓ(z − q·s);
- ``miss(z, first, count, label)``: 1 for a wrong class, or the squared error of a regression.

A label is −1 or 1, or a target, of a single prediction; with several, the number of the row's class.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.omega import omega, refined

_MAX_ITERATIONS = 100
_CLOSE = 1e-8
_ROUNDING = 1e-15
#: Below this q the slopes are those at z, to the last digit.
_NO_STEP = 1e-16
#: After a step of λ below this, one iteration makes the last ω the new one, to the last digit.
_NEAR = 1e-2


class Outputs(NamedTuple):
    """The functions of a way of predicting."""

    cost: Callable[..., Any]
    slopes: Callable[..., Any]
    miss: Callable[..., Any]
    #: Whether there is but one prediction: loops over it are none then.
    single: bool = False


def make_two_classes(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction a row, whose sign says which of two classes it is of."""
    return _make_single(value, implicit, _sign_is_wrong)


def make_target(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction a row, of a number."""
    return _make_single(value, implicit, _squared_error)


def _make_single(value: Callable[..., float], implicit: Callable[..., float], miss: Callable[..., Any]) -> Outputs:

    @inlined
    def cost(z: Any, first: Any, count: Any, label: Any, parameters: Any) -> Any:
        return value(z[first], label, parameters)

    @inlined
    def slopes(z: Any, count: Any, label: Any, q: Any, parameters: Any, out: Any) -> None:
        out[0] = implicit(z[0], label, q, parameters)

    return Outputs(cost, slopes, miss, single=True)


def make_one_vs_rest(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction a class, each against the rest; their losses add up."""

    @inlined
    def cost(z: Any, first: Any, count: Any, label: Any, parameters: Any) -> Any:
        total = 0.0
        for k in range(count):
            total += value(z[first + k], 1.0 if k == label else -1.0, parameters)
        return total

    @inlined
    def slopes(z: Any, count: Any, label: Any, q: Any, parameters: Any, out: Any) -> None:
        for k in range(count):
            out[k] = implicit(z[k], 1.0 if k == label else -1.0, q, parameters)

    return Outputs(cost, slopes, _largest_is_wrong)


def make_softmax(value: Callable[..., float], implicit: Callable[..., float]) -> Outputs:
    """One prediction a class, coupled: the loss is log Σ exp(z) − z of the row's class."""
    return Outputs(_log_loss, _softmax_slopes, _largest_is_wrong)


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
def _softmax_slopes(z: Any, count: Any, label: Any, q: Any, parameters: Any, out: Any) -> None:
    """S = p − e with p the softmax of u = z − q·s, e the unit vector of the row's class.

    With c = z + q·e and λ = log Σ exp(u), each p = ω(log q + c − λ)/q, ω being Wright's function, and Σp = 1 settles
    λ. The sum is convex and decreasing in λ, so that Newton's method climbs to the root from below, where a step from
    above leads.
    """
    own = int(label)
    largest = z[0]
    mean = 0.0
    for k in range(count):
        largest = max(largest, z[k])
        mean += z[k]
    total = 0.0
    for k in range(count):
        out[k] = math.exp(z[k] - largest)
        total += out[k]
    if q < _NO_STEP:
        others = 0.0
        for k in range(count):
            out[k] /= total
            others += out[k] if k != own else 0.0
        out[own] = -others
        return
    root = largest + math.log(total)
    # Where a step of each prediction by itself would lead, or else below the root: no p exceeds 1, and Jensen for ω.
    for k in range(count):
        share = out[k] / total
        root -= share * q * (share - (1.0 if k == own else 0.0)) / (1.0 + q * share * (1.0 - share))
    root = max(root, max(largest, z[own] + q) - q)
    root = max(root, (mean + q) / count + math.log(count) - q / count)
    log_q = math.log(q)
    step = 1.0
    for _ in range(_MAX_ITERATIONS):
        excess = -1.0
        fall = 0.0
        for k in range(count):
            t = log_q + z[k] + (q if k == own else 0.0) - root
            w = refined(t, q * out[k]) if abs(step) < _NEAR else omega(t)
            out[k] = w / q
            excess += out[k]
            fall += out[k] / (1.0 + w)
        step = excess / fall
        root += step
        if abs(step) < _CLOSE + _ROUNDING * (abs(root) + q):
            # What the last step changes, to first order: its square is below rounding.
            for k in range(count):
                out[k] -= out[k] / (1.0 + q * out[k]) * step
            break
    others = 0.0
    for k in range(count):
        if k != own:
            others += out[k]
    out[own] = -others


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
