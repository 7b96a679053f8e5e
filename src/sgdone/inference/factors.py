"""Factors of an encoded table: facts about their levels, reference levels, and levels that other columns determine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.tables import ColumnFeatures

Array = NDArray[np.float64]
Levels = NDArray[np.intp]

#: Rows that are compared first: most numbers differ within a level there.
_FIRST_ROWS = 1000


@final
@dataclass(frozen=True)
class LevelMap:
    """The levels of one division of the rows in each level of another one.

    ``found`` is the level that all rows of each level of the other division have; −1 if there are several, or no rows.
    ``mixed`` says where there are several, and ``open`` which levels occur among them: those are no unions of levels of
    the other division.
    """

    found: Levels
    mixed: NDArray[np.bool_]
    open: NDArray[np.bool_]

    @classmethod
    def of(cls, levels: NDArray[Any], n_levels: int, others: NDArray[Any], n_others: int) -> "LevelMap":
        """The map of rows that have a level and a level of another division each.

        Examples
        --------
        >>> LevelMap.of(np.array([0, 0, 1, 2]), 3, np.array([0, 1, 2, 2]), 3).levels
        array([ 0,  0, -1])
        """
        found = np.full(n_others, -1, dtype=np.intp)
        found[others] = levels
        mixed = np.zeros(n_others, dtype=bool)
        mixed[others[found[others] != levels]] = True
        open_ = np.zeros(n_levels, dtype=bool)
        open_[levels[mixed[others]]] = True
        found[mixed] = -1
        return cls(found, mixed, open_)

    @property
    def levels(self) -> Levels:
        """The level that each level of the other division determines, if it is a union of such levels; −1 if none."""
        return np.where((self.found >= 0) & ~self.open[self.found], self.found, -1)

    def are_same_rows(self, level: int, other: int) -> bool:
        """Whether the rows of a level are those of a level of the other division."""
        inside, outside = self.found[other], np.delete(self.found, other)
        return not self.mixed[other] and not self.open[level] and inside in (-1, level) and level not in outside


class LevelFacts(Protocol):
    """Facts about the levels of rows, in several divisions of them.

    The last level of a division is that of rows without any of the others.
    """

    @property
    def weights(self) -> Sequence[Array]:
        """Weights of the rows of each level, for each division."""

    @property
    def n_dense(self) -> int:
        """Number of columns of numbers."""

    def map(self, of: int, by: int) -> LevelMap:
        """The levels of division ``of`` in each level of division ``by``."""

    def n_classes(self, division: int) -> NDArray[np.intp]:
        """Number of classes among the rows of each level; zeros in a regression."""

    def is_constant(self, column: int) -> bool:
        """Whether a column of numbers has one value in all rows."""

    def values(self, column: int, division: int) -> Array | None:
        """The value of a column of numbers in each level, NaN without rows; None if a level has several."""


@final
class EncodedLevels:
    """Facts about encoded rows in memory, an array, CSR matrix or `MixedMatrix`, computed when needed.

    A row has at most one of the ``features`` of each division. ``classes`` is None for a regression; rows of weight 0
    do not count.
    """

    def __init__(
        self, rows: Any, features: Sequence[NDArray[Any]], classes: NDArray[np.intp] | None, weight: Array | None
    ) -> None:
        self._used = slice(None) if weight is None else np.flatnonzero(weight > 0)
        own_weight = None if weight is None else weight[self._used]
        self._codes = [own[self._used] for own in level_codes(rows, features)]
        self._dense = rows.dense if isinstance(rows, MixedMatrix) else None
        self._classes = None if classes is None else classes[self._used]
        self._sizes = [own.size + 1 for own in features]
        self.n_dense = 0 if self._dense is None else int(self._dense.shape[1])
        self.weights = [
            np.bincount(codes, own_weight, minlength=size).astype(np.float64)
            for codes, size in zip(self._codes, self._sizes, strict=True)
        ]

    def map(self, of: int, by: int) -> LevelMap:
        """The levels of division ``of`` in each level of division ``by``."""
        return LevelMap.of(self._codes[of], self._sizes[of], self._codes[by], self._sizes[by])

    def n_classes(self, division: int) -> NDArray[np.intp]:
        """Number of classes among the rows of each level."""
        return np.asarray(self.has_class(division, 0 if self._classes is None else int(self._classes.max()) + 1).sum(1))

    def has_class(self, division: int, count: int) -> NDArray[np.bool_]:
        """Whether rows of each level have each of ``count`` classes."""
        found = np.zeros((self._sizes[division], count), dtype=bool)
        if self._classes is not None:
            found[self._codes[division], self._classes] = True
        return found

    def column(self, column: int) -> Array:
        """Values of a column of numbers."""
        assert self._dense is not None
        return np.asarray(self._dense[self._used, column])

    def is_constant(self, column: int) -> bool:
        """Whether a column of numbers has one value in all rows."""
        values = self.column(column)
        return bool(np.all(values == values[0]))

    def values(self, column: int, division: int) -> Array | None:
        """The value of a column of numbers in each level; None if a level has several."""
        values = self.column(column)
        for last in (_FIRST_ROWS, values.size):
            codes, own = self._codes[division][:last], values[:last]
            found = np.full(self._sizes[division], np.nan)
            found[codes] = own
            if not np.array_equal(found[codes], own):
                return None
        return found


def level_codes(rows: Any, features: Sequence[NDArray[Any]]) -> NDArray[np.int32]:
    """The level of each row in each of several sets of features: its position there, or the size of the set for none.

    Examples
    --------
    >>> from scipy import sparse
    >>> level_codes(sparse.csr_array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), [np.array([0, 1]), np.array([2])])
    array([[0, 2],
           [1, 0]], dtype=int32)
    """
    codes = np.empty((len(features), rows.shape[0]), dtype=np.int32)
    codes[:] = np.array([own.size for own in features], dtype=np.int32)[:, None]
    if not len(features):
        return codes
    entries, first = (rows.sparse, rows.n_dense) if isinstance(rows, MixedMatrix) else (rows, 0)
    owner = np.full(entries.shape[1], -1, dtype=np.int32)
    place = np.zeros(entries.shape[1], dtype=np.int32)
    for number, own in enumerate(features):
        owner[own - first], place[own - first] = number, np.arange(own.size)
    known = np.flatnonzero(owner[entries.indices] >= 0)
    feature, row = entries.indices[known], np.searchsorted(entries.indptr, known, side="right") - 1
    codes[owner[feature], row] = place[feature]
    return codes


class Division(NamedTuple):
    """Features of which a row has at most one, as the levels of ``dteday.month``, or ``age missing`` alone."""

    name: str
    column: str
    features: NDArray[np.int64]
    marks_missing: bool


@final
@dataclass(frozen=True)
class Factor:
    """A division of the rows by the levels of a column, and its coding as features of the summary.

    The last level is that of rows without any of the others: dates that are missing, categories that were not in the
    fit, or, where the only other level marks missing values, rows without one.

    ``features`` has the feature of the model of each level, −1 if it has none, as only the last one may. Others are
    compared with the level ``reference``; −1 if all levels have a feature, or none has. ``sources`` are factors that
    determine some of the levels: these have no feature in the summary. If ``has_other``, rows without any of the levels
    have a feature of their own there.
    """

    name: str
    column: str
    features: NDArray[np.intp]
    division: int
    weights: Array
    marks_missing: bool
    reference: int = -1
    sources: "tuple[DeterminingFactor, ...]" = ()
    has_other: bool = False

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether any row has each level."""
        return self.weights > 0

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Whether other factors determine each level."""
        found = np.zeros(self.features.size, dtype=bool)
        for _, levels in self.sources:
            found[levels[levels >= 0]] = True
        return found


def divisions_of(columns: Sequence[ColumnFeatures], names: Sequence[str]) -> list[Division]:
    """The divisions of encoded rows, in the order of the table; ``names`` are those of the features."""
    found: list[Division] = []
    for column in columns:
        found += [Division(group.name, column.name, group.features, False) for group in column.groups]
        if column.missing is not None:
            found.append(Division(str(names[column.missing]), column.name, np.array([column.missing]), True))
    return found


def factors_of(divisions: Sequence[Division], facts: LevelFacts) -> list[Factor]:
    """The factors of divisions of rows.

    The rows without a date, which have no month, belong to the feature that marks its missing values.
    """
    found: dict[str, list[Factor]] = {}
    for number, own in enumerate(divisions):
        features = np.append(own.features, -1).astype(np.intp)
        factor = Factor(own.name, own.column, features, number, facts.weights[number], own.marks_missing)
        found.setdefault(own.column, []).append(factor)
    return [factor for of_column in found.values() for factor in _with_missing(of_column, facts)]


def _with_missing(factors: list[Factor], facts: LevelFacts) -> list[Factor]:
    """The factors of a date: rows without any month have the feature that marks missing dates."""
    if len(factors) < 2 or not factors[-1].marks_missing:
        return factors
    *parts, missing = factors
    first = parts[0]
    if not facts.map(first.division, missing.division).are_same_rows(first.features.size - 1, 0):
        return factors
    features = np.append(first.features[:-1], missing.features[0])
    return [replace(first, features=features), *parts[1:]]


class DeterminingFactor(NamedTuple):
    """The number of a factor that determines levels of another.

    ``levels`` has the level of the other factor that all rows of each of its levels have; −1 if it is not determined.
    """

    factor: int
    levels: Levels


class DeterminedNumber(NamedTuple):
    """A column of numbers with one value in each level of a factor.

    ``feature`` is its number among the features, ``factor`` that of the factor; ``values`` are NaN for levels without
    rows.
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

    def source(self, of: int, by: int) -> DeterminingFactor:
        """The levels of factor ``of`` that are unions of levels of factor ``by``."""
        return DeterminingFactor(by, self._map(of, by))

    def numbers(self) -> list[DeterminedNumber]:
        """Dense columns of the rows that have one value in each level of a factor, but not in all rows."""
        found = []
        divided = [a for a, factor in enumerate(self._factors) if not factor.marks_missing and a not in self.nested]
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
        if of == by or inner < 2 or self._factors[of].marks_missing or self._factors[by].marks_missing:
            return False
        if not (inner < outer or (inner == outer and by < of)):
            return False
        levels = self._map(of, by)
        return np.unique(levels[levels >= 0]).size == inner

    def _find_map(self, of: int, by: int) -> Levels:
        return self._facts.map(self._factors[of].division, self._factors[by].division).levels


