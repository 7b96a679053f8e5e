"""Contrasts with a reference level: the features of a summary in place of one feature for each level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.inference.coefficients import SummarisedModel
from sgdone.inference.factors import (
    DeterminedNumber,
    Division,
    EncodedLevels,
    Factor,
    LevelFacts,
    code_factors,
    divisions_of,
    factors_of,
    level_codes,
)
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.message_text import enumerate_names
from sgdone.tables import ColumnFeatures

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]


@final
@dataclass(frozen=True)
class FeatureChoice:
    """Features of a summary: those of the model that are kept, in ascending order, and new ones that come last.

    For each of ``others``, a set of features, the new one marks the rows that have none of them.
    """

    kept: Numbers
    others: list[Numbers]

    def rows(self, X: Any) -> Any:
        """Encoded rows with these features; dense columns are not copied unless some are left out."""
        codes = level_codes(X, self.others)
        extra = [own == features.size for own, features in zip(codes, self.others, strict=True)]
        if not isinstance(X, MixedMatrix):
            all_kept = self.kept.size == X.shape[1] and not self.others
            return X if all_kept else _sparse_columns(X, self.kept, extra)
        own = self.kept[self.kept < X.n_dense]
        dense = X.dense if own.size == X.n_dense else np.ascontiguousarray(X.dense[:, own])
        entries = _sparse_columns(X.sparse, self.kept[own.size :] - X.n_dense, extra)
        if not entries.shape[1]:
            return dense
        return MixedMatrix(dense, entries) if dense.shape[1] else entries


def _sparse_columns(X: Any, columns: Numbers, extra: Sequence[NDArray[np.bool_]]) -> Any:
    """Columns of a CSR matrix, and after them an indicator of the rows of each of ``extra``."""
    chosen = X if columns.size == X.shape[1] else X[:, columns]
    parts = [chosen, *(sparse.csr_array(rows[:, None].astype(X.dtype)) for rows in extra)]
    return sparse.csr_array(chosen if not extra else sparse.hstack(parts, format="csr"))


@final
@dataclass(frozen=True)
class LevelContrasts:
    """The levels of a category or of a part of a date, as a summary has them.

    ``reference`` is the level that the others are compared with; None if each level has a coefficient. ``levels``
    counts those that rows have, and ``features`` are features of the summary.
    """

    name: str
    reference: str | None
    levels: int
    features: Numbers


@final
@dataclass(frozen=True)
class ReferenceCoding:
    """The features of a summary of encoded rows, without those that the others and the intercept determine.

    One feature for each level and an intercept are collinear. So the most frequent level of each category is left out,
    and the coefficients of the others are differences from it. Rows of each level stay as they are: nothing is
    estimated differently, and the predictions of a model are the same.

    ``names`` are those of the features of the summary: the features ``kept`` of the model, and then those of
    ``factors`` with ``has_other``. Factors are in the order in which they were coded, those that determine others
    before them; a factor also determines the columns ``numbers``, which are left out. Without an intercept the first
    factor has a feature for each level. ``contrasts`` are in the order of the table; ``columns`` has the features of
    the summary by column and by part of a date, and ``left_out`` says why features and columns are not among them.
    """

    names: list[str]
    model_names: Sequence[str]
    kept: Numbers
    factors: tuple[Factor, ...]
    numbers: tuple[DeterminedNumber, ...]
    has_intercept: bool
    contrasts: tuple[LevelContrasts, ...]
    columns: dict[str, Numbers]
    left_out: dict[str, str]

    @property
    def choice(self) -> FeatureChoice:
        """The features that are kept, and those that are added."""
        return FeatureChoice(self.kept, [factor.features[:-1] for factor in self.factors if factor.has_other])

    def rows(self, X: Any) -> Any:
        """Encoded rows with the features of the summary; dense columns are not copied unless some are left out."""
        return self.choice.rows(X)

    def model(self, fitted: SummarisedModel) -> SummarisedModel:
        """The model with the features of the summary."""
        effects = [_level_effects(factor, fitted.coef) for factor in self.factors]
        for number in self.numbers:
            known = ~np.isnan(number.values)
            effects[number.factor][:, known] += fitted.coef[:, [number.feature]] * number.values[known]
        constant = np.zeros(fitted.coef.shape[0])
        for own, factor in reversed(list(zip(effects, self.factors, strict=True))):
            if factor.reference >= 0:
                moved = own[:, factor.reference].copy()
                own -= moved[:, None]
                constant += moved
            for source, levels in factor.sources:
                known = levels >= 0
                effects[source][:, known] += own[:, levels[known]]
        if not self.has_intercept and effects:
            effects[0] += constant[:, None]
        coef = np.array(fitted.coef)
        for own, factor in zip(effects, self.factors, strict=True):
            has = factor.features >= 0
            coef[:, factor.features[has]] = own[:, has]
        others = [own[:, -1] for own, factor in zip(effects, self.factors, strict=True) if factor.has_other]
        return replace(
            fitted,
            coef=np.column_stack([coef[:, self.kept], *others]),
            intercept=fitted.intercept + constant if self.has_intercept else fitted.intercept,
            feature_names=self.names,
        )

    def is_unknown(self, X: Any) -> NDArray[np.bool_]:
        """Whether each encoded row has a level, or a pair of levels, that no row of the summary had."""
        codes = level_codes(X, [factor.features[factor.features >= 0] for factor in self.factors])
        unknown = np.zeros(X.shape[0], dtype=bool)
        for own, factor in zip(codes, self.factors, strict=True):
            unknown |= ~np.append(factor.present, False)[own]
            for source, levels in factor.sources:
                by_source = np.zeros(factor.features.size + 1, dtype=bool)
                by_source[levels[levels >= 0]] = True
                unknown |= np.append(levels, -1)[codes[source]] != np.where(by_source[own], own, -1)
        for number in self.numbers:
            unknown |= X.dense[:, number.feature] != np.append(number.values, np.nan)[codes[number.factor]]
        return unknown


def reference_coding(
    columns: Sequence[ColumnFeatures],
    names: Sequence[str],
    rows: Any,
    labels: NDArray[Any] | None,
    weight: Array | None,
    *,
    fit_intercept: bool,
) -> ReferenceCoding:
    """Choose the features of a summary of encoded rows.

    ``labels`` is None for a regression; rows of weight 0 do not count.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sgdone.matrices.mixed_matrix import MixedMatrix
    >>> from sgdone import TableEncoder
    >>> table = pa.table({"job": ["Sales", "Tech", "Sales", "Craft"], "code": [7.0, 2.0, 7.0, 7.0]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoded = encoder.encode(table)
    >>> rows, names = MixedMatrix(encoded.dense, encoded.sparse), list(encoder.get_feature_names_out())
    >>> coding = reference_coding(encoder.column_features(), names, rows, None, None, fit_intercept=True)
    >>> coding.names, coding.contrasts[0].reference, coding.left_out
    (['job=Craft', 'job=Tech'], 'Sales', {'code': 'determined by job'})
    """
    classes = None if labels is None else np.unique(labels, return_inverse=True)[1].reshape(-1)
    divisions = divisions_of(columns, names)
    facts = EncodedLevels(rows, [own.features for own in divisions], classes, weight)
    return coding_of(columns, names, divisions, facts, fit_intercept=fit_intercept)


def coding_of(
    columns: Sequence[ColumnFeatures],
    names: Sequence[str],
    divisions: Sequence[Division],
    facts: LevelFacts,
    *,
    fit_intercept: bool,
) -> ReferenceCoding:
    """Choose the features of a summary from facts about the levels of rows, in the divisions of ``columns``."""
    factors = factors_of(divisions, facts)
    coded, numbers = code_factors(factors, facts, fit_intercept)
    kept = np.setdiff1d(np.arange(len(names)), _dropped_features(coded, numbers))
    own_names, others = [str(names[j]) for j in kept.tolist()], dict[str, int]()
    for factor in coded:
        if factor.has_other:
            others[factor.name] = len(own_names)
            own_names.append(_new_name(f"{factor.name}=(other)", names))
    places = np.full(len(names), -1)
    places[kept] = np.arange(kept.size)
    by_name = {factor.name: factor for factor in coded}
    contrasts = tuple(
        _contrasts(by_name[factor.name], names, places, others) for factor in factors if not factor.marks_missing
    )
    return ReferenceCoding(
        own_names,
        names,
        kept.astype(np.intp),
        coded,
        numbers,
        fit_intercept,
        contrasts,
        _columns(columns, contrasts, places, others),
        dict(_left_out(coded, numbers, names)),
    )


def _dropped_features(factors: Sequence[Factor], numbers: Iterable[DeterminedNumber]) -> Numbers:
    found = [np.array([number.feature for number in numbers], dtype=np.intp)]
    for factor in factors:
        dropped = factor.determined | ~factor.present
        if factor.reference >= 0:
            dropped[factor.reference] = True
        found.append(factor.features[dropped & (factor.features >= 0)])
    return np.concatenate(found)


def _level_effects(factor: Factor, coef: Array) -> Array:
    """The coefficient of each level; 0 for a level without a feature."""
    return np.where(factor.features >= 0, coef[:, factor.features], 0.0)


def _new_name(name: str, known: Sequence[str]) -> str:
    number, shown = 1, name
    while shown in known:
        number += 1
        shown = f"{name} ({number})"
    return shown


def _contrasts(factor: Factor, names: Sequence[str], places: Numbers, others: dict[str, int]) -> LevelContrasts:
    own = places[factor.features[:-1]]
    features = own[own >= 0]
    if factor.has_other:
        features = np.append(features, others[factor.name])
    reference = None
    if factor.reference >= 0:
        reference = _feature_name(factor, factor.reference, names).removeprefix(f"{factor.name}=")
    levels = int(factor.present[:-1].sum()) + int(factor.has_other)
    return LevelContrasts(factor.name, reference, levels, features.astype(np.intp))


def _columns(
    columns: Sequence[ColumnFeatures], contrasts: Sequence[LevelContrasts], places: Numbers, others: dict[str, int]
) -> dict[str, Numbers]:
    """Features of the summary by column; a column without any is there too, and empty."""
    found: dict[str, Numbers] = {}
    for column in columns:
        own = places[column.features]
        added = [others[group.name] for group in column.groups if group.name in others]
        found[column.name] = np.append(own[own >= 0], added).astype(np.intp)
    return {own.name: own.features for own in contrasts} | found


def _left_out(
    factors: Sequence[Factor], numbers: Iterable[DeterminedNumber], names: Sequence[str]
) -> Iterable[tuple[str, str]]:
    """Features and columns that are left out besides the references, and why."""
    for number in numbers:
        yield str(names[number.feature]), f"determined by {factors[number.factor].name}"
    for factor in factors:
        if factor.reference < 0 and factor.sources:
            yield factor.name, f"determined by {enumerate_names([factors[s.factor].name for s in factor.sources])}"
            continue
        for level in np.flatnonzero(~factor.present & (factor.features >= 0)).tolist():
            yield str(names[factor.features[level]]), "no rows"
        for source, levels in factor.sources:
            for level in np.unique(levels[levels >= 0]).tolist():
                if factor.features[level] >= 0:
                    by = np.flatnonzero(levels == level).tolist()
                    same = enumerate_names([_feature_name(factors[source], k, names) for k in by])
                    together = " together" if len(by) > 1 else ""
                    yield str(names[factor.features[level]]), f"the same rows as {same}{together}"


def _feature_name(factor: Factor, level: int, names: Sequence[str]) -> str:
    if factor.features[level] >= 0:
        return str(names[factor.features[level]])
    return f"not {factor.name}" if factor.marks_missing else f"{factor.name}=(other)"
