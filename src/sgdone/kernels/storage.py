"""How a model's weights are stored: what a row reads of them, and how a step is written into them.

Each factory takes a way of reaching rows and a loss's value, and returns

- ``read(rows, i, weights, offsets, model)``: inner product with vector 0, the prediction of the model that
  is watched (if any), and ‖x‖²;
- ``write(rows, i, shrink, amount, intercept, step, settings, weights, offsets, model)``: w ← shrink·w − amount·x;
  returns the new (scale, own, share, averaged intercept);
- ``watch(other, loss, y, v, parameters, model)``: returns (iterate loss, moving loss, outcome).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.model import AVERAGE_CEILING, AVERAGE_FLOOR, CEILING, FLOOR
from sgdone.kernels.outcome import AVERAGE_IS_BETTER, CONTINUE
from sgdone.kernels.rows import RowAccess

#: Xu (2011), section 5: weight of the newest iterate, and of its loss, in the moving averages.
MOVING_RATE = 0.01
#: The moving averages are first compared at this sample.
FIRST_COMPARED = 100.0
#: Places in a loop's settings, behind its own: the L1 penalty, the samples after which what is owed of it is due, and
#: the power of its number that an iterate weighs in the average.
L1, EVERY, DECAY = 3, 4, 5


class Storage(NamedTuple):
    """The three functions of a way of storing weights."""

    read: Callable[..., Any]
    write: Callable[..., Any]
    watch: Callable[..., Any]


def make_plain(access: RowAccess, value: Callable[..., float]) -> Storage:
    """Weights as scale × vector."""
    add, rescale = access.add, access.rescale

    @inlined
    def write(
        rows: Any,
        i: Any,
        shrink: Any,
        amount: Any,
        intercept: Any,
        step: Any,
        settings: Any,
        weights: Any,
        offsets: Any,
        model: Any,
    ) -> Any:
        scale = model.scale * shrink
        if abs(scale) < FLOOR or abs(scale) > CEILING:
            rescale(weights, offsets, scale)
            scale = 1.0
        add(rows, i, weights, offsets, -amount * (1.0 / scale))
        return scale, model.own, model.share, model.averaged_intercept

    return Storage(_make_read_iterate(access), write, _watch_nothing)


def make_averaged(access: RowAccess, value: Callable[..., float]) -> Storage:
    """The iterate and the mean of the iterates since averaging began, later ones weighing more if asked."""
    return Storage(_make_read_iterate(access), _make_write_average(access, _polynomial_rate), _watch_nothing)


def make_searching(access: RowAccess, value: Callable[..., float]) -> Storage:
    """The iterate and its moving average, compared until the latter predicts better (Xu 2011, section 5)."""
    dot_both = access.dot_both

    @inlined
    def read(rows: Any, i: Any, weights: Any, offsets: Any, model: Any) -> Any:
        first, second, norm = dot_both(rows, i, weights, offsets)
        return first, model.own * second + model.share * first + model.averaged_intercept, norm

    @inlined
    def watch(other: Any, loss: Any, y: Any, v: Any, parameters: Any, model: Any) -> Any:
        moving_loss = v * value(other, y, parameters)
        iterate = model.iterate_loss + MOVING_RATE * (v * loss - model.iterate_loss)
        moving = model.moving_loss + MOVING_RATE * (moving_loss - model.moving_loss)
        better = model.steps + 1.0 >= FIRST_COMPARED and moving < iterate
        return iterate, moving, AVERAGE_IS_BETTER if better else CONTINUE

    return Storage(read, _make_write_average(access, _moving_rate), watch)


def make_truncated(access: RowAccess, value: Callable[..., float]) -> Storage:
    """Weights as scale × vector 0 with an L1 penalty paid late (Langford et al. 2009; Lipton & Elkan 2015).

    A threshold on the weights is one of threshold/scale on vector 0. ``own`` is the sum of these since the start, and
    vector 1 what each feature has paid of it; ``share`` is what the last rows owe, due every so many of them.
    """
    dot, add, rescale, settle, settle_all = access.dot, access.add, access.rescale, access.settle, access.settle_all

    @inlined
    def read(rows: Any, i: Any, weights: Any, offsets: Any, model: Any) -> Any:
        settle(rows, i, weights, model.own)
        product, norm = dot(rows, i, weights, offsets)
        return product, 0.0, norm

    @inlined
    def write(
        rows: Any,
        i: Any,
        shrink: Any,
        amount: Any,
        intercept: Any,
        step: Any,
        settings: Any,
        weights: Any,
        offsets: Any,
        model: Any,
    ) -> Any:
        scale = model.scale * shrink
        total = model.own
        if abs(scale) < FLOOR or total > CEILING:
            settle_all(weights, total, 0.0)
            rescale(weights, offsets, scale)
            scale = 1.0
            total = 0.0
        add(rows, i, weights, offsets, -amount * (1.0 / scale))
        owed = model.share + step * settings[L1]
        if (model.steps + 1.0) % settings[EVERY] == 0.0:
            total += owed / scale
            owed = 0.0
        return scale, total, owed, model.averaged_intercept

    return Storage(read, write, _watch_nothing)


def _make_read_iterate(access: RowAccess) -> Callable[..., Any]:
    dot = access.dot

    @inlined
    def read(rows: Any, i: Any, weights: Any, offsets: Any, model: Any) -> Any:
        product, norm = dot(rows, i, weights, offsets)
        return product, 0.0, norm

    return read


def _make_write_average(access: RowAccess, rate_of: Callable[..., float]) -> Callable[..., Any]:
    """Xu (2011), Algorithm 1, for any rate η of averaging: both vectors change along the row alone.

    With w = s·u and w̄ = A·û + T·u, the step w⁺ = ρw − g·x and w̄⁺ = (1 − η)w̄ + η·w⁺ become s⁺ = ρs,
    u⁺ = u − (g/s⁺)x, û⁺ = û + (T/A)(g/s⁺)x, A⁺ = (1 − η)A, T⁺ = (1 − η)T + η·s⁺. The first average (η = 1)
    starts anew from A = 1, and scales that have become small are folded into the vectors.
    """
    add_both, fold = access.add_both, access.fold

    @inlined
    def write(
        rows: Any,
        i: Any,
        shrink: Any,
        amount: Any,
        intercept: Any,
        step: Any,
        settings: Any,
        weights: Any,
        offsets: Any,
        model: Any,
    ) -> Any:
        scale = model.scale * shrink
        own = model.own
        share = model.share
        if abs(scale) < AVERAGE_FLOOR or abs(scale) > AVERAGE_CEILING or own < AVERAGE_FLOOR:
            fold(weights, offsets, own, share, scale)
            scale = 1.0
            own = 1.0
            share = 0.0
        along = amount * (1.0 / scale)
        add_both(rows, i, weights, offsets, -along, along * (share / own))
        rate = rate_of(model, settings)
        keep = 1.0 - rate
        mean = model.averaged_intercept + rate * (intercept - model.averaged_intercept)
        return scale, own * keep if rate < 1.0 else 1.0, share * keep + rate * scale, mean

    return write


@inlined
def _polynomial_rate(model: Any, settings: Any) -> Any:
    """Shamir & Zhang (2013), eq. (6): 1/k at the k-th iterate without decay, which is the plain mean."""
    return (1.0 + settings[DECAY]) / (model.averaged_steps + 1.0 + settings[DECAY])


@inlined
def _moving_rate(model: Any, settings: Any) -> Any:
    return MOVING_RATE


@inlined
def _watch_nothing(other: Any, loss: Any, y: Any, v: Any, parameters: Any, model: Any) -> Any:
    return 0.0, 0.0, CONTINUE
