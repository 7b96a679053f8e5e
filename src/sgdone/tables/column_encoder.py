"""The interface of column encoders: one column of a table to entries of feature rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.tables.encoder_state import ColumnState, StateFields
from sgdone.tables.kinds import Column

#: Buckets that a column may have: tables of all buckets are made when rows are encoded.
MOST_BUCKETS = 2**24


@final
class NewFeatures:
    """Numbers for new sparse features, in order.

    Parameters
    ----------
    first : int
        The next number.
    all_rows : bool
        Whether all training rows are at hand: then what is constant now is left out.
    weight : array or None
        Weights of the rows in means; None for equal ones.
    """

    def __init__(self, first: int, *, all_rows: bool = False, weight: NDArray[np.float64] | None = None) -> None:
        self.next = first
        self.all_rows = all_rows
        self.weight = weight

    def take(self, count: int) -> NDArray[np.int32]:
        """The next ``count`` numbers."""
        numbers = np.arange(self.next, self.next + count, dtype=np.int32)
        self.next += count
        return numbers


@final
@dataclass(frozen=True)
class Entries:
    """What a column adds to the rows.

    Attributes
    ----------
    dense : list of float64 arrays of shape (n_rows,)
    indicators : list of int32 arrays of shape (n_rows,)
        A sparse feature with the value 1, or −1 for none.
    words : list of WordRows
        Rows of several sparse features.
    new_gaps : bool
        Whether a gap was met where ``fit`` saw none.
    unseen : str
        If far more levels than expected are not those of ``fit``: their share and one of them, for a warning.
    """

    dense: list[NDArray[np.float64]] = field(default_factory=list)
    indicators: list[NDArray[np.int32]] = field(default_factory=list)
    words: list["WordRows"] = field(default_factory=list)
    new_gaps: bool = False
    unseen: str = ""


@final
@dataclass(frozen=True)
class WordRows:
    """Rows of several sparse features each.

    Attributes
    ----------
    pieces : list of (indptr, numbers, values)
        Consecutive pieces of a CSR matrix: numbers of words, sorted, and their values.
    features : int32 array
        The feature of each number, ascending.
    """

    pieces: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]
    features: NDArray[np.int32]

    def lengths(self) -> NDArray[np.int64]:
        """Number of entries of each row."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(indptr) for indptr, _, _ in self.pieces)])


@final
@dataclass(frozen=True)
class LevelGroup:
    """The features of one categorical column, or of one part of a date: a row has at most one of them.

    Attributes
    ----------
    name : str
        ``occupation``, or ``dteday.month``.
    features : int array
        Numbers of the features, in the order of the coefficients.
    counts : int array
        Rows of `fit` that have each of them.
    reference : int
        Number of the feature that most rows have, the first of them in a tie.
    """

    name: str
    features: NDArray[np.int64]
    counts: NDArray[np.int64]
    reference: int


@final
@dataclass(frozen=True)
class ColumnFeatures:
    """How one column of a table was encoded.

    Attributes
    ----------
    name : str
        Name of the column.
    features : int array
        Numbers of all of its features, in the order of the coefficients.
    groups : list of LevelGroup
        Those of which a row has at most one.
    gap : int or None
        Number of the feature that marks gaps of a number or date.
    """

    name: str
    features: NDArray[np.int64]
    groups: list[LevelGroup]
    gap: int | None


def level_group(name: str, features: NDArray[np.int32], counts: NDArray[np.int64]) -> LevelGroup:
    """The group of some features; ``features`` may be in any order."""
    order = np.argsort(features, kind="stable")
    ordered = features[order].astype(np.int64)
    return LevelGroup(name, ordered, counts[order], int(ordered[np.argmax(counts[order])]))


class ColumnEncoder(ABC):
    """Features of one column.

    Sparse features are numbered from 0 over all columns; :class:`NewFeatures` gives the numbers, which never change.
    """

    name: str
    #: What `state` consists of.
    fields: ClassVar[StateFields]

    @abstractmethod
    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""

    @abstractmethod
    def merge(self, other: Any, new: NewFeatures) -> None:
        """Learn what another encoder of the same column, of the same class, has learnt from other rows.

        Its features that are not known here follow those that are, in their order.
        """

    @abstractmethod
    def dense_names(self) -> list[str]:
        """Names of the dense features."""

    @abstractmethod
    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""

    @abstractmethod
    def sparse_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features, in any order."""

    @abstractmethod
    def description(self) -> str:
        """How the column was encoded, for people."""

    @abstractmethod
    def state(self, words: NDArray[np.bool_] | None) -> ColumnState:
        """What has been learnt, as plain values, arrays and levels.

        Words that name features are kept where ``words``, which has an entry for each sparse feature, is true; all are
        kept if it is None.
        """

    def word_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features that words name."""
        return np.zeros(0, dtype=np.int32)

    def groups(self) -> list[LevelGroup]:
        """Features of which a row has at most one."""
        return []

    def gap_feature(self) -> int | None:
        """Number of the sparse feature that marks gaps; None if gaps are a level or there were none."""
        return None


def feature_numbers(state: ColumnState, name: str) -> NDArray[np.int32]:
    """An array of feature numbers from a state, checked."""
    found: NDArray[np.int32] = state.arrays[name]
    if found.size and (found.min() < 0 or np.unique(found).size != found.size):
        raise ValueError(f"numbers of features in {name!r} are negative or repeated")
    return found


def bucket_count(state: ColumnState) -> int:
    """The number of buckets from a state, checked."""
    found = state.integer("n_buckets", 1, MOST_BUCKETS)
    if found & (found - 1):
        raise ValueError(f"'n_buckets' must be a power of two; got {found}")
    return found


def bucket_lookup(buckets: NDArray[np.int32], numbers: Any, n_buckets: int) -> NDArray[np.int32]:
    """A table of all buckets: the number of those that have one, −1 for the others."""
    table = np.full(n_buckets, -1, dtype=np.int32)
    table[buckets] = numbers
    return table


@final
class BucketTable:
    """The `bucket_lookup` of the last buckets, kept for predictions of few rows."""

    def __init__(self) -> None:
        self._last: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def of(self, buckets: NDArray[np.int32], numbers: Any, n_buckets: int) -> NDArray[np.int32]:
        """The table; ``buckets`` are replaced, not changed, when there are more."""
        if self._last is None or self._last[0] is not buckets:
            self._last = buckets, bucket_lookup(buckets, numbers, n_buckets)
        return self._last[1]
