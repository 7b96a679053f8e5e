"""Facts about the levels of columns: which occur, which occur together, and which determine a number."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.matrices.mixed_matrix import MixedMatrix

Array = NDArray[np.float64]
Levels = NDArray[np.intp]

#: Rows that are compared first: most numbers differ within a level there.
_FIRST_ROWS = 1000


@final
@dataclass(frozen=True)
class LevelMap:
    """The levels of one division of the rows in each level of another one.

    Parameters
    ----------
    found : ndarray of int
        The level that all rows of each level of the other division have; −1 if there are several, or no rows.
    mixed : ndarray of bool
        Whether there are several.
    open : ndarray of bool
        Whether each level occurs among these several: it is no union of levels of the other division.
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


class LevelFacts(ABC):
    """Facts about the levels of rows, in several divisions of them.

    The last level of a division is that of rows without any of the others.
    """

    @property
    @abstractmethod
    def weights(self) -> Sequence[Array]:
        """Weights of the rows of each level, for each division."""

    @property
    @abstractmethod
    def n_dense(self) -> int:
        """Number of columns of numbers."""

    @abstractmethod
    def map(self, of: int, by: int) -> LevelMap:
        """The levels of division ``of`` in each level of division ``by``."""

    @abstractmethod
    def n_classes(self, division: int) -> NDArray[np.intp]:
        """Number of classes among the rows of each level; zeros in a regression."""

    @abstractmethod
    def is_constant(self, column: int) -> bool:
        """Whether a column of numbers has one value in all rows."""

    @abstractmethod
    def values(self, column: int, division: int) -> Array | None:
        """The value of a column of numbers in each level, NaN without rows; None if a level has several."""


@final
class LevelsOfRows(LevelFacts):
    """Facts about encoded rows in memory, computed when needed.

    Parameters
    ----------
    rows : array, CSR matrix or MixedMatrix
        Encoded rows.
    features : sequence of ndarray
        The features of each division: a row has at most one of them.
    classes : ndarray of int or None
        Number of the class of each row; None for a regression.
    weight : ndarray or None
        Weights of the rows; those of weight 0 do not count.
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
        self._weights = [
            np.bincount(codes, own_weight, minlength=size).astype(np.float64)
            for codes, size in zip(self._codes, self._sizes, strict=True)
        ]

    @property
    def weights(self) -> Sequence[Array]:
        """Weights of the rows of each level, for each division."""
        return self._weights

    @property
    def n_dense(self) -> int:
        """Number of columns of numbers."""
        return 0 if self._dense is None else int(self._dense.shape[1])

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
