"""Levels and columns that another column of the table determines: they have no coefficients of their own."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.mixed_matrix import MixedMatrix
from sgdone.inference.factors import Factor

Array = NDArray[np.float64]
Levels = NDArray[np.intp]

#: Rows that are compared first: most numbers differ within a level there.
_FIRST_ROWS = 1000


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
    """Which factors determine which levels of others.

    A factor whose levels are all unions of levels of another is nested in it. Of two equal divisions the later one is
    nested in the earlier one.
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        self._factors = factors
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

    def numbers(self, rows: Any, used: NDArray[Any] | slice) -> list[DeterminedNumber]:
        """Dense columns of the rows that have one value in each level of a factor, but not in all rows."""
        if not isinstance(rows, MixedMatrix):
            return []
        found = []
        divided = [a for a, factor in enumerate(self._factors) if not factor.is_gap and a not in self.nested]
        for j in range(rows.n_dense):
            values = rows.dense[used, j]
            if np.all(values == values[0]):
                continue
            for a in sorted(divided, key=lambda a: self._counts[a]):
                of_levels = _values_of_levels(values, self._factors[a])
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
        levels, codes = self._factors[of].codes, self._factors[by].codes
        found = np.full(self._factors[by].features.size, -1, dtype=np.intp)
        found[codes] = levels
        mixed = np.zeros(found.size, dtype=bool)
        mixed[codes[found[codes] != levels]] = True
        open_ = np.zeros(self._factors[of].features.size, dtype=bool)
        open_[levels[mixed[codes]]] = True
        found[mixed] = -1
        found[(found >= 0) & open_[found]] = -1
        return found


def _values_of_levels(values: Array, factor: Factor) -> Array | None:
    """The value in each level; None if a level has several."""
    for last in (_FIRST_ROWS, values.size):
        codes, own = factor.codes[:last], values[:last]
        found = np.full(factor.features.size, np.nan)
        found[codes] = own
        if not np.array_equal(found[codes], own):
            return None
    return found
