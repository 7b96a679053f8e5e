"""Outcome of an update: why a loop returned before or at the end of its rows, and how it counts its updates.

An update returns ``(outcome, prediction, slope, changed, sums)``. ``changed`` are the numbers of the model that an
update may change: scale, own, share, intercept, averaged intercept, and the two moving averages of losses. ``sums`` are
the terms of the progressive sums: weight × loss, weight, 1 if the sign of the prediction was wrong, and the squared
error. An update on several rows gives the sum of the first two and the mean of the last two.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.model import Numbers, load, store

#: Every row was used.
CONTINUE: Final = 0
#: A prediction or a step was not finite, or beyond the largest size: the row was not used.
NOT_FINITE: Final = 1
#: A row was larger than the step size allows for: the row was not used.
ENERGY_EXCEEDED: Final = 2
#: The moving average has become better than the iterate: the row was used.
AVERAGE_IS_BETTER: Final = 3
#: A row points outside its matrix: the row was not used.
NOT_SOUND: Final = 4
#: A probe fired before the update of a row: the row was not used.
FIRED_BEFORE: Final = 5
#: A probe fired after the update of a row: the row was used.
FIRED_AFTER: Final = 6
#: A probe fired at a row that is read but not trained on.
FIRED_AT_LEFT_OUT: Final = 7
#: A row waits for the rest of its minibatch. No loop returns it.
GATHERED: Final = 8


@inlined
def count_update(model: Any, changed: Any, sums: Any) -> Any:
    """The numbers of the model after one more update."""
    scale, own, share, intercept, averaged_intercept, iterate_loss, moving_loss = changed
    loss, weight, wrong, squares = sums
    return Numbers(
        scale,
        own,
        share,
        intercept,
        averaged_intercept,
        model.steps + 1.0,
        model.averaged_steps + 1.0,
        model.pass_loss + loss,
        model.pass_weight + weight,
        model.stretch_loss + loss,
        model.stretch_weight + weight,
        model.stretch_wrong + wrong,
        model.stretch_squares + squares,
        iterate_loss,
        moving_loss,
    )


@inlined
def moved(model: Any, scale: Any, share: Any, intercept: Any) -> Any:
    """The ``changed`` of an update without an average."""
    return scale, model.own, share, intercept, model.averaged_intercept, model.iterate_loss, model.moving_loss


@inlined
def sums_of_row(y: Any, v: Any, z: Any, loss: Any) -> Any:
    """The ``sums`` of an update on one row."""
    return v * loss, v, 1.0 if y * z <= 0.0 else 0.0, (y - z) * (y - z)


@inlined
def no_update(outcome: Any, reported: Any, model: Any) -> Any:
    """The return value of an update that was not made."""
    iterate = model.scale, model.own, model.share, model.intercept
    averages = model.averaged_intercept, model.iterate_loss, model.moving_loss
    return outcome, reported, 0.0, (*iterate, *averages), (0.0, 0.0, 0.0, 0.0)


class Bookkeeping(NamedTuple):
    """How a loop keeps numbers: ``load(numbers)``, ``count(model, changed, sums)`` and ``store(model, numbers)``."""

    load: Callable[..., Any]
    count: Callable[..., Any]
    store: Callable[..., Any]


@inlined
def _no_model(numbers: Any) -> Any:
    return ()


@inlined
def _count_nothing(model: Any, changed: Any, sums: Any) -> Any:
    return model


@inlined
def _store_nothing(model: Any, numbers: Any) -> None:
    pass


ONE_MODEL = Bookkeeping(load, count_update, store)
#: For methods that keep the numbers of their models themselves.
NO_MODEL = Bookkeeping(_no_model, _count_nothing, _store_nothing)
