"""The penalty: by effective degrees of freedom, or by the losses of validation rows, summed over all partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.near_path import ROWS_PER_COEFFICIENT, best_strength, has_likelihood
from sgdone.cluster.in_step import in_step
from sgdone.cluster.rounds import Asks
from sgdone.cluster.row_sums import SummedRows
from sgdone.cluster.search import MOST_COEFFICIENTS, minimise

Array = NDArray[np.float64]

#: Decrement up to which optima are found before the penalty is chosen: far below what penalties differ by. Validation
#: losses are compared up to this share of the root of the number of rows, a hundredth of the noise of their sum.
_ROUGH, _ROUGH_VALIDATION = 0.1, 0.01
#: The same with few coefficients, where a search takes a round or two to get there.
_FINE = 1e-5
#: Times that the penalty is chosen again at the optimum of the last one: it is chosen to second order.
_MOST_CHOICES = 4
#: Share of a validation loss by which that of a larger penalty may exceed it: small penalties hardly differ.
_PLATEAU = 1e-3
#: Share of a validation loss that a smaller penalty must gain for the next one to be tried.
_WORTH = 1e-4
#: Steps of the lowest point between two half powers of ten: losses that differ by rounding choose the same penalty.
_STEPS = 8
#: Powers of ten from the first guess that are tried at first.
_FIRST = (0, 1, 2)
#: Smallest and largest penalty, in rows, as powers of ten.
_LEAST, _MOST = -3, 5


@final
@dataclass(frozen=True)
class Chosen:
    """A penalty, and a model near its optimum."""

    strength: float
    model: Array


def choose(rows: SummedRows, first: float, unit: float, start: Array) -> Chosen:
    """Choose the penalty of Σvℓ + ½·strength·‖w‖², from a first guess and a model to start from.

    ``unit`` is the variance of the targets about that model; 1 in classification.
    """
    objective, count = rows.problem.objective, rows.problem.n_coefficients
    known = count <= MOST_COEFFICIENTS and rows.n_rows >= ROWS_PER_COEFFICIENT * count
    if known and has_likelihood(objective):
        return _by_degrees_of_freedom(rows, first, start)
    return _by_validation(rows, first, unit, start)


def _by_degrees_of_freedom(rows: SummedRows, first: float, start: Array) -> Chosen:
    """The penalty that `best_strength` finds at its own optimum."""
    chosen = Chosen(first, start)
    for _ in range(_MOST_CHOICES):
        found = minimise(rows, chosen.strength, chosen.model, _ROUGH)
        strength = best_strength(rows.system, found.at.sums, found.at.model)
        settled = strength == chosen.strength
        chosen = Chosen(strength, found.model)
        if settled or rows.rounds.ended is not None:
            break
    return chosen


def _by_validation(rows: SummedRows, first: float, unit: float, start: Array) -> Chosen:
    """The penalty whose optimum on the other rows has the least validation loss.

    Powers of ten first, then half powers beside the best, and the lowest point of a parabola through these. Penalties
    that are compared with each other are tried in the same rounds.
    """
    tried = _Tried(rows, unit, start)
    middle = 2 * int(np.clip(round(np.log10(first / unit)), _LEAST, _MOST))
    if not tried.add([middle + 2 * step for step in _FIRST]):
        return Chosen(first, start)
    losses = tried.losses
    while rows.rounds.ended is None:
        lowest, highest, least = min(losses), max(losses), min(losses.values())
        of_others = min((loss for half, loss in losses.items() if half > lowest), default=np.inf)
        if losses[highest] <= (1.0 + _PLATEAU) * least and highest < 2 * _MOST:
            tried.add([highest + 2])
        elif losses[lowest] < (1.0 - _WORTH) * of_others and lowest > 2 * _LEAST:
            tried.add([lowest - 2])
        else:
            break
    best = min(losses, key=losses.__getitem__)
    if rows.rounds.ended is None:
        tried.add([best - 1, best + 1])
        best = min(losses, key=losses.__getitem__)
    return Chosen(unit * 10.0 ** ((best + _vertex(losses, best)) / 2), tried.optima[best])


@final
class _Tried:
    """Validation losses of penalties, and the optima of the other rows, by twice the power of ten."""

    def __init__(self, rows: SummedRows, unit: float, start: Array) -> None:
        self._rows, self._unit, self._start = rows, unit, start
        few = rows.problem.n_coefficients <= MOST_COEFFICIENTS
        self._tol = _FINE if few else max(_ROUGH, _ROUGH_VALIDATION * float(np.sqrt(rows.n_rows)))
        self.losses: dict[int, float] = {}
        self.optima: dict[int, Array] = {}

    def add(self, halves: Sequence[int]) -> bool:
        """Try penalties at the same time; returns whether there are validation rows."""
        halves = [half for half in halves if 2 * _LEAST <= half <= 2 * _MOST and half not in self.losses]
        rounds: Any = self._rows.rounds
        found = in_step(rounds, [partial(self._optimum, half) for half in halves])
        losses, weight = replace(self._rows, rows="validation").losses(np.array(found))
        if not weight:
            return False
        self.losses |= dict(zip(halves, losses.tolist(), strict=True))
        self.optima |= dict(zip(halves, found, strict=True))
        return True

    def _optimum(self, half: int, asks: Asks) -> Array:
        nearest = min(self.optima, key=lambda other: abs(other - half), default=None)
        model = self._start if nearest is None else self.optima[nearest]
        training = replace(self._rows, rounds=asks, rows="training")
        return minimise(training, self._unit * 10.0 ** (half / 2), model, self._tol).model


def _vertex(losses: dict[int, float], best: int) -> float:
    """Where the parabola through the losses of three neighbours is lowest, from the middle one."""
    if best - 1 not in losses or best + 1 not in losses:
        return 0.0
    below, here, above = losses[best - 1], losses[best], losses[best + 1]
    bend = below - 2.0 * here + above
    found = float(np.clip(0.5 * (below - above) / bend, -0.5, 0.5)) if bend > 0 else 0.0
    return round(_STEPS * found) / _STEPS
