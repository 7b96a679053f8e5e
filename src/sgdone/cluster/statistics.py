"""The first round: columns, labels and weights of each partition, merged into one set of units and classes."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.messages import PartitionError
from sgdone.cluster.partition import ClassWeights, Partition
from sgdone.cluster.rounds import Rounds
from sgdone.fit.labels import class_weight_values
from sgdone.losses.learning_task import Task
from sgdone.matrices.mixed_matrix import arrays_of
from sgdone.message_text import RowError, shortened
from sgdone.readers.table import reads_as_number
from sgdone.rows.faults import check_labels
from sgdone.rows.rows import Block, check_rows
from sgdone.sums.row_sum import RowSum, merged_pair, message
from sgdone.sums.units import ColumnMoments, EntryMoments, Units, column_moments, entry_moments, moments_of, roles_of

Array = NDArray[np.float64]

#: Values whose squares have all their digits, and sums of squares that may be those of smaller ones.
_SMALL, _SMALL_SQUARES = 1e-145, 1e-280

_KINDS = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "O": "text"}


@final
@message
@dataclass(frozen=True)
class LabelSums:
    """Classes and their weights or, in regression, moments of the targets."""

    classes: NDArray[Any] | None
    weights: Array
    moments: ColumnMoments | None

    @classmethod
    def of(cls, y: NDArray[Any], weights: Array, task: Task) -> "LabelSums":
        """Labels of rows of positive weight; raise for labels that cannot be used."""
        if task == "regression":
            targets = np.ascontiguousarray(y, dtype=np.float64)
            return cls(None, np.empty(0), moments_of(targets[:, None], weights))
        classes, numbers = np.unique(y, return_inverse=True)
        of_classes = np.bincount(numbers.reshape(-1), weights, minlength=classes.size)
        return cls(classes, of_classes.astype(np.float64), None)

    def merge(self, other: "LabelSums") -> "LabelSums":
        """The labels of both."""
        if self.moments is not None and other.moments is not None:
            return replace(self, moments=self.moments.merge(other.moments))
        assert self.classes is not None
        assert other.classes is not None
        classes = np.unique(np.concatenate([self.classes, other.classes]))
        weights = np.zeros(classes.size)
        weights[np.searchsorted(classes, self.classes)] += self.weights
        weights[np.searchsorted(classes, other.classes)] += other.weights
        return replace(self, classes=classes, weights=weights)

    def class_weights(self, class_weight: Any) -> ClassWeights:
        """The weights that the user gives to these classes."""
        assert self.classes is not None
        return ClassWeights(self.classes, class_weight_values(class_weight, self.classes, self.weights))

    @property
    def kind(self) -> str:
        """Kind of the labels, as text."""
        return "targets" if self.classes is None else _KINDS.get(self.classes.dtype.kind, str(self.classes.dtype))


@final
@message
@dataclass(frozen=True)
class RowStatistics:
    """Sums over rows of positive weight that describe the columns and labels of a fit."""

    #: Number of the first partition.
    partition: int
    rows: int
    weight: float
    #: Number of dense columns, which come first; roles and names of all.
    n_dense: int
    roles: NDArray[np.int32]
    names: list[str] | None
    dense: ColumnMoments | None
    entries: EntryMoments | None
    labels: LabelSums
    #: Digest of the rows, their labels and weights; empty if it is not needed.
    digest: str = ""

    def merge(self, other: "RowStatistics") -> "RowStatistics":
        """The statistics of the rows of both; raise if their columns or labels differ in kind."""
        _check_same(self, other)
        return replace(
            self,
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            dense=merged_pair(self.dense, other.dense),
            entries=merged_pair(self.entries, other.entries),
            labels=self.labels.merge(other.labels),
            digest=_digest_of(self.digest.encode(), other.digest.encode()) if self.digest else "",
        )

    def units(self, *, fit_intercept: bool) -> Units:
        """Units of the columns, as those of a fit on one machine (`sgdone.sums.units.Units.of_all_rows`)."""
        centred = fit_intercept and self.dense is not None
        means, squares, counts = np.zeros(self.n_dense), np.zeros(self.roles.size), np.zeros(self.roles.size)
        if self.dense is not None:
            squares[: self.n_dense] = self.dense.squares
            if centred:
                means = self.dense.means
            else:
                squares[: self.n_dense] += self.dense.rows * self.dense.means**2
        if self.entries is not None:
            squares[self.n_dense :], counts[self.n_dense :] = self.entries.squares, self.entries.counts
        return Units.of_sums(self.n_dense, centred, self.roles, self.rows, self.weight, means, squares, counts)


@final
@message
@dataclass(frozen=True)
class Statistics(RowSum):
    """Ask for the statistics of the rows."""

    identifies_rows: ClassVar[bool] = True

    task: Task
    class_weights: ClassWeights | None = None
    #: Whether to compute a digest of the rows, to find later whether they have changed.
    digest: bool = False

    def of(self, partition: Partition) -> RowStatistics:
        """Check the rows, and add them up."""
        if self.task == "classification":
            check_labels(partition.y)
            block = partition.block_of(np.zeros(partition.n_rows), self.class_weights)
        else:
            block = partition.block_of(_targets(partition.y))
        used, rows = block.all_used(), block.rows
        weights = block.weights_of(used)
        dense: ColumnMoments | None = None
        entries: EntryMoments | None = None
        for _, part in block.parts:
            if part.rows.is_sparse:
                entries = entry_moments(part)
            else:
                dense = column_moments(part, weighted=True)
        _check_finite(block, dense, entries)
        _check_not_tiny(block, dense, entries)
        labels = LabelSums.of(partition.y[used.astype(np.intp)], weights, self.task)
        return RowStatistics(
            partition.number,
            block.n_used,
            float(weights.sum()),
            rows.n_dense,
            roles_of(rows),
            partition.names,
            dense,
            entries,
            labels,
            _digest(partition) if self.digest else "",
        )


def _digest(partition: Partition) -> str:
    """A digest of features, labels and weights, row by row in their order."""
    weight = partition.sample_weight
    labels = partition.y.astype(str) if partition.y.dtype == object else partition.y
    parts = [labels, *([] if weight is None else [weight]), *arrays_of(partition.X)]
    return _digest_of(*(np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts if part.size))


def _digest_of(*parts: Any) -> str:
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _targets(y: NDArray[Any]) -> Array:
    """Labels as numbers."""
    try:
        return np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        labels = y.tolist()
        row = next((row for row, label in enumerate(labels) if not reads_as_number(str(label))), 0)
        raise RowError("the label of ", row, f" is {shortened(labels[row])}: a regression needs numbers") from None


def _check_finite(block: Block, dense: ColumnMoments | None, entries: EntryMoments | None) -> None:
    """Raise for the first row that has NaN, infinity or values whose squares overflow."""
    found = [moments.squares for moments in (dense, entries) if moments is not None]
    if not all(np.isfinite(squares.sum()) for squares in found):
        block.rows.check_indices()
        check_rows(block, block.all_used())
        raise ValueError("the squares of a column overflow when they are added up: scale the features")


def _check_not_tiny(block: Block, dense: ColumnMoments | None, entries: EntryMoments | None) -> None:
    """Raise for a column whose values are so small that their squares underflow."""
    for columns, part in block.parts:
        moments = entries if part.rows.is_sparse else dense
        assert moments is not None
        centres = 0.0 if part.rows.is_sparse else dense.means if dense is not None else 0.0
        small = np.flatnonzero((moments.squares < _SMALL_SQUARES) & (np.abs(centres) < _SMALL))
        if not small.size:
            continue
        values = abs(part.rows.whole()[:, small])
        largest = np.asarray(values.max(axis=0).todense() if hasattr(values, "todense") else values.max(axis=0)).ravel()
        for place in np.flatnonzero((largest > 0) & (largest < _SMALL)).tolist():
            column = int(np.arange(block.rows.n_features)[columns][small[place]])
            raise ValueError(
                f"column {column} of X holds no value above {largest[place]:.2g}, and the squares of its values "
                "underflow: multiply it by a large number"
            )


def _check_same(first: RowStatistics, second: RowStatistics) -> None:
    here, there = f"partition {second.partition}", f"partition {first.partition}"
    if first.roles.size != second.roles.size:
        raise PartitionError(
            f"{here} has {second.roles.size} columns, {there} has {first.roles.size}: all need the same columns"
        )
    if first.n_dense != second.n_dense or not np.array_equal(first.roles, second.roles):
        raise PartitionError(
            f"{here} has {second.n_dense} dense columns, {there} has {first.n_dense}: convert both to the same storage"
        )
    if first.names != second.names:
        known = list(zip(first.names or [], second.names or [], strict=False))
        wrong = next((k for k, (one, other) in enumerate(known) if one != other), 0)
        shown = [None if names is None else names[wrong] for names in (second.names, first.names)]
        raise PartitionError(
            f"{here} has the column {shown[0]!r} at place {wrong}, {there} has {shown[1]!r}: all need the same columns"
        )
    _check_kinds(first, second)


def _check_kinds(first: "RowStatistics | RowFacts", second: "RowStatistics | RowFacts") -> None:
    if first.labels.kind != second.labels.kind:
        raise PartitionError(
            f"partition {second.partition} has labels that are {second.labels.kind}, those of partition "
            f"{first.partition} are {first.labels.kind}: convert all labels to one type"
        )


#: Distinct numbers among the labels that are kept: more are targets, or more classes than can be listed.
_MOST_NUMBERS = 10_000


@final
@message
@dataclass(frozen=True)
class RowFacts:
    """Facts about the rows of one or several partitions."""

    #: Number of the first partition.
    partition: int
    #: Number of rows with a label, and of those that were left out because they have none.
    rows: int
    unlabelled: int
    #: Number of columns; for svmlight files, the largest index.
    n_columns: int
    #: The distinct labels, with the number of their rows; of more than 10,000 numbers, the smallest.
    labels: LabelSums
    #: Sum of the labels, if they are numbers.
    total: float

    def merge(self, other: "RowFacts") -> "RowFacts":
        """The facts about the rows of both; raise if their labels differ in kind."""
        _check_kinds(self, other)
        return replace(
            self,
            rows=self.rows + other.rows,
            unlabelled=self.unlabelled + other.unlabelled,
            n_columns=max(self.n_columns, other.n_columns),
            labels=_shortened(self.labels.merge(other.labels)),
            total=self.total + other.total,
        )

    @property
    def values(self) -> NDArray[Any]:
        """The distinct labels, sorted."""
        assert self.labels.classes is not None
        return self.labels.classes


def facts_of_rows(rounds: Rounds) -> RowFacts:
    """Facts about the rows of all partitions, in one round; raise if there are no rows."""
    found: RowFacts | None = rounds.sum(RowFactsSum())
    if found is None:
        raise ValueError("no partition has a row with a label and a positive weight: there is nothing to learn from")
    return found


@final
@message
@dataclass(frozen=True)
class RowFactsSum(RowSum):
    """Ask for facts about the rows."""

    def of(self, partition: Partition) -> RowFacts:
        """Count rows and labels."""
        y = partition.y
        check_labels(y)
        labels = LabelSums.of(y, np.ones(y.size), "classification")
        total = float(y.sum()) if y.dtype.kind in "iuf" else 0.0
        n_columns = int(partition.X.shape[1])
        return RowFacts(partition.number, y.size, partition.unlabelled, n_columns, _shortened(labels), total)


def _shortened(labels: LabelSums) -> LabelSums:
    assert labels.classes is not None
    if labels.classes.size <= _MOST_NUMBERS or labels.classes.dtype.kind not in "iuf":
        return labels
    return replace(labels, classes=labels.classes[:_MOST_NUMBERS], weights=labels.weights[:_MOST_NUMBERS])
