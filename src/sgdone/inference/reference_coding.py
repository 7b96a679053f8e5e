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

Numbers = NDArray[np.intp]


@final
@dataclass(frozen=True)
class FeatureChoice:
    """Features of a summary, in terms of those of the model.

    Parameters
    ----------
    kept : ndarray of int
        Features of the model, in ascending order.
    others : list of ndarray
        Sets of features: a feature for each marks the rows that have none of them. They come last.
    """

    kept: Numbers
    others: list[Numbers]

    def rows(self, X: Any) -> Any:
        """Encoded rows with these features; dense columns are not copied unless some are left out."""
        if not isinstance(X, MixedMatrix):
            all_kept = self.kept.size == X.shape[1] and not self.others
            return X if all_kept else _sparse_columns(X, self.kept, self._extra(X))
        dense = X.dense
        own = self.kept[self.kept < X.n_dense]
        if own.size < X.n_dense:
            dense = np.ascontiguousarray(dense[:, own])
        entries = _sparse_columns(X.sparse, self.kept[own.size :] - X.n_dense, self._extra(X))
        if not entries.shape[1]:
            return dense
        return MixedMatrix(dense, entries) if dense.shape[1] else entries

    def _extra(self, X: Any) -> list[NDArray[np.bool_]]:
        """Rows without any feature of each set."""
        if not self.others:
            return []
        codes = level_codes(X, self.others)
        return [own == features.size for own, features in zip(codes, self.others, strict=True)]


def _sparse_columns(X: Any, columns: Numbers, extra: Sequence[NDArray[np.bool_]]) -> Any:
    """Columns of a CSR matrix, and after them an indicator of the rows of each of ``extra``."""
    chosen = X if columns.size == X.shape[1] else X[:, columns]
    parts = [chosen, *(sparse.csr_array(rows[:, None].astype(X.dtype)) for rows in extra)]
    return sparse.csr_array(chosen if not extra else sparse.hstack(parts, format="csr"))


Array = NDArray[np.float64]

NO_ROWS = "no rows"


@final
@dataclass(frozen=True)
class LevelContrasts:
    """The levels of a category or of a part of a date, as a summary has them.

    Attributes
    ----------
    name : str
        ``occupation``, or ``dteday.month``.
    reference : str or None
        The level that the others are compared with; None if each level has a coefficient.
    levels : int
        Number of levels that rows have.
    features : ndarray of int
        Features of the summary.
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

    Attributes
    ----------
    names : list of str
        Names of the features of the summary.
    model_names : sequence of str
        Names of the features of the model.
    kept : ndarray of int
        Features of the model that the summary has; those of ``factors`` with ``has_other`` follow them.
    factors : tuple of Factor
        In the order in which they were coded: those that determine others come before them.
    numbers : tuple of DeterminedNumber
        Columns of numbers that are left out because a factor determines them.
    has_intercept : bool
        Whether the model has an intercept. Otherwise the first factor has a feature for each level.
    contrasts : tuple of LevelContrasts
        The categories and parts of dates, in the order of the table.
    columns : dict
        Features of the summary by column of the table, and by part of a date.
    left_out : dict
        Features and columns that are left out, and why.
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

    def reference_names(self) -> dict[str, str]:
        """The reference level of each feature that is compared with one."""
        return {
            self.names[j]: own.reference
            for own in self.contrasts
            if own.reference is not None
            for j in own.features.tolist()
        }

    @property
    def choice(self) -> FeatureChoice:
        """The features that are kept, and those that are added."""
        others = [factor.features[:-1] for factor in self.factors if factor.has_other]
        return FeatureChoice(self.kept, others)

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
        codes = self._codes(X)
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

    def _codes(self, X: Any) -> NDArray[np.int32]:
        return level_codes(X, [factor.features[factor.features >= 0] for factor in self.factors])


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

    Parameters
    ----------
    columns : sequence of ColumnFeatures
        How each column of the table was encoded.
    names : sequence of str
        Names of the features.
    rows : array, CSR matrix or MixedMatrix
        Encoded rows.
    labels : ndarray or None
        Classes of the rows; None for a regression.
    weight : ndarray or None
        Weights of the rows; those of weight 0 do not count.
    fit_intercept : bool
        Whether the model has an intercept.

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
    dropped = _dropped_features(coded, numbers)
    kept = np.setdiff1d(np.arange(len(names)), dropped)
    own_names, added = [str(names[j]) for j in kept.tolist()], dict[str, str]()
    for factor in coded:
        if factor.has_other:
            added[factor.name] = _new_name(f"{factor.name}=(other)", names)
            own_names.append(added[factor.name])
    places = np.full(len(names), -1)
    places[kept] = np.arange(kept.size)
    others = {name: own_names.index(text) for name, text in added.items()}
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
        reference = _level_name(factor, factor.reference, names)
    levels = int(factor.present[:-1].sum()) + int(factor.has_other)
    return LevelContrasts(factor.name, reference, levels, features.astype(np.intp))


def _level_name(factor: Factor, level: int, names: Sequence[str]) -> str:
    """The level without the name of its factor."""
    if factor.features[level] < 0:
        return "(other)"
    return str(names[factor.features[level]]).removeprefix(f"{factor.name}=")


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
            yield str(names[factor.features[level]]), NO_ROWS
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
