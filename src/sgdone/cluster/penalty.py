"""The penalty: by effective degrees of freedom, or by the losses of validation rows, summed over all partitions."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.near_path import ROWS_PER_COEFFICIENT, best_strength, has_likelihood
from sgdone.auto.penalty_path import Optimum, PenaltyPath, Readings
from sgdone.cluster.search import MOST_COEFFICIENTS, minimise, separates
from sgdone.newton import EXACT, Minimum, Position, Problem, together
from sgdone.sums.row_sum import ArraySum, OfSomeRows, RowSum
from sgdone.sums.second_order import LossesAt

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
@dataclass
class Chosen:
    """A penalty, and a model near its optimum; while the penalty is chosen, the best so far.

    Parameters
    ----------
    strength : float
        λ of Σvℓ + ½λ‖w‖².
    start : ndarray
        The model that a search at this penalty starts from.
    position : Position
        Where that search is, over all rows or those without the validation rows.
    """

    strength: float
    start: Array
    position: Position = field(default_factory=Position)

    @property
    def model(self) -> Array:
        """The last model of the search, or the start."""
        found = self.position.model
        return self.start if found is None else found

    def move(self, strength: float, start: Array, position: Position | None = None) -> None:
        """Go on with another penalty."""
        self.strength, self.start, self.position = strength, start, position or Position()


Choice = Generator[RowSum, Any, Chosen]


@final
class SummedPath(PenaltyPath):
    """The optimum at a penalty that is given, or chosen by sums over all rows, wherever they are.

    Parameters
    ----------
    problem : Problem
        The objective; its penalties are not used.
    chosen : Chosen
        The penalty or a first guess, and a model to start from.
    unit : float
        Variance of the targets about that model; 1 in classification.
    key : int
        Draws validation rows.
    chooses : bool
        Whether the penalty is chosen.

    Attributes
    ----------
    found : Minimum or None
        The optimum, once it is known.
    is_separated : bool
        Whether some direction classifies all rows without error.
    position : Position
        Where the search at the penalty is.
    """

    def __init__(self, problem: Problem, chosen: Chosen, unit: float, key: int, *, chooses: bool) -> None:
        self._problem, self._chosen, self._unit, self._key, self._chooses = problem, chosen, unit, key, chooses
        self.found: Minimum | None = None
        self.is_separated = False
        self.position = Position()

    def evaluations(self) -> Readings:
        """Choose the penalty, find its optimum, and whether the classes are separated."""
        chosen = self._chosen
        if self._chooses:
            yield from choose(self._problem, chosen, self._unit, self._key)
        problem = self._problem.penalised(chosen.strength)
        self.found = yield from minimise(problem, chosen.model, EXACT, self.position)
        self.is_separated = yield from separates(problem, self.found, chosen.strength)

    @property
    def best(self) -> Optimum:
        """The model so far."""
        found, model = self.found, self.position.model
        if found is not None:
            return Optimum(found.model, self._chosen.strength, np.empty(0), found.decrement)
        return Optimum(self._chosen.model if model is None else model, self._chosen.strength, np.empty(0), np.nan)

    @property
    def loss(self) -> float:
        """Not known: all rows are trained on."""
        return float("nan")

    @property
    def training_loss(self) -> float:
        """The mean loss of the model so far, perhaps without the validation rows; NaN before its first sum."""
        at = self.position.at or self._chosen.position.at
        return float("nan") if at is None else at.sums.loss / at.sums.weight

    @property
    def unit(self) -> float:
        """Variance of the targets about the model so far; 1 in classification."""
        at = self.position.at
        return self._unit if at is None else self._problem.dispersion(at.sums)


def choose(problem: Problem, chosen: Chosen, unit: float, key: int) -> Choice:
    """Choose the penalty of Σvℓ + ½λ‖w‖².

    Parameters
    ----------
    problem : Problem
        The objective; its penalties are not used.
    chosen : Chosen
        A first guess, and a model to start from. It is told what the choice is so far, and returned.
    unit : float
        Variance of the targets about that model; 1 in classification.
    key : int
        Draws the validation rows.
    """
    count = problem.system.n_coefficients
    known = count <= MOST_COEFFICIENTS and problem.n_rows >= ROWS_PER_COEFFICIENT * count
    if known and has_likelihood(problem.system.objective):
        return _by_degrees_of_freedom(problem, chosen)
    return _by_validation(problem, chosen, unit, key)


def _by_degrees_of_freedom(problem: Problem, chosen: Chosen) -> Choice:
    """The penalty that `best_strength` finds at its own optimum."""
    for _ in range(_MOST_CHOICES):
        before = chosen.strength
        found: Minimum = yield from minimise(problem.penalised(before), chosen.start, _ROUGH, chosen.position)
        chosen.move(best_strength(problem.system, found.at.sums, found.at.model), found.model)
        if chosen.strength == before:
            break
    return chosen


def _by_validation(problem: Problem, chosen: Chosen, unit: float, key: int) -> Choice:
    """The penalty whose optimum on the other rows has the least validation loss.

    Powers of ten first, then half powers beside the best, and the lowest point of a parabola through these. Penalties
    that are compared with each other are tried in the same rounds.
    """
    first, start = chosen.strength, chosen.start
    tried = _Tried(problem, chosen, unit, key)
    middle = 2 * int(np.clip(round(np.log10(first / unit)), _LEAST, _MOST))
    if not (yield from tried.add([middle + 2 * step for step in _FIRST])):
        chosen.move(first, start)
        return chosen
    losses = tried.losses
    while True:
        lowest, highest, least = min(losses), max(losses), min(losses.values())
        of_others = min((loss for half, loss in losses.items() if half > lowest), default=np.inf)
        if losses[highest] <= (1.0 + _PLATEAU) * least and highest < 2 * _MOST:
            yield from tried.add([highest + 2])
        elif losses[lowest] < (1.0 - _WORTH) * of_others and lowest > 2 * _LEAST:
            yield from tried.add([lowest - 2])
        else:
            break
    yield from tried.add([tried.best - 1, tried.best + 1])
    chosen.move(tried.strength(tried.best + _vertex(losses, tried.best)), tried.optima[tried.best])
    return chosen


@final
class _Tried:
    """Validation losses of penalties, and the optima of the other rows, by twice the power of ten."""

    def __init__(self, problem: Problem, chosen: Chosen, unit: float, key: int) -> None:
        self._problem, self._chosen, self._start, self._unit, self._key = problem, chosen, chosen.start, unit, key
        few = problem.system.n_coefficients <= MOST_COEFFICIENTS
        self._tol = _FINE if few else max(_ROUGH, _ROUGH_VALIDATION * float(np.sqrt(problem.n_rows)))
        self.losses: dict[int, float] = {}
        self.optima: dict[int, Array] = {}

    @property
    def best(self) -> int:
        """The penalty with the least loss."""
        return min(self.losses, key=self.losses.__getitem__)

    def strength(self, half: float) -> float:
        """λ of a penalty."""
        return float(self._unit * 10.0 ** (half / 2))

    def add(self, halves: Sequence[int]) -> Generator[RowSum, Any, bool]:
        """Try penalties at the same time; returns whether there are both validation rows and others."""
        halves = [half for half in halves if 2 * _LEAST <= half <= 2 * _MOST and half not in self.losses]
        positions = [Position() for _ in halves]
        if not self.optima:
            self._chosen.move(self.strength(halves[0]), self._start, positions[0])
        models = yield from together(list(map(self._optimum, halves, positions)))
        if models[0] is None:
            return False
        request = LossesAt(self._problem.system, np.array(models))
        found: ArraySum | None = yield OfSomeRows(request, "validation", self._key)
        if found is None:
            return False
        self.losses |= dict(zip(halves, found.values[:-1].tolist(), strict=True))
        self.optima |= dict(zip(halves, models, strict=True))
        self._chosen.move(self.strength(self.best), self.optima[self.best])
        return True

    def _optimum(self, half: int, position: Position) -> Generator[RowSum, Any, Array | None]:
        """The optimum of the rows without the validation rows; None if there are no such rows."""
        nearest = min(self.optima, key=lambda other: abs(other - half), default=None)
        start = self._start if nearest is None else self.optima[nearest]
        search = minimise(self._problem.penalised(self.strength(half)), start, self._tol, position)
        value = None
        while True:
            try:
                request = search.send(value)
            except StopIteration as done:
                found: Minimum = done.value
                return found.model
            value = yield OfSomeRows(request, "training", self._key)
            if value is None:
                return None


def _vertex(losses: dict[int, float], best: int) -> float:
    """Where the parabola through the losses of three neighbours is lowest, from the middle one."""
    if best - 1 not in losses or best + 1 not in losses:
        return 0.0
    below, here, above = losses[best - 1], losses[best], losses[best + 1]
    bend = below - 2.0 * here + above
    found = float(np.clip(0.5 * (below - above) / bend, -0.5, 0.5)) if bend > 0 else 0.0
    return round(_STEPS * found) / _STEPS