Numbers = NDArray[np.intp]

#: Levels whose weights differ by a smaller share have as many rows.
_ROUNDING = 1e-9


def code_factors(
    factors: Sequence[Factor], facts: LevelFacts, fit_intercept: bool
) -> tuple[tuple[Factor, ...], tuple[DeterminedNumber, ...]]:
    """Choose references and determined levels, so that the remaining features span the same space as all of them."""
    determination = Determination(factors, facts)
    outer = [k for k in range(len(factors)) if k not in determination.nested]
    if not fit_intercept:
        whole = [k for k in outer if _divides_all_rows(factors[k])]
        if not whole:
            return tuple(factors), ()
        # As in patsy: without an intercept the first category has a coefficient for each level.
        outer = [whole[0], *(k for k in outer if k != whole[0])]
    coded: list[Factor] = []
    places: dict[int, int] = {}
    for k in outer:
        found = factors[k]
        if fit_intercept or coded:
            sources = [determination.source(k, earlier)._replace(factor=places[earlier]) for earlier in places]
            found = _with_reference(factors[k], sources, facts)
        places[k] = len(coded)
        coded.append(found)
    for k, by in determination.nested.items():
        source = determination.source(k, by)._replace(factor=places[by])
        coded.append(replace(factors[k], sources=(source,)))
    numbers = [number._replace(factor=places[number.factor]) for number in determination.numbers()]
    return tuple(coded), tuple(numbers)


