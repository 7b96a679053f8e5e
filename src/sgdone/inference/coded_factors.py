"""Reference levels of factors, and levels that other factors determine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.determined import Determination, DeterminedNumber, Source
from sgdone.inference.factors import Factor
from sgdone.inference.level_facts import LevelFacts

Numbers = NDArray[np.intp]

#: Levels whose weights differ by a smaller share have as many rows.
_ROUNDING = 1e-9


@final
@dataclass(frozen=True)
class CodedFactor:
    """Coding of the levels of a factor as features of the summary.

    Attributes
    ----------
    name : str
        ``occupation``, or ``dteday.month``.
    features : ndarray of int
        The feature of the model of each level; −1 if it has none.
    present : ndarray of bool
        Whether rows of the summary have each level.
    reference : int
        The level that the others are compared with; −1 if all levels have a feature, or none has.
    sources : tuple of Source
        Factors that determine some of the levels: these have no feature.
    has_other : bool
        Whether rows without any of the levels have a feature of their own, which the model has not.
    is_gap : bool
        Whether the levels are a gap and no gap.
    """

    name: str
    features: Numbers
    present: NDArray[np.bool_]
    reference: int
    sources: tuple[Source, ...]
    has_other: bool
    is_gap: bool

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Whether other factors determine each level."""
        found = np.zeros(self.features.size, dtype=bool)
        for _, levels in self.sources:
            found[levels[levels >= 0]] = True
        return found


def code_factors(
    factors: Sequence[Factor], facts: LevelFacts, fit_intercept: bool
) -> tuple[tuple[CodedFactor, ...], tuple[DeterminedNumber, ...]]:
    """Choose references and determined levels, so that the remaining features span the same space as all of them."""
    determination = Determination(factors, facts)
    outer = [k for k in range(len(factors)) if k not in determination.nested]
    if not fit_intercept:
        whole = [k for k in outer if _divides_all_rows(factors[k])]
        if not whole:
            return tuple(_as_it_is(factor) for factor in factors), ()
        # As in patsy: without an intercept the first category has a coefficient for each level.
        outer = [whole[0], *(k for k in outer if k != whole[0])]
    coded: list[CodedFactor] = []
    places: dict[int, int] = {}
    for k in outer:
        found = _as_it_is(factors[k])
        if fit_intercept or coded:
            sources = [determination.source(k, earlier)._replace(factor=places[earlier]) for earlier in places]
            found = _with_reference(factors[k], sources, facts)
        places[k] = len(coded)
        coded.append(found)
    for k, by in determination.nested.items():
        source = determination.source(k, by)._replace(factor=places[by])
        coded.append(replace(_as_it_is(factors[k]), sources=(source,)))
    numbers = [number._replace(factor=places[number.factor]) for number in determination.numbers()]
    return tuple(coded), tuple(numbers)


def _divides_all_rows(factor: Factor) -> bool:
    """Whether each row has one of the features."""
    return not factor.is_gap and bool(factor.features[-1] >= 0 or not factor.present[-1])


def _as_it_is(factor: Factor) -> CodedFactor:
    return CodedFactor(factor.name, factor.features, factor.present, -1, (), False, factor.is_gap)


def _with_reference(factor: Factor, sources: Iterable[Source], facts: LevelFacts) -> CodedFactor:
    """Leave out the levels that others determine, and of the rest the most frequent one."""
    free, own_sources = factor.present.copy(), []
    last = factor.features.size - 1
    for source in sources if free.sum() > 1 else ():
        # For a gap, only the gap itself has a feature.
        wanted = (source.levels >= 0) & free[source.levels] & (not factor.is_gap or source.levels == 0)
        if wanted.any():
            own_sources.append(source._replace(levels=np.where(wanted, source.levels, -1)))
            free[source.levels[wanted]] = False
    reference = last if factor.is_gap or not free[:-1].any() else _most_frequent(factor, free, facts)
    if not factor.is_gap and not free.any():
        reference = -1
    has_other = bool(not factor.is_gap and free[last] and factor.features[last] < 0 and reference != last)
    return CodedFactor(
        factor.name, factor.features, factor.present, reference, tuple(own_sources), has_other, factor.is_gap
    )


def _most_frequent(factor: Factor, free: NDArray[np.bool_], facts: LevelFacts) -> int:
    """The first free level with the largest weight, of those with the most classes.

    Differences from a level without rows of some class are infinite.
    """
    known = facts.n_classes(factor.division)
    candidates = free & (np.arange(free.size) < free.size - 1)
    candidates &= known == known[candidates].max()
    # Sums of weights differ by rounding if the rows are in another order; the reference must not.
    return int(np.argmax(candidates & (factor.weights > (1.0 - _ROUNDING) * factor.weights[candidates].max())))
