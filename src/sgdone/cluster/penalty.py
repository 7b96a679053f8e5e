"""The penalty: by effective degrees of freedom, or by the losses of validation rows, summed over all partitions."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.block_finish import ROWS_PER_COEFFICIENT, best_strength, has_likelihood
from sgdone.cluster.row_sums import SummedRows
from sgdone.cluster.search import MOST_COEFFICIENTS, minimise

Array = NDArray[np.float64]

#: Decrement up to which optima are found before the penalty is chosen: far below what penalties differ by. Validation
#: losses are compared up to this share of the root of the number of rows, a hundredth of the noise of their sum.
_ROUGH, _ROUGH_VALIDATION = 0.1, 0.01
#: Times that the penalty is chosen again at the optimum of the last one: it is chosen to second order.
_MOST_CHOICES = 4
#: Share of a validation loss by which that of a larger penalty may exceed it: small penalties hardly differ.
_PLATEAU = 1e-3
#: Steps of the lowest point between two half powers of ten: losses that differ by rounding choose the same penalty.
_STEPS = 8
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
    problem, chosen = rows.problem, Chosen(first, start)
    for _ in range(_MOST_CHOICES):
        found = minimise(rows, chosen.strength, chosen.model, _ROUGH)
        strength = best_strength(problem.objective, found.sums, found.at, problem.penalties)
        settled = strength == chosen.strength
        chosen = Chosen(strength, found.model)
        if settled or rows.rounds.ended is not None:
            break
    return chosen


def _by_validation(rows: SummedRows, first: float, unit: float, start: Array) -> Chosen:
    """The penalty whose optimum on the other rows has the least validation loss.

    Powers of ten first, then half powers beside the best, and the lowest point of a parabola through these.
    """
    training, validation = replace(rows, rows="training"), replace(rows, rows="validation")
    tol = max(_ROUGH, _ROUGH_VALIDATION * float(np.sqrt(rows.n_rows)))
    losses: dict[int, float] = {}
    optima: dict[int, Array] = {}

    def loss_of(half: int) -> float:
        nearest = min(optima, key=lambda other: abs(other - half), default=None)
        model = start if nearest is None else optima[nearest]
        optima[half] = minimise(training, unit * 10.0 ** (half / 2), model, tol).model
        found, weight = validation.losses(optima[half][None])
        losses[half] = float(found[0]) if weight else np.inf
        return losses[half]

    best = 2 * int(np.clip(round(np.log10(first / unit)), _LEAST, _MOST))
    if not np.isfinite(loss_of(best)):
        return Chosen(first, start)

    def allowed(half: int) -> bool:
        return 2 * _LEAST <= half <= 2 * _MOST and rows.rounds.ended is None

    while allowed(best + 2) and loss_of(best + 2) <= (1.0 + _PLATEAU) * losses[best]:
        best += 2
    best = min(losses, key=losses.__getitem__)
    while best - 2 not in losses and allowed(best - 2) and loss_of(best - 2) < losses[best]:
        best -= 2
    for beside in (best + 1, best - 1):
        if allowed(beside):
            loss_of(beside)
    best = min(losses, key=losses.__getitem__)
    return Chosen(unit * 10.0 ** ((best + _vertex(losses, best)) / 2), optima[best])


def _vertex(losses: dict[int, float], best: int) -> float:
    """Where the parabola through the losses of three neighbours is lowest, from the middle one."""
    if best - 1 not in losses or best + 1 not in losses:
        return 0.0
    below, here, above = losses[best - 1], losses[best], losses[best + 1]
    bend = below - 2.0 * here + above
    found = float(np.clip(0.5 * (below - above) / bend, -0.5, 0.5)) if bend > 0 else 0.0
    return round(_STEPS * found) / _STEPS
