"""The interface of column encoders, their stored state and the names of their features."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.tables.kinds import Column

#: Rows that may have been counted: far more than anyone has, and sums of two such numbers are exact.
MOST_ROWS = 2**53


@final
@dataclass(frozen=True)
class StateFields:
    """Names and types of the values and arrays in the state of a kind of column."""

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)
    has_levels: bool = False


@final
@dataclass(frozen=True)
class ColumnState:
    """State of one column: numbers and booleans, arrays of one dimension, and the levels of a category."""

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    levels: Any = None

    def integer(self, name: str, least: int = 0, most: int = MOST_ROWS) -> int:
        """One integer; one that is smaller or larger is an error."""
        found = int(self.values[name])
        if not least <= found <= most:
            raise ValueError(f"{name!r} must be an integer from {least} to {most}; got {found}")
        return found

    def number(self, name: str) -> float:
        """One finite float."""
        found = float(self.values[name])
        if not math.isfinite(found):
            raise ValueError(f"{name!r} must be finite; got {found}")
        return found

    def counts(self, name: str) -> NDArray[np.int64]:
        """An array of numbers of rows."""
        found = self.arrays[name]
        if found.size and not 0 <= found.min() <= found.max() <= MOST_ROWS:
            raise ValueError(f"{name!r} holds numbers of rows that are negative or too large")
        return found


@final
@dataclass(frozen=True)
class EncoderState:
    """State of an encoder."""

    #: What JSON can hold: parameters, names of columns, and what the columns are.
    header: dict[str, Any]
    #: Values and arrays of columns by name; ``"<name>.sizes"`` says how many entries each column has.
    arrays: dict[str, NDArray[Any]]
    #: Levels of all categories, column after column; None if there are none.
    levels: Any

    @classmethod
    def of(
        cls,
        header: dict[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        fields: Sequence[StateFields],
        columns: Sequence[ColumnState],
    ) -> "EncoderState":
        """Put the states of columns together; ``arrays`` are those of the encoder itself."""
        found = dict(arrays)
        for name, (kind, owners) in _owners([own.values for own in fields]).items():
            found[name] = np.array([columns[k].values[name] for k in owners], dtype=kind)
        for name, (_, owners) in _owners([own.arrays for own in fields]).items():
            parts = [columns[k].arrays[name] for k in owners]
            found[name] = np.concatenate(parts)
            found[f"{name}.sizes"] = np.array([part.size for part in parts], dtype=np.int64)
        levels = [column.levels for column in columns if column.levels is not None]
        if levels:
            found["levels.sizes"] = np.array([len(own) for own in levels], dtype=np.int64)
        return cls(header, found, pa.concat_arrays(levels) if levels else None)

    def columns(self, own: Sequence[str], fields: Sequence[StateFields]) -> list[ColumnState]:
        """The states of the columns, given the names of the encoder's own arrays; what does not fit is a ValueError."""
        states = [ColumnState() for _ in fields]
        used = set(own)
        for name, (kind, owners) in _owners([of_column.values for of_column in fields]).items():
            values = self.array(name, kind)
            if values.size != len(owners):
                raise ValueError(f"{name!r} has {values.size} values for {len(owners)} columns")
            for k, value in zip(owners, values.tolist(), strict=True):
                states[k].values[name] = value
            used.add(name)
        for name, (kind, owners) in _owners([of_column.arrays for of_column in fields]).items():
            array = self.array(name, kind)
            for k, part in zip(owners, self._ranges(name, array.size, len(owners)), strict=True):
                states[k].arrays[name] = array[part].copy()
            used |= {name, f"{name}.sizes"}
        with_levels = [k for k, of_column in enumerate(fields) if of_column.has_levels]
        if with_levels:
            used.add("levels.sizes")
            ranges = self._ranges("levels", len(self.levels), len(with_levels))
            for k, part in zip(with_levels, ranges, strict=True):
                levels = self.levels.slice(part.start, part.stop - part.start)
                states[k] = ColumnState(states[k].values, states[k].arrays, levels)
        elif self.levels is not None:
            raise ValueError("there are levels, and no column has any")
        if set(self.arrays) != used:
            raise ValueError(f"the arrays {sorted(set(self.arrays) ^ used)[:3]} do not belong to the columns")
        return states

    def array(self, name: str, kind: Any) -> NDArray[Any]:
        """One array with one dimension; another type or shape is an error."""
        found = np.asarray(self.arrays[name])
        if found.dtype != kind or found.ndim != 1:
            raise ValueError(f"{name!r} must be an array of {np.dtype(kind)} with one dimension")
        return found

    def _ranges(self, name: str, size: int, n_columns: int) -> list[slice]:
        """Slice of an array for each of its owners."""
        sizes = self.array(f"{name}.sizes", np.int64).tolist()
        if len(sizes) != n_columns or min(sizes, default=0) < 0 or sum(sizes) != size:
            raise ValueError(f"the {size} entries of {name!r} are not divided among {n_columns} columns")
        ends = np.cumsum([0, *sizes]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]


