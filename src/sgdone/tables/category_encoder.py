"""Categories as one feature a level: a growing dictionary up to a limit, hashed beyond."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.kernels.words import make_hash_texts
from sgdone.message_text import counted
from sgdone.tables.column_encoder import (
    ColumnEncoder,
    Entries,
    LevelGroup,
    NewFeatures,
    bucket_lookup,
    feature_numbers,
    level_group,
)
from sgdone.tables.encoder_state import ColumnState
from sgdone.tables.kinds import Column
from sgdone.tables.level_values import LevelValues
from sgdone.tables.string_cells import utf8

_MISSING = "(missing)"


@final
class CategoryEncoder(ColumnEncoder):
    """A column of categories: one feature a level, a gap being a level of its own.

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

    def __init__(self, name: str, max_levels: int, max_bytes: int, n_buckets: int) -> None:
        self.name = name
        self.max_levels, self.max_bytes, self.n_buckets = max_levels, max_bytes, n_buckets
        self.levels = pa.array([], pa.large_string())
        self.is_full = False
        # Features and counts of levels, of buckets, and of gaps.
        self.level_features = np.zeros(0, dtype=np.int32)
        self.level_counts = np.zeros(0, dtype=np.int64)
        self.buckets = np.zeros(0, dtype=np.int32)
        self.bucket_features = np.zeros(0, dtype=np.int32)
        self.bucket_counts = np.zeros(0, dtype=np.int64)
        self.missing: int = -1
        self.missing_count = 0

    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""
        values: LevelValues = column.values
        places = positions(values.levels, self.levels)
        if new is not None:
            counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
            places = self._learn(values, places, counts, new)
        known = places >= 0
        features = np.full(len(places) + 1, -1, dtype=np.int32)  # the last is for gaps: code −1
        features[:-1][known] = self.level_features[places[known]]
        if self.is_full and not known.all():
            table = bucket_lookup(self.buckets, self.bucket_features, self.n_buckets)
            features[:-1][~known] = table[self._bucket(values.levels.filter(pa.array(~known)))]
        features[-1] = self.missing
        return Entries(indicators=[features[values.codes]])

    def _learn(
        self, values: LevelValues, places: NDArray[np.int64], counts: NDArray[np.int64], new: NewFeatures
    ) -> NDArray[np.int64]:
        """Give new levels, buckets and gaps a feature, and count; return the levels' places in the dictionary."""
        unseen = np.flatnonzero(places < 0)
        if not self.is_full and unseen.size:
            kept = unseen[self._that_fit(values.levels.take(pa.array(unseen)), counts[unseen])]
            levels = values.levels.take(pa.array(kept))
            order = pc.sort_indices(levels).to_numpy()
            places[kept[order]] = len(self.levels) + np.arange(kept.size)
            self.levels = pa.concat_arrays([self.levels, levels.take(pa.array(order))])
            self.level_features = np.append(self.level_features, new.take(kept.size))
            self.level_counts = np.append(self.level_counts, np.zeros(kept.size, dtype=np.int64))
        known = places >= 0
        self.level_counts[places[known]] += counts[known]
        if self.is_full and not known.all():
            self._learn_buckets(self._bucket(values.levels.filter(pa.array(~known))), counts[~known], new)
        if values.has_gaps:
            self.missing = int(new.take(1)[0]) if self.missing < 0 else self.missing
            self.missing_count += int(np.count_nonzero(values.codes < 0))
        return places

    def _that_fit(self, levels: Any, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which new levels the dictionary has room for: the most frequent ones, in the order of bytes in a tie."""
        sizes = pc.binary_length(levels).to_numpy()
        room = self.max_bytes - int(pc.sum(pc.binary_length(self.levels)).as_py() or 0)
        if len(self.levels) + len(levels) <= self.max_levels and sizes.sum() <= room:
            return np.arange(len(levels))
        self.is_full = True
        rank = np.empty(len(levels), dtype=np.int64)
        rank[pc.sort_indices(levels).to_numpy()] = np.arange(len(levels))
        order = np.lexsort((rank, -counts))[: self.max_levels - len(self.levels)]
        return order[np.cumsum(sizes[order]) <= room]

    def _bucket(self, levels: Any) -> NDArray[np.int32]:
        hashes = np.empty(len(levels), dtype=np.uint64)
        make_hash_texts("uint8 int64")(*utf8(levels), hashes)
        return (hashes & np.uint64(self.n_buckets - 1)).astype(np.int32)

    def _learn_buckets(self, buckets: NDArray[np.int32], counts: NDArray[np.int64], new: NewFeatures) -> None:
        added = np.setdiff1d(buckets, self.buckets).astype(np.int32)
        self.buckets = np.append(self.buckets, added)
        self.bucket_features = np.append(self.bucket_features, new.take(added.size))
        self.bucket_counts = np.append(self.bucket_counts, np.zeros(added.size, dtype=np.int64))
        place = bucket_lookup(self.buckets, np.arange(self.buckets.size), self.n_buckets)
        np.add.at(self.bucket_counts, place[buckets], counts)

    def dense_names(self) -> list[str]:
        """Names of the dense features."""
        return []

    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""
        for feature, level in zip(self.level_features.tolist(), self.levels.to_pylist(), strict=True):
            yield feature, f"{self.name}={level!r}" if level == _MISSING else f"{self.name}={level}"
        for feature, bucket in zip(self.bucket_features.tolist(), self.buckets.tolist(), strict=True):
            yield feature, f"{self.name}=(bucket {bucket})"
        if self.missing >= 0:
            yield self.missing, f"{self.name}={_MISSING}"

    def description(self) -> str:
        """What the column became, for people."""
        parts = [counted(len(self.levels), "level")]
        if self.is_full:
            parts.append(f"others hashed into {counted(self.buckets.size, 'bucket')}")
        return ", ".join(parts + (["gaps are a level"] if self.missing >= 0 else []))

    def groups(self) -> list[LevelGroup]:
        """Features of which a row has at most one."""
        gaps = ([self.missing], [self.missing_count]) if self.missing >= 0 else ([], [])
        features = np.concatenate([self.level_features, self.bucket_features, np.array(gaps[0], dtype=np.int32)])
        counts = np.concatenate([self.level_counts, self.bucket_counts, np.array(gaps[1], dtype=np.int64)])
        return [level_group(self.name, features, counts)] if features.size else []

    def state(self, words: bool) -> ColumnState:
        """What has been learnt, as plain values, arrays and levels."""
        values = {name: getattr(self, name) for name in _VALUES}
        return ColumnState(values, {name: getattr(self, name) for name in _ARRAYS}, self.levels)

    @classmethod
    def from_state(cls, name: str, state: ColumnState) -> "CategoryEncoder":
        """The encoder with this state."""
        made = cls(name, state.integer("max_levels", 1), state.integer("max_bytes", 1), state.integer("n_buckets", 1))
        made.is_full = bool(state.values["is_full"])
        made.missing, made.missing_count = state.integer("missing", -1), state.integer("missing_count")
        made.levels = pa.array([], pa.large_string()) if state.levels is None else state.levels
        made.level_features, made.level_counts = _features_and_counts(state, "level")
        made.bucket_features, made.bucket_counts = _features_and_counts(state, "bucket")
        made.buckets = state.array("buckets", np.int32)
        sizes = len(made.levels), made.level_features.size, made.level_counts.size
        buckets = made.buckets.size, made.bucket_features.size, made.bucket_counts.size
        if len(set(sizes)) > 1 or len(set(buckets)) > 1:
            raise ValueError(f"levels, features and counts of column {name!r} differ in number")
        if made.buckets.size and not 0 <= made.buckets.min() <= made.buckets.max() < made.n_buckets:
            raise ValueError(f"column {name!r} has buckets out of range")
        return made


_VALUES = ("max_levels", "max_bytes", "n_buckets", "is_full", "missing", "missing_count")
_ARRAYS = ("level_features", "level_counts", "buckets", "bucket_features", "bucket_counts")


def _features_and_counts(state: ColumnState, what: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    return feature_numbers(state, f"{what}_features"), state.array(f"{what}_counts", np.int64)


def positions(levels: Any, known: Any) -> NDArray[np.int64]:
    """Where each level is in the dictionary ``known``; −1 if it is not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> positions(pa.array(["b", "x"], pa.large_string()), pa.array(["a", "b"], pa.large_string()))
    array([ 1, -1])
    """
    found: NDArray[np.int64] = pc.index_in(levels, value_set=known).fill_null(-1).to_numpy().astype(np.int64)
    return found
