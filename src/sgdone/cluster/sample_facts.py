"""Facts about the rows of a summary: weights, labels, groups, and how the columns vary."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.answers import PartitionError
from sgdone.cluster.partition import Partition
from sgdone.cluster.summary_problem import SummaryProblem, rows_of_partition
from sgdone.data.bad_rows import check_rows
from sgdone.data.source import Block
from sgdone.inference.sample import are_whole
from sgdone.sums.columns import ColumnMoments, column_moments, moments_of
from sgdone.sums.pieces import pieces_of
from sgdone.sums.row_sum import message

Array = NDArray[np.float64]


@final
@message
@dataclass(frozen=True)
class SampleFacts:
    """Facts about rows of positive weight.

    Parameters
    ----------
    partition : int
        The first partition that they are of.
    n_dense : int
        Number of dense columns; they come first.
    rows, weight : int, float
        Number of rows, and the sum of their weights.
    has_whole_weights : bool
        Whether all weights are whole numbers.
    first, low, high : ndarray
        The first row, and the least and the largest value of each column.
    moments : ColumnMoments
        Of the columns.
    classes : ndarray
        Weights of the classes; there are none in a regression.
    targets : ColumnMoments or None
        Of the targets of a regression.
    target_squares : float
        Σv·y² of a regression.
    groups : ndarray or None
        Labels of the groups, sorted.
    """

    partition: int
    n_dense: int
    rows: int
    weight: float
    has_whole_weights: bool
    first: Array
    low: Array
    high: Array
    moments: ColumnMoments
    classes: Array
    targets: ColumnMoments | None
    target_squares: float
    groups: NDArray[Any] | None

    def merge(self, other: "SampleFacts") -> "SampleFacts":
        """The facts about the rows of both."""
        if self.n_dense != other.n_dense:
            raise PartitionError(
                f"partition {other.partition} has {other.n_dense} dense columns, partition {self.partition} has "
                f"{self.n_dense}: convert both to the same storage"
            )
        return replace(
            self,
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            has_whole_weights=self.has_whole_weights and other.has_whole_weights,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            moments=self.moments.merge(other.moments),
            classes=self.classes + other.classes,
            targets=None if self.targets is None or other.targets is None else self.targets.merge(other.targets),
            target_squares=self.target_squares + other.target_squares,
            groups=None if self.groups is None or other.groups is None else joined_labels(self.groups, other.groups),
        )

    @property
    def largest(self) -> Array:
        """Largest absolute value of each column."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def joined_labels(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Labels of both, sorted; raise if some are numbers and others are text."""
    if (first.dtype.kind in "OU") != (second.dtype.kind in "OU"):
        raise PartitionError("the groups are numbers in some partitions and text in others: convert them to one type")
    return np.unique(np.concatenate([first, second]))


@final
@message
@dataclass(frozen=True)
class FactsOfRows:
    """Ask for the facts about the rows; the problem is shared, whose units of the sums are not used."""

    def work(self, partition: Partition, *shared: Any) -> SampleFacts | None:
        """Check the rows, and add them up."""
        problem: SummaryProblem = shared[0]
        rows = rows_of_partition(partition, problem)
        block = rows.block
        used = block.all_used().astype(np.intp)
        if not used.size:
            return None
        labels, weights = block.labels[used], block.weights_of(block.all_used())
        low, high = _ranges(block)
        if not np.all(np.isfinite(low) & np.isfinite(high)) or not np.all(np.isfinite(labels)):
            check_rows(block, block.all_used())
        classes, targets, squares = np.empty(0), None, 0.0
        if problem.classes is None:
            targets, squares = moments_of(labels[:, None], weights), float(weights @ labels**2)
        else:
            numbers = (labels > 0 if problem.classes.size == 2 else labels).astype(np.intp)
            classes = np.bincount(numbers, weights, minlength=problem.classes.size).astype(np.float64)
        first = block.rows.whole()[[int(used[0])]]
        return SampleFacts(
            partition.number,
            block.rows.n_dense,
            int(used.size),
            float(weights.sum()),
            are_whole(weights),
            np.asarray(first.toarray() if hasattr(first, "toarray") else first, dtype=np.float64).ravel(),
            low,
            high,
            column_moments(block, weighted=True),
            classes,
            targets,
            squares,
            np.unique(rows.groups[used]) if problem.grouped and rows.groups is not None else None,
        )


def _ranges(block: Block) -> tuple[Array, Array]:
    """The least and the largest value of each column."""
    low, high = np.full(block.rows.n_features, np.inf), np.full(block.rows.n_features, -np.inf)
    for columns, of_columns in block.parts:
        for part, _, _ in pieces_of(of_columns):
            if isinstance(part, np.ndarray):
                least, most = part.min(axis=0), part.max(axis=0)
            else:
                full = np.bincount(part.indices, minlength=part.shape[1]) == part.shape[0]
                least, most = np.where(full, np.inf, 0.0), np.where(full, -np.inf, 0.0)
                np.minimum.at(least, part.indices, part.data)
                np.maximum.at(most, part.indices, part.data)
            low[columns], high[columns] = np.minimum(low[columns], least), np.maximum(high[columns], most)
    return low, high