def _owners(names: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, list[int]]]:
    """The type of each name, and the numbers of the columns that have it."""
    found: dict[str, tuple[Any, list[int]]] = {}
    for k, of_column in enumerate(names):
        for name, kind in of_column.items():
            found.setdefault(name, (kind, []))[1].append(k)
    return found


#: Buckets that a column may have: tables of all buckets are made when rows are encoded.
MOST_BUCKETS = 2**24


@final
class NewFeatures:
    """Numbers for new sparse features, in order, and what else encoders learn with."""

    def __init__(self, first: int, *, all_rows: bool = False, weight: NDArray[np.float64] | None = None) -> None:
        self.next = first
        #: Whether all training rows are at hand: then what is constant now is left out.
        self.all_rows = all_rows
        #: Weights of the rows in means; None for equal ones.
        self.weight = weight

    def take(self, count: int) -> NDArray[np.int32]:
        """The next ``count`` numbers."""
        numbers = np.arange(self.next, self.next + count, dtype=np.int32)
        self.next += count
        return numbers


@final
@dataclass(frozen=True)
class Entries:
    """Entries of a column in the rows: arrays with one item a row, and rows of words."""

    dense: list[NDArray[np.float64]] = field(default_factory=list)
    #: Numbers of sparse features with the value 1, or −1 for none.
    indicators: list[NDArray[np.int32]] = field(default_factory=list)
    words: list["WordRows"] = field(default_factory=list)
    #: Whether a value is missing in a column that had all values in ``fit``.
    new_missing: bool = False
    #: If far more levels than expected are not those of ``fit``: their share and one of them, for a warning.
    unseen: str = ""


@final
@dataclass(frozen=True)
class WordRows:
    """Rows of several sparse features each.

    ``pieces`` are those of a CSR matrix: ``indptr``, sorted numbers of words, and their values. ``features`` has the
    feature of each number, ascending.
    """

    pieces: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]
    features: NDArray[np.int32]

    def lengths(self) -> NDArray[np.int64]:
        """Number of entries of each row."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(indptr) for indptr, _, _ in self.pieces)])


@final
@dataclass(frozen=True)
class LevelGroup:
    """The features of one categorical column, or of one part of a date: a row has at most one of them."""

    #: ``occupation``, or ``dteday.month``.
    name: str
    #: Numbers of the features, in the order of the coefficients, and rows of `fit` that have each of them.
    features: NDArray[np.int64]
    counts: NDArray[np.int64]
    #: Number of the feature that most rows have, the first of them in a tie.
    reference: int


@final
@dataclass(frozen=True)
class ColumnFeatures:
    """Features of one column of a table."""

    name: str
    #: Numbers of all of its features, in the order of the coefficients.
    features: NDArray[np.int64]
    groups: list[LevelGroup]
    #: Number of the feature that indicates missing values of a number or date.
    missing: int | None


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

    def dense_names(self) -> list[str]:
        """Names of the dense features."""
        return []

    @abstractmethod
    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""

    @abstractmethod
    def sparse_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features, in any order."""

    @abstractmethod
    def description(self) -> str:
        """Description of the encoding, for people."""

    @abstractmethod
    def state(self, words: NDArray[np.bool_] | None) -> ColumnState:
        """State of the encoder as plain values, arrays and levels.

        Words that name features are kept where ``words``, which has an entry for each sparse feature, is true; all are
        kept if it is None.
        """

    def word_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features that words name."""
        return np.zeros(0, dtype=np.int32)

    def groups(self) -> list[LevelGroup]:
        """Features of which a row has at most one."""
        return []

    def missing_feature(self) -> int | None:
        """Number of the sparse feature that indicates missing values; None if these are a level or there were none."""
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


def all_names(encoders: Sequence[ColumnEncoder]) -> list[str]:
    """Names in the order of the features; a name that occurs again gets a number."""
    dense = [name for encoder in encoders for name in encoder.dense_names()]
    pairs = [pair for encoder in encoders for pair in encoder.sparse_names()]
    order = np.argsort([number for number, _ in pairs], kind="stable")
    names = dense + [pairs[k][1] for k in order.tolist()]
    return names if len(set(names)) == len(names) else _numbered(names)


def _numbered(names: list[str]) -> list[str]:
    """Tell features of the same name apart.

    Examples
    --------
    >>> _numbered(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: Counter[str] = Counter()
    taken, found = set(names), []
    for name in names:
        seen[name] += 1
        shown = name
        while seen[name] > 1 and shown in taken:
            shown = f"{name} ({seen[name]})"
            seen[name] += shown in taken
        taken.add(shown)
        found.append(shown)
    return found