def _divides_all_rows(factor: Factor) -> bool:
    """Whether each row has one of the features."""
    return not factor.marks_missing and bool(factor.features[-1] >= 0 or not factor.present[-1])


def _with_reference(factor: Factor, sources: Iterable[DeterminingFactor], facts: LevelFacts) -> Factor:
    """Leave out the levels that others determine, and of the rest the most frequent one."""
    free, own_sources = factor.present.copy(), []
    last = factor.features.size - 1
    for source in sources if free.sum() > 1 else ():
        # Of "missing" and "not missing", only "missing" has a feature.
        wanted = (source.levels >= 0) & free[source.levels] & (not factor.marks_missing or source.levels == 0)
        if wanted.any():
            own_sources.append(source._replace(levels=np.where(wanted, source.levels, -1)))
            free[source.levels[wanted]] = False
    reference = last if factor.marks_missing or not free[:-1].any() else _most_frequent(factor, free, facts)
    if not factor.marks_missing and not free.any():
        reference = -1
    has_other = bool(not factor.marks_missing and free[last] and factor.features[last] < 0 and reference != last)
    return replace(factor, reference=reference, sources=tuple(own_sources), has_other=has_other)


def _most_frequent(factor: Factor, free: NDArray[np.bool_], facts: LevelFacts) -> int:
    """The first free level with the largest weight, of those with the most classes.

    Differences from a level without rows of some class are infinite.
    """
    known = facts.n_classes(factor.division)
    candidates = free & (np.arange(free.size) < free.size - 1)
    candidates &= known == known[candidates].max()
    # Sums of weights differ by rounding if the rows are in another order; the reference must not.
    return int(np.argmax(candidates & (factor.weights > (1.0 - _ROUNDING) * factor.weights[candidates].max())))
