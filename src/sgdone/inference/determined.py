"""Levels and columns that another column of the table determines: they have no coefficients of their own."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.factors import Factor
from sgdone.inference.level_facts import LevelFacts, Levels

Array = NDArray[np.float64]


class Source(NamedTuple):
    """A factor that determines levels of another.

    Attributes
    ----------
    factor : int
        Its number.
    levels : ndarray of int
        The level of the other factor that all rows of each of its levels have; −1 if it is not determined.
    """

    factor: int
    levels: Levels


class DeterminedNumber(NamedTuple):
    """A column of numbers with one value in each level of a factor.

    Attributes
    ----------
    feature : int
        Number of the column among the features.
    factor : int
        Number of the factor.
    values : ndarray
        The value in each level; NaN for levels without rows.
    """

    feature: int
    factor: int
    values: Array


@final
class Determination:
    """Levels of factors that other factors determine.

    A factor whose levels are all unions of levels of another is nested in it. Of two equal divisions the later one is
    nested in the earlier one.
    """

    def __init__(self, factors: Sequence[Factor], facts: LevelFacts) -> None:
        self._factors, self._facts = factors, facts
        self._counts = [int(factor.present.sum()) for factor in factors]
        self._map = cache(self._find_map)
        inside = {b: [a for a in range(len(factors)) if self._is_nested(b, a)] for b in range(len(factors))}
        # A factor that others are nested in, and that is not nested itself, has the coefficients.
        outer = {b: [a for a in found if not inside[a]] for b, found in inside.items()}
        #: The factor with the fewest levels that each nested factor is nested in.
        self.nested = {b: min(found, key=lambda a: self._counts[a]) for b, found in outer.items() if found}

    def source(self, of: int, by: int) -> Source:
        """The levels of factor ``of`` that are unions of levels of factor ``by``."""
        return Source(by, self._map(of, by))

    def numbers(self) -> list[DeterminedNumber]:
        """Dense columns of the rows that have one value in each level of a factor, but not in all rows."""
        found = []
        divided = [a for a, factor in enumerate(self._factors) if not factor.is_gap and a not in self.nested]
        for j in range(self._facts.n_dense):
            if self._facts.is_constant(j):
                continue
            for a in sorted(divided, key=lambda a: self._counts[a]):
                of_levels = self._facts.values(j, self._factors[a].division)
                if of_levels is not None:
                    found.append(DeterminedNumber(j, a, of_levels))
                    break
        return found

    def _is_nested(self, of: int, by: int) -> bool:
        inner, outer = self._counts[of], self._counts[by]
        if of == by or inner < 2 or self._factors[of].is_gap or self._factors[by].is_gap:
            return False
        if not (inner < outer or (inner == outer and by < of)):
            return False
        levels = self._map(of, by)
        return np.unique(levels[levels >= 0]).size == inner

    def _find_map(self, of: int, by: int) -> Levels:
        return self._facts.map(self._factors[of].division, self._factors[by].division).levels
