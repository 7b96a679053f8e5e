"""Updates on minibatches: rows are gathered until there are enough of them for an update."""

from collections.abc import Callable
from typing import Any, Final

from sgdone.kernels.jit import inlined
from sgdone.kernels.outcome import CONTINUE, GATHERED, NOT_FINITE, no_update, sums_of_row

#: Indices into the ``totals`` of a minibatch: the number of rows gathered, the sums of their predictions, slopes and
#: amounts, and those of `sgdone.kernels.outcome`.
FILLED: Final = 0
PREDICTIONS: Final = 1
SLOPES: Final = 2
AMOUNTS: Final = 3
LOSSES: Final = 4
WEIGHTS: Final = 5
WRONG: Final = 6
SQUARES: Final = 7
N_TOTALS: Final = 8


def make_minibatch_update(
    value: Callable[..., float],
    slope: Callable[..., float],
    gather: Callable[..., Any],
    complete: Callable[..., Any],
) -> Callable[..., Any]:
    """The ``update`` of a method (`sgdone.kernels.loop.RowMethod`) on minibatches of ``members.size`` rows.

    ``own`` is ``(members, amounts, totals)`` and a tuple of what the method alone needs. The predictions and slopes
    reported are the means over a minibatch.

    Parameters
    ----------
    value, slope : callable
        Functions of the loss.
    gather : callable
        ``gather(rows, i, share, first, reading, used, settings, method)`` is called for each row, with ``share`` =
        v·ℓ′/k and whether the row is the first of its minibatch. It returns the amount to keep of the row, and whether
        that is finite.
    complete : callable
        ``complete(used, arrays, model, batch, method)`` makes the update; ``batch`` is ``(members, amounts, totals)``.
        It returns whether the update is finite, and the numbers that changed.
    """

    @inlined
    def update(row: Any, arrays: Any, model: Any, own: Any) -> Any:
        i, y, v, z, reading, used = row
        rows, settings, parameters, _weights, _offsets = arrays
        batch, method = own
        members, amounts, totals = batch
        size = members.size
        filled = int(totals[FILLED])
        s = slope(z, y, parameters)
        amount, finite = gather(rows, i, v * s / size, filled == 0, reading, used, settings, method)
        if not finite:
            return no_update(NOT_FINITE, z, model)
        if filled == 0:
            for k in range(N_TOTALS):
                totals[k] = 0.0
        members[filled] = i
        amounts[filled] = amount
        loss, weight, wrong, squares = sums_of_row(y, v, z, value(z, y, parameters))
        totals[FILLED] += 1.0
        totals[PREDICTIONS] += z
        totals[SLOPES] += s
        totals[AMOUNTS] += amount
        totals[LOSSES] += loss
        totals[WEIGHTS] += weight
        totals[WRONG] += wrong
        totals[SQUARES] += squares
        if filled + 1 < size:
            return no_update(GATHERED, z, model)
        totals[FILLED] = 0.0
        finite, changed = complete(used, arrays, model, batch, method)
        sums = totals[LOSSES], totals[WEIGHTS], totals[WRONG] / size, totals[SQUARES] / size
        return CONTINUE if finite else NOT_FINITE, totals[PREDICTIONS] / size, totals[SLOPES] / size, changed, sums

    return update
