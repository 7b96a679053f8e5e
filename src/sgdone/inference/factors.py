"""Columns whose levels divide the rows: categories, parts of dates, and gaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.level_facts import LevelFacts
from sgdone.tables import ColumnFeatures

Array = NDArray[np.float64]


class Division(NamedTuple):
    """Features of which a row has at most one.

    Attributes
    ----------
    name : str
        ``occupation``, ``dteday.month``, or ``age missing``.
    column : str
        The column of the table.
    features : ndarray of int
        The feature of each level.
    is_gap : bool
        Whether the only level is a gap.
    """

    name: str
    column: str
    features: NDArray[np.int64]
    is_gap: bool


@final
@dataclass(frozen=True)
class Factor:
    """A division of the rows by the levels of a column.

    The last level is that of rows without any of the others: dates that are missing, categories that were not in the
    fit, or, for the gaps of a column, rows without a gap.

    Attributes
    ----------
    name : str
        ``occupation``, ``dteday.month``, or ``age missing``.
    column : str
        The column of the table.
    features : ndarray of int
        The feature of each level; −1 if it has none. Only the last level may have none.
    division : int
        Number of the division.
    weights : ndarray
        Sum of the weights of the rows of each level.
    is_gap : bool
        Whether the levels are a gap and no gap.
    """

    name: str
    column: str
    features: NDArray[np.intp]
    division: int
    weights: Array
    is_gap: bool

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether any row has each level."""
        return self.weights > 0


def divisions_of(columns: Sequence[ColumnFeatures], names: Sequence[str]) -> list[Division]:
    """The divisions of encoded rows, in the order of the table; ``names`` are those of the features."""
    found: list[Division] = []
    for column in columns:
        found += [Division(group.name, column.name, group.features, False) for group in column.groups]
        if column.gap is not None:
            found.append(Division(str(names[column.gap]), column.name, np.array([column.gap]), True))
    return found


def factors_of(divisions: Sequence[Division], facts: LevelFacts) -> list[Factor]:
    """The factors of divisions of rows.

    The rows without a date, which have no month, belong to the feature that marks its gaps.
    """
    found: dict[str, list[Factor]] = {}
    for number, own in enumerate(divisions):
        features = np.append(own.features, -1).astype(np.intp)
        factor = Factor(own.name, own.column, features, number, facts.weights[number], own.is_gap)
        found.setdefault(own.column, []).append(factor)
    return [factor for of_column in found.values() for factor in _with_gaps(of_column, facts)]


def _with_gaps(factors: list[Factor], facts: LevelFacts) -> list[Factor]:
    """The factors of a date: rows without any month have the feature that marks gaps, if they are the same rows."""
    if len(factors) < 2 or not factors[-1].is_gap:
        return factors
    *parts, gap = factors
    first = parts[0]
    if not facts.map(first.division, gap.division).are_same_rows(first.features.size - 1, 0):
        return factors
    features = np.append(first.features[:-1], gap.features[0])
    return [Factor(first.name, first.column, features, first.division, first.weights, False), *parts[1:]]
