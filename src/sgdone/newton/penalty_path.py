"""The path of penalties: the optimum at one penalty after the other, the grid of penalties, and paths in two units."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.sums.row_sum import RowSum
from sgdone.sums.second_order import SecondOrder
from sgdone.sums.units import Units

#: The first k, the default of many libraries, and the largest: of targets that depend on nothing, every larger penalty
#: is a little better for ever.
FIRST, LARGEST = 0, 80
#: Coefficients of a model that is as good as constant: √(wᵀCw) for the curvature C of the loss, so that each of them is
#: below as many standard errors; and smallest penalty, as a share of the largest eigenvalue of C, that makes a
#: difference.
NO_COEFFICIENT, NO_PENALTY = 0.01, 1e-10


def penalty(k: int) -> float:
    """λ = 10^(k/2).

    Examples
    --------
    >>> penalty(0), penalty(2), penalty(-4)
    (1.0, 10.0, 0.01)
    """
    return float(10.0 ** (k / 2))


@final
@dataclass
class PenaltyGrid:
    """Penalties that were tried, and the next one: the neighbours of the best, until both are worse.

    Examples
    --------
    >>> grid = PenaltyGrid()
    >>> while (k := grid.next()) is not None:
    ...     grid.record(k, loss=(k - 3) ** 2)
    >>> sorted(grid.losses), grid.best, grid.end
    ([-1, 0, 1, 2, 3, 4], 3, '')
    """

    #: The first number k.
    first: int = FIRST
    losses: dict[int, float] = field(default_factory=dict)
    #: Smallest and largest k that may be tried.
    lowest: float = -math.inf
    highest: float = LARGEST

    @property
    def best(self) -> int:
        """The penalty with the least loss; of several, the largest."""
        return min(self.losses, key=lambda k: (self.losses[k], -k))

    def record(self, k: int, loss: float) -> None:
        """Record the loss at a penalty; infinite if it is not a number."""
        self.losses[k] = loss if loss == loss else math.inf

    def next(self) -> int | None:
        """The next penalty to try; None if the best is known."""
        if not self.losses:
            return self.first
        for k in (self.best - 1, self.best + 1):
            if k not in self.losses and self._allowed(k):
                return k
        return None

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is the smallest or the largest that makes a difference; empty if it is inside."""
        if self.best + 1 not in self.losses and not self._allowed(self.best + 1):
            return "largest"
        return "smallest" if self.best - 1 not in self.losses and not self._allowed(self.best - 1) else ""

    def _allowed(self, k: int) -> bool:
        return self.lowest <= k <= self.highest


Array = NDArray[np.float64]
#: Sums that a path requests, or None for a reading that the path makes itself.
Readings = Generator[RowSum | None, Any, None]


class Evaluated(NamedTuple):
    """Mean loss at a model, and its share of errors or root mean squared error."""

    loss: float = float("nan")
    error: float = float("nan")

    @classmethod
    def of(cls, sums: SecondOrder, n_rows: int, objective: Objective) -> "Evaluated":
        """Loss and error from sums at a model."""
        error = sums.misses / n_rows
        return cls(sums.loss / sums.weight, float(np.sqrt(error)) if objective.is_regression else error)


@final
@dataclass(frozen=True)
class Optimum:
    """The optimum at a penalty.

    Parameters
    ----------
    model : ndarray
        (features + 1) × free outputs, in the units of the pieces.
    penalty : float
        λ = α·Σv.
    losses : ndarray
        Estimated losses of the rows, had they not been used; empty before they are known.
    decrement : float
        By how much Σvℓ + ½λ‖w‖² exceeds its minimum, to second order; in regression, over the variance of residuals.
    rows : ndarray or None
        Numbers, among the rows of positive weight, of those that ``losses`` are of; None for all.
    """

    model: Array
    penalty: float
    losses: Array
    decrement: float
    rows: NDArray[np.intp] | None = None


class PenaltyPath(ABC):
    """The optima along a path of penalties.

    Attributes
    ----------
    evaluated : Evaluated
        Loss and error at the last reading of the rows.
    grid : PenaltyGrid or None
        Penalties that were tried; None if only one is.
    """

    evaluated: Evaluated = Evaluated()
    grid: PenaltyGrid | None = None
    _best: Optimum | None = None
    _loss: float = float("nan")

    @property
    def best(self) -> Optimum | None:
        """The optimum of the best penalty so far; None if there is no model yet."""
        return self._best

    @property
    def loss(self) -> float:
        """The estimated loss of new rows at the best penalty; NaN if it is not known."""
        return self._loss

    @abstractmethod
    def evaluations(self) -> Readings:
        """Find the optima; yields before each reading of the rows."""

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is the smallest or the largest that makes a difference; empty if it is inside."""
        return "" if self.grid is None else self.grid.end

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist."""
        return False

    def units(self, units: Units) -> Units:
        """The units in which the penalty acts on the best model, if not in those given."""
        return units

    @property
    def remark(self) -> str:
        """Remark for the verdict; empty for most."""
        return ""


#: Remark for the verdict.
GIVEN_UNITS = "all rows have norm 1: their own units were better than scaled ones, and alpha refers to them"


@final
class BothUnits(PenaltyPath):
    """Paths in our units and in the given ones, for sparse rows that all have norm 1: these were scaled on purpose.

    Parameters
    ----------
    ours, given : PenaltyPath
        Paths in our units, and in the given ones.
    to_ours : pair of callables
        Functions that convert a model of either path to a model of the features in our units.
    """

    def __init__(
        self, ours: PenaltyPath, given: PenaltyPath, to_ours: tuple[Callable[[Array], Array], Callable[[Array], Array]]
    ) -> None:
        self._paths, self._to_ours = (ours, given), to_ours
        self._chosen, self._running = 0, ours

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is at an end of those that make a difference."""
        return self._paths[self._chosen].end

    @property
    def best(self) -> Optimum | None:
        """The optimum of the better path, in our units."""
        found = self._paths[self._chosen].best
        return None if found is None else replace(found, model=self._to_ours[self._chosen](found.model))

    @property
    def loss(self) -> float:
        """The estimated loss of new rows of the better path."""
        return self._paths[self._chosen].loss

    def evaluations(self) -> Readings:
        """Follow one path, then the other."""
        for path in self._paths:
            self._running = path
            yield from path.evaluations()
        self._chosen = int(self._paths[1].loss < self._paths[0].loss)

    @property
    def evaluated(self) -> Evaluated:
        """Loss and error at the last reading of the rows."""
        return self._running.evaluated

    @evaluated.setter
    def evaluated(self, found: Evaluated) -> None:
        self._running.evaluated = found

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist, in our units."""
        return self._paths[0].has_finite_optimum()

    def units(self, units: Units) -> Units:
        """Units to continue in."""
        return as_given(units) if self._chosen else units

    @property
    def remark(self) -> str:
        """Remark for the verdict, if the given units were better."""
        return GIVEN_UNITS if self._chosen else ""


def as_given(units: Units) -> Units:
    """Units in which the columns stay as given."""
    given = units.copy()
    given.scale = np.where(units.scale > 0.0, 1.0, 0.0)
    return given
