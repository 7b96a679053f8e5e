"""Facts about the levels of the columns of a table: which occur, alone and together, merged over partitions."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.label_coding import ClassWeights, LabelCoding
from sgdone.cluster.partition import Partition
from sgdone.inference.level_facts import LevelFacts, LevelMap, LevelsOfRows
from sgdone.sums.row_sum import RowSum, message

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@final
@message
@dataclass(frozen=True)
class LevelSums(LevelFacts):
    """Facts about the levels of the rows of partitions; the levels of all divisions are numbered through.

    Parameters
    ----------
    sizes : ndarray of int
        Number of levels of each division.
    of_levels : ndarray
        Weights of the rows of each level.
    found, mixed : ndarray
        Divisions × levels: attributes of the `LevelMap` of each division by the levels of all others.
    open : ndarray of bool
        Divisions × levels: whether each level is open in the map by each division.
    classes : ndarray of bool
        Levels × classes: whether rows of a level have a class.
    first, same : ndarray
        The first value of each column of numbers, and whether all rows have it.
    numbers : dict
        Values in the levels of a division, by the numbers of column and division; only if each level has one value.
    """

    sizes: NDArray[np.int64]
    of_levels: Array
    found: NDArray[np.int32]
    mixed: Mask
    open: Mask
    classes: Mask
    first: Array
    same: Mask
    numbers: dict[tuple[int, int], Array]

    @classmethod
    def of(cls, facts: LevelsOfRows, n_classes: int) -> "LevelSums":
        """All facts about rows."""
        divisions = range(len(facts.weights))
        sizes = np.array([own.size for own in facts.weights], dtype=np.int64)
        places, total = _places(sizes), int(sizes.sum())
        shape = sizes.size, total
        found, mixed, open_ = np.full(shape, -1, np.int32), np.zeros(shape, bool), np.zeros(shape, bool)
        for of in divisions:
            for by in divisions:
                own = facts.map(of, by)
                found[of, places[by]], mixed[of, places[by]], open_[by, places[of]] = own.found, own.mixed, own.open
        columns = range(facts.n_dense)
        values = {(j, k): facts.values(j, k) for j in columns for k in divisions}
        return cls(
            sizes,
            np.concatenate([*facts.weights, np.empty(0)]),
            found,
            mixed,
            open_,
            np.concatenate([np.zeros((0, n_classes), bool), *(facts.has_class(k, n_classes) for k in divisions)]),
            np.array([facts.column(j)[0] for j in columns], dtype=np.float64),
            np.array([facts.is_constant(j) for j in columns], dtype=bool),
            {pair: own for pair, own in values.items() if own is not None},
        )

    def merge(self, other: "LevelSums") -> "LevelSums":
        """The facts about the rows of both."""
        found = np.where(self.found >= 0, self.found, other.found)
        apart = (self.found >= 0) & (other.found >= 0) & (self.found != other.found)
        mixed, open_ = self.mixed | other.mixed | apart, self.open | other.open
        starts, division = np.cumsum(self.sizes) - self.sizes, np.repeat(np.arange(self.sizes.size), self.sizes)
        for own in (self.found, other.found):
            of, level = np.nonzero(mixed & (own >= 0))
            open_[division[level], starts[of] + own[of, level]] = True
        found[mixed] = -1
        both = (
            (pair, _joined(own, other.numbers[pair])) for pair, own in self.numbers.items() if pair in other.numbers
        )
        return LevelSums(
            self.sizes,
            self.of_levels + other.of_levels,
            found,
            mixed,
            open_,
            self.classes | other.classes,
            self.first,
            self.same & other.same & (self.first == other.first),
            {pair: own for pair, own in both if own is not None},
        )

    @property
    def weights(self) -> list[Array]:
        """Weights of the rows of each level, for each division."""
        return [self.of_levels[place] for place in _places(self.sizes)]

    @property
    def n_dense(self) -> int:
        """Number of columns of numbers."""
        return int(self.first.size)

    def map(self, of: int, by: int) -> LevelMap:
        """The levels of division ``of`` in each level of division ``by``."""
        places = _places(self.sizes)
        found = self.found[of, places[by]].astype(np.intp)
        return LevelMap(found, self.mixed[of, places[by]], self.open[by, places[of]])

    def n_classes(self, division: int) -> NDArray[np.intp]:
        """Number of classes among the rows of each level."""
        return np.asarray(self.classes[_places(self.sizes)[division]].sum(axis=1))

    def is_constant(self, column: int) -> bool:
        """Whether a column of numbers has one value in all rows."""
        return bool(self.same[column])

    def values(self, column: int, division: int) -> Array | None:
        """The value of a column of numbers in each level; None if a level has several."""
        return self.numbers.get((column, division))


def _places(sizes: NDArray[np.int64]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes.tolist(), strict=True)]


def _joined(first: Array, second: Array) -> Array | None:
    """Values in levels from either side, NaN where unknown; None if they differ."""
    if np.any((first != second) & ~np.isnan(first) & ~np.isnan(second)):
        return None
    return np.where(np.isnan(first), second, first)


@final
@message
@dataclass(frozen=True)
class LevelsOfPartition(RowSum):
    """Ask for facts about the levels of the rows.

    Parameters
    ----------
    classes : ndarray or None
        The classes; None in a regression.
    class_weights : ClassWeights or None
        Their weights, if they have any.
    features : list of ndarray
        The features of each division.
    """

    classes: NDArray[Any] | None
    class_weights: ClassWeights | None
    features: list[NDArray[np.int64]]

    def of(self, partition: Partition) -> LevelSums | None:
        """The facts about these rows."""
        weight = partition.weights(self.class_weights)
        if weight is not None and not np.any(weight > 0):
            return None
        numbers, count = None, 0
        if self.classes is not None:
            labels, count = LabelCoding(self.classes).labels(partition.y), self.classes.size
            numbers = (labels > 0 if count == 2 else labels).astype(np.intp)
        return LevelSums.of(LevelsOfRows(partition.X, self.features, numbers, weight), count)
