"""Columns whose levels divide the rows: categories, parts of dates, and gaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.mixed_matrix import MixedMatrix
from sgdone.tables import ColumnFeatures

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Factor:
    """A division of the rows by the levels of a column.

    The last level is that of rows without any of the others: dates that are missing, categories that were not in the
    fit, or, of the gaps of a column, rows without a gap.

    Attributes
    ----------
    name : str
        ``occupation``, ``dteday.month``, or ``age missing``.
    column : str
        The column of the table.
    features : ndarray of int
        The feature of each level; −1 if it has none. Only the last level may have none.
    codes : ndarray of int
        The level of each row.
    weights : ndarray
        Sum of the weights of the rows of each level.
    is_gap : bool
        Whether the levels are a gap and no gap.
    """

    name: str
    column: str
    features: NDArray[np.intp]
    codes: NDArray[np.int32]
    weights: Array
    is_gap: bool

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether any row has each level."""
        return self.weights > 0


def factors_of(
    columns: Sequence[ColumnFeatures], names: Sequence[str], rows: Any, weight: Array | None
) -> list[Factor]:
    """The factors of encoded rows, in the order of the table.

    The rows without a date, which have no month, belong to the feature that marks its gaps.

    Parameters
    ----------
    columns : sequence of ColumnFeatures
        How each column was encoded.
    names : sequence of str
        Names of the features.
    rows : array, CSR matrix or MixedMatrix
        Encoded rows.
    weight : ndarray or None
        Weights of the rows; those of weight 0 are left out of ``codes``.
    """
    used = slice(None) if weight is None else np.flatnonzero(weight > 0)
    own_weight = None if weight is None else weight[used]
    divisions: list[tuple[str, str, NDArray[Any], bool]] = []
    for column in columns:
        divisions += [(group.name, column.name, group.features, False) for group in column.groups]
        if column.gap is not None:
            divisions.append((str(names[column.gap]), column.name, np.array([column.gap]), True))
    codes = level_codes(rows, [features for _, _, features, _ in divisions])
    found: list[Factor] = []
    for (name, own_column, features, is_gap), of_rows in zip(divisions, codes, strict=True):
        own = of_rows[used]
        weights = np.bincount(own, own_weight, minlength=features.size + 1).astype(np.float64)
        with_last = np.append(features, -1).astype(np.intp)
        found.append(Factor(name, own_column, with_last, own, weights, is_gap))
    return [factor for column in columns for factor in _with_gaps([f for f in found if f.column == column.name])]


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


def _with_gaps(factors: list[Factor]) -> list[Factor]:
    """The factors of a date: rows without any month have the feature that marks gaps, if they are the same rows."""
    if len(factors) < 2 or not factors[-1].is_gap:
        return factors
    *parts, gap = factors
    first = parts[0]
    if not np.array_equal(first.codes == first.features.size - 1, gap.codes == 0):
        return factors
    features = np.append(first.features[:-1], gap.features[0])
    return [Factor(first.name, first.column, features, first.codes, first.weights, False), *parts[1:]]
