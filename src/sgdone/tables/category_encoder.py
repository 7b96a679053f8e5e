"""Encoding of categories: one indicator per frequent level."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.kernels.words import hash_texts
from sgdone.message_text import counted, shortened
from sgdone.tables.cell_values import LevelValues
from sgdone.tables.column_encoder import (
    BucketTable,
    ColumnEncoder,
    ColumnState,
    Entries,
    LevelGroup,
    NewFeatures,
    StateFields,
    bucket_count,
    bucket_lookup,
    feature_numbers,
    level_group,
)
from sgdone.tables.kinds import Column
from sgdone.tables.string_cells import arrow_of, numpy_of, utf8


@final
class LevelIndex:
    """A dictionary of levels that is made once, for rows that have few of them.

    Arrow's look-up reads all levels of the dictionary: for one row and 100,000 levels that is all the time of a
    prediction.
    """

    def __init__(self, known: Any) -> None:
        self.known = known
        hashes = hashes_of(known)
        self._places = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._places]
        self._is_unique = not np.any(self._hashes[1:] == self._hashes[:-1])

    def positions(self, levels: Any) -> NDArray[np.int64]:
        """Index of each level in the dictionary; −1 if it is not there."""
        if not (self._is_unique and self._hashes.size):
            return positions(levels, self.known)
        asked = hashes_of(levels)
        at = np.minimum(np.searchsorted(self._hashes, asked), self._hashes.size - 1)
        # Another level may have the same hash.
        same: NDArray[np.bool_] = numpy_of(pc.equal(self.known.take(self._places[at]), levels))
        return np.where(same, self._places[at], -1)


def positions(levels: Any, known: Any) -> NDArray[np.int64]:
    """Index of each level in the dictionary ``known``; −1 if it is not there."""
    found: NDArray[np.int64] = numpy_of(pc.index_in(levels, value_set=known).fill_null(-1)).astype(np.int64)
    return found


def hashes_of(levels: Any) -> NDArray[np.uint64]:
    """A hash of each string."""
    hashes = np.empty(len(levels), dtype=np.uint64)
    hash_texts(*utf8(levels), hashes)
    return hashes


_MISSING = "(missing)"
#: Levels in the dictionary, for each level of some rows, from which on an index of all of them is worth making.
_FEW = 64
#: Cells that are expected to have a level of ``fit`` before anything is concluded from their number: with thirty, fewer
#: than half of them turn up once in a thousand tables of the same kind.
_LEAST_KNOWN = 30


@final
class CategoryEncoder(ColumnEncoder):
    """A column of categories: one feature for each level, of which missing values are one.

    Levels are numbered in the order of their UTF-8 bytes, those of later calls after those of earlier ones. A level
    that training rows do not have has no feature. Beyond ``max_levels`` levels or ``max_bytes`` bytes of levels in the
    dictionary, the others share ``n_buckets`` buckets by their hash, of which those that occur become features: the
    rarest of one call, and all new ones of later calls. Of such a column a new level may share a feature with others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sgdone.tables.kinds import settle
    >>> encoder = CategoryEncoder("c", max_levels=100, max_bytes=10_000, n_buckets=16)
    >>> column = pa.chunked_array([pa.array(["b", "a", None], pa.large_string())])
    >>> encoder.encode(settle("c", column), NewFeatures(0)).indicators
    [array([1, 0, 2], dtype=int32)]
    >>> [name for _, name in encoder.sparse_names()]
    ['c=a', 'c=b', 'c=(missing)']
    """

    fields = StateFields(
        {
            "max_levels": np.int64,
            "max_bytes": np.int64,
            "n_buckets": np.int64,
            "is_full": np.bool_,
            "missing": np.int32,
            "missing_count": np.int64,
        },
        {
            "level_features": np.int32,
            "level_counts": np.int64,
            "buckets": np.int32,
            "bucket_features": np.int32,
            "bucket_counts": np.int64,
        },
        has_levels=True,
    )

    def __init__(self, name: str, max_levels: int, max_bytes: int, n_buckets: int) -> None:
        self.name = name
        self.max_levels, self.max_bytes, self.n_buckets = max_levels, max_bytes, n_buckets
        self.levels = pa.array([], pa.large_string())
        self.is_full = False
        # Features and counts of levels, of buckets, and of missing values.
        self.level_features = np.zeros(0, dtype=np.int32)
        self.level_counts = np.zeros(0, dtype=np.int64)
        self.buckets = np.zeros(0, dtype=np.int32)
        self.bucket_features = np.zeros(0, dtype=np.int32)
        self.bucket_counts = np.zeros(0, dtype=np.int64)
        self.missing: int = -1
        self.missing_count = 0
        self._index: LevelIndex | None = None
        self._buckets = BucketTable()

    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""
        values: LevelValues = column.values
        places = self._positions(values.levels)
        if new is not None:
            counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
            places = self._learn(values, places, counts, new)
        known = places >= 0
        features = np.full(len(places) + 1, -1, dtype=np.int32)  # the last is for missing values: code −1
        features[:-1][known] = self.level_features[places[known]]
        if self.is_full and not known.all():
            table = self._buckets.of(self.buckets, self.bucket_features, self.n_buckets)
            features[:-1][~known] = table[self._bucket(values.levels.filter(pa.array(~known)))]
        features[-1] = self.missing
        unseen = "" if new is not None or known.all() else self._unseen(values, features[:-1] < 0)
        return Entries(indicators=[features[values.codes]], unseen=unseen)

    def _unseen(self, values: LevelValues, unseen: NDArray[np.bool_]) -> str:
        """Share of the cells whose level ``fit`` has not seen, and one of them; empty if no more than expected.

        By Good (1953) the share of new levels is about that of the training rows whose level occurs once.
        """
        counts = np.bincount(values.codes[values.codes >= 0], minlength=unseen.size)
        cells, known = int(counts.sum()), int(counts[~unseen].sum())
        seen = np.concatenate([self.level_counts, self.bucket_counts])
        expected = cells * (1.0 - np.count_nonzero(seen == 1) / max(1, seen.sum()))
        if expected < _LEAST_KNOWN or known >= expected / 2:
            return ""
        example = values.levels[int(np.argmax(np.where(unseen, counts, -1)))].as_py()
        return f"{100 * (1 - known / cells):.0f} % of {cells:,} cells, such as {shortened(example)}"

    def merge(self, other: "CategoryEncoder", new: NewFeatures) -> None:
        """Add the levels, buckets and missing values that another encoder of the column has met."""
        places = self._positions(other.levels)
        unseen = np.flatnonzero(places < 0)
        if not self.is_full and unseen.size:
            fit = self._that_fit(other.levels.take(arrow_of(unseen)), other.level_counts[unseen])
            self._add_levels(unseen[np.sort(fit)], other.levels, places, new)
        known = places >= 0
        self.level_counts[places[known]] += other.level_counts[known]
        self.is_full |= other.is_full
        if self.is_full:
            left = self._bucket(other.levels.filter(pa.array(~known)))
            buckets = np.concatenate([left, other.buckets]).astype(np.int32)
            self._learn_buckets(buckets, np.concatenate([other.level_counts[~known], other.bucket_counts]), new)
        if other.missing >= 0:
            self.missing = int(new.take(1)[0]) if self.missing < 0 else self.missing
            self.missing_count += other.missing_count

    def _positions(self, levels: Any) -> NDArray[np.int64]:
        """Index of each level in the dictionary; −1 if it is not there."""
        if _FEW * len(levels) > len(self.levels):
            return positions(levels, self.levels)
        if self._index is None or self._index.known is not self.levels:
            self._index = LevelIndex(self.levels)
        return self._index.positions(levels)

    def _learn(
        self, values: LevelValues, places: NDArray[np.int64], counts: NDArray[np.int64], new: NewFeatures
    ) -> NDArray[np.int64]:
        """Give new levels, buckets and missing values a feature, and count; return the places of levels."""
        unseen = np.flatnonzero(places < 0)
        if not self.is_full and unseen.size:
            kept = unseen[self._that_fit(values.levels.take(arrow_of(unseen)), counts[unseen])]
            order = _sorted(values.levels.take(arrow_of(kept)))
            self._add_levels(kept[order], values.levels, places, new)
        known = places >= 0
        self.level_counts[places[known]] += counts[known]
        if self.is_full and not known.all():
            self._learn_buckets(self._bucket(values.levels.filter(pa.array(~known))), counts[~known], new)
        if values.has_missing:
            self.missing = int(new.take(1)[0]) if self.missing < 0 else self.missing
            self.missing_count += int(np.count_nonzero(values.codes < 0))
        return places

    def _add_levels(self, chosen: NDArray[np.int64], levels: Any, places: NDArray[np.int64], new: NewFeatures) -> None:
        """Give chosen levels a feature, in this order, and write down where they are in the dictionary."""
        places[chosen] = len(self.levels) + np.arange(chosen.size)
        self.levels = pa.concat_arrays([self.levels, levels.take(arrow_of(chosen))])
        self.level_features = np.append(self.level_features, new.take(chosen.size))
        self.level_counts = np.append(self.level_counts, np.zeros(chosen.size, dtype=np.int64))

    def _that_fit(self, levels: Any, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Most frequent new levels that the dictionary has room for; ties in the order of bytes."""
        sizes = numpy_of(pc.binary_length(levels))
        room = self.max_bytes - self._size()
        if len(self.levels) + len(levels) <= self.max_levels and sizes.sum() <= room:
            return np.arange(len(levels))
        self.is_full = True
        rank = np.empty(len(levels), dtype=np.int64)
        rank[numpy_of(pc.sort_indices(levels))] = np.arange(len(levels))
        order = np.lexsort((rank, -counts))[: self.max_levels - len(self.levels)]
        return order[np.cumsum(sizes[order]) <= room]

    def _size(self) -> int:
        """Bytes of the levels."""
        return int(pc.sum(pc.binary_length(self.levels)).as_py() or 0)

    def _bucket(self, levels: Any) -> NDArray[np.int32]:
        return (hashes_of(levels) & np.uint64(self.n_buckets - 1)).astype(np.int32)

    def _learn_buckets(self, buckets: NDArray[np.int32], counts: NDArray[np.int64], new: NewFeatures) -> None:
        added = np.setdiff1d(buckets, self.buckets).astype(np.int32)
        self.buckets = np.append(self.buckets, added)
        self.bucket_features = np.append(self.bucket_features, new.take(added.size))
        self.bucket_counts = np.append(self.bucket_counts, np.zeros(added.size, dtype=np.int64))
        place = bucket_lookup(self.buckets, np.arange(self.buckets.size), self.n_buckets)
        np.add.at(self.bucket_counts, place[buckets], counts)

    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""
        for feature, level in zip(self.level_features.tolist(), self.levels.to_pylist(), strict=True):
            yield feature, f"{self.name}={level!r}" if level == _MISSING else f"{self.name}={level}"
        for feature, bucket in zip(self.bucket_features.tolist(), self.buckets.tolist(), strict=True):
            yield feature, f"{self.name}=(bucket {bucket})"
        if self.missing >= 0:
            yield self.missing, f"{self.name}={_MISSING}"

    def sparse_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features, in any order."""
        missing = np.array([] if self.missing < 0 else [self.missing], dtype=np.int32)
        return np.concatenate([self.level_features, self.bucket_features, missing])

    def description(self) -> str:
        """Description of the encoding, for people."""
        parts = [counted(len(self.levels), "level")]
        if self.is_full:
            parts.append(f"others hashed into {counted(self.buckets.size, 'bucket')}")
        return ", ".join(parts + (["missing values are a level"] if self.missing >= 0 else []))

    def groups(self) -> list[LevelGroup]:
        """Features of which a row has at most one."""
        features, missing = self.sparse_numbers(), [] if self.missing < 0 else [self.missing_count]
        counts = np.concatenate([self.level_counts, self.bucket_counts, np.array(missing, dtype=np.int64)])
        return [level_group(self.name, features, counts)] if features.size else []

    def state(self, words: NDArray[np.bool_] | None) -> ColumnState:
        """State of the encoder as plain values, arrays and levels."""
        values = {name: getattr(self, name) for name in self.fields.values}
        return ColumnState(values, {name: getattr(self, name) for name in self.fields.arrays}, self.levels)

    @classmethod
    def from_state(cls, name: str, state: ColumnState) -> "CategoryEncoder":
        """The encoder with this state."""
        made = cls(name, state.integer("max_levels", 1), state.integer("max_bytes", 1), bucket_count(state))
        made.is_full = bool(state.values["is_full"])
        made.missing, made.missing_count = state.integer("missing", -1), state.integer("missing_count")
        made.levels = state.levels
        made.level_features, made.level_counts = feature_numbers(state, "level_features"), state.counts("level_counts")
        made.buckets, made.bucket_counts = feature_numbers(state, "buckets"), state.counts("bucket_counts")
        made.bucket_features = feature_numbers(state, "bucket_features")
        sizes = {len(made.levels), made.level_features.size, made.level_counts.size}
        buckets = {made.buckets.size, made.bucket_features.size, made.bucket_counts.size}
        if len(sizes) > 1 or len(buckets) > 1:
            raise ValueError(f"levels, features and counts of column {name!r} differ in number")
        if made.buckets.size and not (made.is_full and made.buckets.max() < made.n_buckets):
            raise ValueError(f"column {name!r} has buckets out of range")
        if len(made.levels) > made.max_levels or made._size() > made.max_bytes:
            raise ValueError(f"column {name!r} has more levels than it may keep")
        if pc.count_distinct(made.levels).as_py() < len(made.levels):
            raise ValueError(f"column {name!r} has a level twice")
        return made


def _sorted(levels: Any) -> NDArray[np.int64]:
    """The order of levels: of numbers by their size, of others, and of a tie, by their bytes."""
    order: NDArray[np.int64] = numpy_of(pc.sort_indices(levels)).astype(np.int64)
    try:
        numbers = numpy_of(pc.cast(levels, pa.float64()))
    except pa.ArrowInvalid:
        return order
    return order[np.argsort(numbers[order], kind="stable")]
