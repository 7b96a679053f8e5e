"""Means and spreads of columns, added up over blocks of rows."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Scaling
from sgdone.rows.source import Block
from sgdone.sums.merging import merged
from sgdone.sums.pieces import pieces_of

Array = NDArray[np.float64]

#: A column counts as constant if its spread is below 64 units in the last place of its values.
_ROUNDING = 64 * np.finfo(np.float64).eps


@final
@dataclass(frozen=True)
class ColumnMoments:
    """Total weight of rows, means of columns, and sums of squared deviations (Chan, Golub & LeVeque 1983)."""

    rows: float
    means: Array
    squares: Array

    def merge(self, other: "ColumnMoments") -> "ColumnMoments":
        """The moments of the rows of both."""
        rows = self.rows + other.rows
        apart = other.means - self.means
        means = self.means + apart * (other.rows / rows)
        squares = self.squares + other.squares + apart * apart * (self.rows * other.rows / rows)
        return ColumnMoments(rows, means, squares)

    @property
    def spreads(self) -> Array:
        """Standard deviations; 0 for a column that does not vary beyond rounding."""
        spreads = np.sqrt(self.squares / self.rows)
        return np.asarray(np.where(spreads > _ROUNDING * np.abs(self.means), spreads, 0.0))


@final
@dataclass(frozen=True)
class EntryMoments:
    """Total weight of sparse rows; for each column, the weight and the weighted squares of its nonzero entries."""

    rows: float
    counts: Array
    squares: Array

    def merge(self, other: "EntryMoments") -> "EntryMoments":
        """The moments of the rows of both."""
        return EntryMoments(self.rows + other.rows, self.counts + other.counts, self.squares + other.squares)


def column_moments(block: Block, *, weighted: bool = False) -> ColumnMoments:
    """Moments of the columns over the rows of positive weight of a block's matrix."""
    return merged(moments_of(part, weights if weighted else None) for part, _, weights in pieces_of(block))


def entry_moments(block: Block) -> EntryMoments:
    """Weighted moments of the entries of a sparse matrix that are not 0."""
    return merged(_entries(part, weights) for part, _, weights in pieces_of(block))


def _entries(part: sparse.csr_array, weights: Array) -> EntryMoments:
    width, values = part.shape[1], part.data.astype(np.float64)
    of_rows = np.repeat(weights, np.diff(part.indptr))
    counts, squares = (
        np.asarray(np.bincount(part.indices, of_rows * of_entries, minlength=width), dtype=np.float64)
        for of_entries in (values != 0, values**2)
    )
    return EntryMoments(float(weights.sum()), counts, squares)


def comparable_units(block: Block, *, centred: bool) -> Scaling:
    """Units in which columns have a spread of 1, and a mean of 0 if ``centred``; infinite for constant columns."""
    moments = column_moments(block)
    spreads = moments.spreads if centred else np.sqrt(moments.squares / moments.rows + moments.means**2)
    return Scaling(np.where(spreads > 0, spreads, np.inf), moments.means if centred else None)


def moments_of(
    part: NDArray[np.floating] | sparse.csr_array | MixedMatrix, weights: Array | None = None
) -> ColumnMoments:
    """Moments of the columns of a matrix, its rows weighted if ``weights`` are given.

    Examples
    --------
    >>> moments_of(np.array([[1.0, 5.0], [3.0, 5.0]])).spreads
    array([1., 0.])
    """
    if isinstance(part, MixedMatrix):
        numbers, entries = moments_of(part.dense, weights), moments_of(part.sparse, weights)
        means = np.concatenate([numbers.means, entries.means])
        return ColumnMoments(numbers.rows, means, np.concatenate([numbers.squares, entries.squares]))
    # Equal weights are a common factor.
    own = np.ones(part.shape[0]) if weights is None else weights
    equal = bool(own.min() == own.max())
    unit = float(own[0]) if equal else 1.0
    own = own / unit
    total = float(own.sum())
    if sparse.issparse(part):
        values = part.astype(np.float64)
        means = np.asarray(values.T @ own) / total
        squares = np.asarray(values.multiply(values).T @ own) - total * means * means
        return ColumnMoments(unit * total, means, unit * np.maximum(squares, 0.0))
    dense = np.asarray(part, dtype=np.float64)
    if equal:
        means = dense.mean(axis=0)
        return ColumnMoments(unit * total, means, unit * np.square(dense - means).sum(axis=0))
    means = own @ dense / total
    return ColumnMoments(total, means, own @ np.square(dense - means))
