"""A path of penalties: the optimum at one penalty after the other, and the best of them."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.newton.penalty_grid import PenaltyGrid
from sgdone.sums.row_sum import RowSum
from sgdone.sums.second_order import SecondOrder
from sgdone.sums.units import Units

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
