"""Two paths of penalties, in the units of the default fit and in the given ones: the better is used."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.newton.penalty_path import Evaluated, Optimum, PenaltyPath, Readings
from sgdone.sums.units import Units

Array = NDArray[np.float64]

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
