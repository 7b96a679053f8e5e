"""How a model's weights are stored: what a row reads of them, and how a step is written into them.

Each factory takes a way of reaching rows and a loss's value, and returns

- ``read(rows, i, weights, offsets, model)``: inner product with vector 0, the prediction of the moving average
  (if there is one), and ‖x‖²;
- ``write(i, step, intercept, arrays, model)``: w ← shrink·w − amount·x, where ``step`` is (shrink, amount, step size);
  returns the new (scale, own, share, averaged intercept);
- ``compare(other, loss, y, v, parameters, model)``: the moving averages of the losses of the iterate and of the
  moving average, and the outcome.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.model import AVERAGE_CEILING, AVERAGE_FLOOR, CEILING, FLOOR
from sgdone.kernels.outcome import AVERAGE_IS_BETTER, CONTINUE
from sgdone.kernels.rows import RowAccess
from sgdone.kernels.updates import average_step, polynomial_rate

#: Xu (2011), section 5: weight of the newest iterate, and of its loss, in the moving averages.
MOVING_RATE = 0.01
#: The moving averages are first compared at this sample.
FIRST_COMPARED = 100.0
#: Indices into the settings, after those of `sgdone.kernels.row_step`: the L1 penalty, the number of samples after
#: which what is owed of it is due, and the power p of averaging: the k-th iterate has the weight k^p.
L1, EVERY, DECAY = 3, 4, 5


class Storage(NamedTuple):
    """The three functions of a way of storing weights."""

    read: Callable[..., Any]
    write: Callable[..., Any]
    compare: Callable[..., Any]


def make_plain(access: RowAccess, value: Callable[..., float]) -> Storage:
    """Weights as scale × vector."""
    add, rescale = access.add, access.rescale

    @inlined
    def write(i: Any, step: Any, intercept: Any, arrays: Any, model: Any) -> Any:
        rows, _settings, _parameters, weights, offsets = arrays
        shrink, amount, _size = step
        scale = model.scale * shrink
        if abs(scale) < FLOOR or abs(scale) > CEILING:
            rescale(weights, offsets, scale)
            scale = 1.0
        add(rows, i, weights, offsets, -amount * (1.0 / scale))
        return scale, model.own, model.share, model.averaged_intercept

    return Storage(_make_read_iterate(access), write, _compare_nothing)


def make_averaged(access: RowAccess, value: Callable[..., float]) -> Storage:
    """The iterate, and the mean of the iterates since averaging began, with polynomially growing weights."""
    return Storage(_make_read_iterate(access), _make_write_average(access, _polynomial_rate), _compare_nothing)


def make_searching(access: RowAccess, value: Callable[..., float]) -> Storage:
    """The iterate and its moving average, compared until the latter predicts better (Xu 2011, section 5)."""
    dot_both = access.dot_both

    @inlined
    def read(rows: Any, i: Any, weights: Any, offsets: Any, model: Any) -> Any:
        first, second, norm = dot_both(rows, i, weights, offsets)
        return first, model.own * second + model.share * first + model.averaged_intercept, norm

    @inlined
    def compare(other: Any, loss: Any, y: Any, v: Any, parameters: Any, model: Any) -> Any:
        moving_loss = v * value(other, y, parameters)
        iterate = model.iterate_loss + MOVING_RATE * (v * loss - model.iterate_loss)
        moving = model.moving_loss + MOVING_RATE * (moving_loss - model.moving_loss)
        better = model.steps + 1.0 >= FIRST_COMPARED and moving < iterate
        return iterate, moving, AVERAGE_IS_BETTER if better else CONTINUE

    return Storage(read, _make_write_average(access, _moving_rate), compare)


def make_truncated(access: RowAccess, value: Callable[..., float]) -> Storage:
    """Weights as scale × vector 0 with an L1 penalty paid late (Langford et al. 2009; Lipton & Elkan 2015).

    A threshold on the weights is one of threshold/scale on vector 0. ``own`` is the sum of these since the start, and
    vector 1 what each feature has paid of it; ``share`` is what the rows since the last payment owe.
    """
    dot, add, rescale, settle, settle_all = access.dot, access.add, access.rescale, access.settle, access.settle_all

    @inlined
    def read(rows: Any, i: Any, weights: Any, offsets: Any, model: Any) -> Any:
        settle(rows, i, weights, model.own)
        product, norm = dot(rows, i, weights, offsets)
        return product, 0.0, norm

    @inlined
    def write(i: Any, step: Any, intercept: Any, arrays: Any, model: Any) -> Any:
        rows, settings, _parameters, weights, offsets = arrays
        shrink, amount, size = step
        scale = model.scale * shrink
        total = model.own
        if abs(scale) < FLOOR or total > CEILING:
            settle_all(weights, total, 0.0)
            rescale(weights, offsets, scale)
            scale = 1.0
            total = 0.0
        add(rows, i, weights, offsets, -amount * (1.0 / scale))
        owed = model.share + size * settings[L1]
        if (model.steps + 1.0) % settings[EVERY] == 0.0:
            total += owed / scale
            owed = 0.0
        return scale, total, owed, model.averaged_intercept

    return Storage(read, write, _compare_nothing)


def _make_read_iterate(access: RowAccess) -> Callable[..., Any]:
    dot = access.dot

    @inlined
    def read(rows: Any, i: Any, weights: Any, offsets: Any, model: Any) -> Any:
        product, norm = dot(rows, i, weights, offsets)
        return product, 0.0, norm

    return read


def make_must_fold() -> Callable[..., Any]:
    """Whether scales have become so small or large that they are multiplied into the vectors."""
    floor, ceiling = AVERAGE_FLOOR, AVERAGE_CEILING

    @inlined
    def must_fold(scale: Any, own: Any) -> Any:
        return abs(scale) < floor or abs(scale) > ceiling or own < floor

    return must_fold


def _make_write_average(access: RowAccess, rate_of: Callable[..., float]) -> Callable[..., Any]:
    """The step of an iterate and of its average: see `sgdone.kernels.updates`."""
    add_both, fold = access.add_both, access.fold
    must_fold = make_must_fold()

    @inlined
    def write(i: Any, step: Any, intercept: Any, arrays: Any, model: Any) -> Any:
        rows, settings, _parameters, weights, offsets = arrays
        shrink, amount, _size = step
        scale = model.scale * shrink
        own = model.own
        share = model.share
        if must_fold(scale, own):
            fold(weights, offsets, own, share, scale)
            scale = 1.0
            own = 1.0
            share = 0.0
        rate = rate_of(model, settings)
        to_iterate, to_average, own, share = average_step(amount, scale, own, share, rate)
        add_both(rows, i, weights, offsets, to_iterate, to_average)
        return scale, own, share, model.averaged_intercept + rate * (intercept - model.averaged_intercept)

    return write


@inlined
def _polynomial_rate(model: Any, settings: Any) -> Any:
    return polynomial_rate(model.averaged_steps + 1.0, settings[DECAY])


@inlined
def _moving_rate(model: Any, settings: Any) -> Any:
    return MOVING_RATE


@inlined
def _compare_nothing(other: Any, loss: Any, y: Any, v: Any, parameters: Any, model: Any) -> Any:
    return 0.0, 0.0, CONTINUE
