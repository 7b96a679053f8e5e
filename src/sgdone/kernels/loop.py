"""The loop over a block of rows that every row method shares: a method brings only what it does with one row.

The loop skips rows of weight 0, checks that a row lies within its matrix and that its prediction is finite, calls the
probes, and counts the updates. It prefetches the rows that come next.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sgdone.kernels.instructions import AHEAD, FAR_AHEAD, prefetch
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.outcome import (
    CONTINUE,
    ENERGY_EXCEEDED,
    FIRED_AFTER,
    FIRED_AT_LEFT_OUT,
    FIRED_BEFORE,
    GATHERED,
    NOT_FINITE,
    NOT_SOUND,
    ONE_MODEL,
    Bookkeeping,
)
from sgdone.kernels.probes import FIRE, GO, LEAVE_OUT, ProbeMaker, make_probes

#: Indices into the ``settings`` of every loop: 1 with an intercept and 0 without, and the largest absolute value of a
#: prediction or of a step. The settings of a method follow.
UNIT: Final = 0
LARGEST: Final = 1


@inlined
def write_nothing(rows: Any, i: Any, weights: Any, offsets: Any, own: Any) -> None:
    """The ``write`` of a method whose update has written the weights."""


class RowMethod(NamedTuple):
    """Functions by which a method uses one row, compiled into the loop (`sgdone.kernels.jit.inlined`)."""

    #: ``predict(rows, i, weights, offsets, model, own)`` returns the prediction z for row ``i``, and a tuple of what
    #: the update needs of the same read.
    predict: Callable[..., Any]
    #: ``update(row, arrays, model, own)`` with the tuples ``(i, y, v, z, reading, used)``, for a row of label ``y`` and
    #: weight ``v`` after ``used`` updates, and ``(rows, settings, parameters, weights, offsets)``. It returns the
    #: outcome, the prediction and the slope to report, the numbers that changed and the sums to add: see
    #: `sgdone.kernels.outcome`. With the outcomes `NOT_FINITE` and `ENERGY_EXCEEDED` the row was not used; with
    #: `GATHERED` it waits for the rest of a minibatch.
    update: Callable[..., Any]
    #: ``write(rows, i, weights, offsets, own)`` is called after an update. Whatever is called from ``update`` is
    #: optimised once more by LLVM, so a long function is faster to compile here.
    write: Callable[..., Any] = write_nothing
    #: How updates are counted.
    bookkeeping: Bookkeeping = ONE_MODEL


@lru_cache(maxsize=512)
def make_loop(
    access: Any,
    make_method: Callable[..., RowMethod],
    functions: tuple[Callable[..., Any], ...],
    types: str,
    probes: tuple[ProbeMaker, ...] = (),
) -> Callable[..., tuple[int, int, int]]:
    """Compile the loop of the method ``make_method(access, *functions)``.

    Parameters
    ----------
    access : RowAccess or BankAccess
        The functions that reach a row.
    make_method : callable
        The factory of a `RowMethod`.
    functions : tuple of callables
        Functions of the loss, and factories, that the method is composed of.
    types : str
        Types of the rows' arrays. A compiled loop is only called with arrays of one set of types.
    probes : tuple of ProbeMaker
        Rules that check every row from inside the loop: see `sgdone.kernels.probes`.

    Returns
    -------
    callable
        It uses the rows ``order[first:last]`` until ``updates`` updates are made or an outcome ends it, and returns the
        position of the next row, the number of updates and the outcome. ``upcoming`` names rows that are needed much
        later, to be prefetched. ``own`` is a tuple of what the method alone needs. ``predictions`` and ``slopes``
        receive one number per update, and ``predictions`` the energy of a row that exceeded the limit. ``held`` is the
        numbers and memories of the probes.
    """
    predict, update, write, (load, count, store) = make_method(access, *functions)
    before, after = make_probes(probes, access)
    sound, locate, fetch = access.sound, access.locate, access.fetch

    @compiled(access[0], make_method, *functions, types, *probes)
    def loop(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        upcoming: Any,
        first: Any,
        last: Any,
        updates: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        numbers: Any,
        own: Any,
        predictions: Any,
        slopes: Any,
        held: Any,
    ) -> Any:
        arrays = rows, settings, parameters, weights, offsets
        model = load(numbers)
        outcome = CONTINUE
        position = first
        used = 0
        while position < last and used < updates:
            i = order[position]
            fetch(rows, upcoming[position])
            if position + FAR_AHEAD < last:
                far = order[position + FAR_AHEAD]
                prefetch(labels, far)
                locate(rows, far)
            if position + AHEAD < last:
                fetch(rows, order[position + AHEAD])
            v = sample_weight[i * weight_stride]
            if v == 0.0:
                position += 1
                continue
            if not sound(rows, i, weights):
                outcome = NOT_SOUND
                break
            y = labels[i]
            z, reading = predict(rows, i, weights, offsets, model, own)
            if not abs(z) <= settings[LARGEST]:
                outcome = NOT_FINITE
                break
            decision = before(y, z, held)
            if decision == FIRE:
                outcome = FIRED_BEFORE
                break
            if decision != GO:
                position += 1
                if decision == LEAVE_OUT:
                    continue
                outcome = FIRED_AT_LEFT_OUT
                break
            outcome, reported, slope, changed, sums = update((i, y, v, z, reading, used), arrays, model, own)
            predictions[used] = reported
            if outcome in (NOT_FINITE, ENERGY_EXCEEDED):
                break
            position += 1
            if outcome == GATHERED:
                outcome = CONTINUE
                continue
            slopes[used] = slope
            used += 1
            write(rows, i, weights, offsets, own)
            model = count(model, changed, sums)
            if after((i, v, slope), arrays, model, held) and outcome == CONTINUE:
                outcome = FIRED_AFTER
            if outcome != CONTINUE:
                break
        store(model, numbers)
        return position, used, outcome

    return loop
