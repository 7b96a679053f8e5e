"""Facts about rows from files that are needed before a fit: their number, their columns, and their labels."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.answers import PartitionError
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.statistics import LabelSums
from sgdone.rows.label_kinds import check_labels
from sgdone.sums.row_sum import RowSum, message

#: Distinct numbers among the labels that are kept: more are targets, or more classes than can be listed.
_MOST_NUMBERS = 10_000


@final
@message
@dataclass(frozen=True)
class RowFacts:
    """Facts about the rows of one or several partitions.

    Parameters
    ----------
    partition : int
        Number of the first partition.
    rows, unlabelled : int
        Number of rows with a label, and of those that were left out because they have none.
    n_columns : int
        Number of columns; for svmlight files, the largest index.
    labels : LabelSums
        The distinct labels, with the number of their rows; of more than 10,000 numbers, the smallest.
    total : float
        Sum of the labels, if they are numbers.
    """

    partition: int
    rows: int
    unlabelled: int
    n_columns: int
    labels: LabelSums
    total: float

    def merge(self, other: "RowFacts") -> "RowFacts":
        """The facts about the rows of both; raise if their labels differ in kind."""
        if self.labels.kind != other.labels.kind:
            raise PartitionError(
                f"partition {other.partition} has labels that are {other.labels.kind}, those of partition "
                f"{self.partition} are {self.labels.kind}: convert all labels to one type"
            )
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
    """Facts about the rows of all partitions, in one round; raise if there are no rows.

    Examples
    --------
    >>> from sgdone.cluster import LocalEngine
    >>> parts = [Partition(0, [[1.0], [2.0]], ["a", "b"]), Partition(1, [[3.0]], ["c"])]
    >>> facts = facts_of_rows(Rounds(LocalEngine(parts)))
    >>> facts.rows, facts.values.tolist()
    (3, ['a', 'b', 'c'])
    """
    found: RowFacts | None = rounds.sum(AskRowFacts())
    if found is None:
        raise ValueError("no partition has a row with a label and a positive weight: there is nothing to learn from")
    return found


@final
@message
@dataclass(frozen=True)
class AskRowFacts(RowSum):
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
