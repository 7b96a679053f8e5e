"""Problem of a summary, and the rows of all partitions for its sums."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.answers import PartitionError
from sgdone.cluster.label_coding import ClassWeights, LabelCoding
from sgdone.cluster.messages import to_bytes
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.inference.feature_choice import FeatureChoice
from sgdone.inference.sample_rows import SamplePreparation, SampleRows
from sgdone.interfaces.objective import Objective
from sgdone.rows.rows import Rows
from sgdone.sums.row_sum import SHARED, AroundSum, RowSum, message
from sgdone.sums.second_order import SecondOrder, SecondOrderAt

Array = NDArray[np.float64]

message(FeatureChoice)


@final
@message
@dataclass(frozen=True)
class SummaryProblem:
    """Problem of a summary; the same for all partitions.

    Parameters
    ----------
    objective : Objective
        The loss, without a penalty.
    classes : ndarray or None
        The classes, sorted; None in a regression.
    class_weights : ClassWeights or None
        Their weights, if they have any.
    choice : FeatureChoice or None
        Features of the summary, if they are not those of the partitions.
    names : list of str
        Their names.
    grouped : bool
        Whether rows have groups.
    preparation : SamplePreparation
        Preparation of the rows before they are added up.
    key : str
        Identifies the problem in later rounds.
    """

    objective: Objective
    classes: NDArray[Any] | None
    class_weights: ClassWeights | None
    choice: FeatureChoice | None
    names: list[str]
    grouped: bool
    preparation: SamplePreparation = field(default_factory=SamplePreparation)
    key: str = ""

    def prepared(self, preparation: SamplePreparation) -> "SummaryProblem":
        """The problem with another preparation, and a key by which partitions recognise it."""
        plain = replace(self, preparation=preparation, key="")
        return replace(plain, key=hashlib.sha256(to_bytes(plain)).hexdigest())

    def rows(self, partition: Partition) -> SampleRows:
        """The rows of a partition."""
        block = partition.block_of(LabelCoding(self.classes).labels(partition.y), self.class_weights)
        matrix = partition.X if self.choice is None else self.choice.rows(partition.X)
        if matrix.shape[1] != len(self.names):
            raise ValueError(f"the rows have {matrix.shape[1]} columns, the model has {len(self.names)}")
        block = replace(block, rows=Rows.of(matrix, names=self.names))
        block.rows.check_indices()
        if self.grouped and partition.groups is None:
            raise ValueError("cov='cluster' needs the groups of the rows: give each partition its groups")
        groups = partition.groups if self.grouped else None
        return SampleRows(block, groups, number=partition.number).prepared(self.preparation)


#: Cached rows of the last problem of each partition; the cache never changes a result.
_KEPT: "WeakKeyDictionary[Partition, tuple[str, SampleRows]]" = WeakKeyDictionary()


def rows_of_partition(partition: Partition, problem: SummaryProblem) -> SampleRows:
    """The rows of a partition, which are cached for the next round."""
    known = _KEPT.get(partition)
    if known is None or known[0] != problem.key:
        known = _KEPT[partition] = problem.key, problem.rows(partition)
    return known[1]


@final
@message
@dataclass(frozen=True)
class OfSummary(AroundSum):
    """A sum over the rows of a summary."""

    problem: SummaryProblem = field(metadata=SHARED)

    def of(self, partition: Partition) -> Any:
        """The sum over these rows."""
        return self.request.of(rows_of_partition(partition, self.problem))


@final
class PartitionRows:
    """The rows of all partitions. Each sum is a round; the curvature at the last model is cached.

    Parameters
    ----------
    rounds : Rounds
        Sends the requests.
    problem : SummaryProblem
        The problem of the summary.
    """

    at_hand = None

    def __init__(self, rounds: Rounds, problem: SummaryProblem) -> None:
        self._rounds, self._problem = rounds, problem
        self._last: tuple[SecondOrderAt, SecondOrder] | None = None

    def prepared(self, preparation: SamplePreparation) -> "PartitionRows":
        """The rows, prepared for sums."""
        return PartitionRows(self._rounds, self._problem.prepared(preparation))

    def sum(self, request: RowSum) -> Any:
        """The sum over the rows of all partitions."""
        if not isinstance(request, SecondOrderAt):
            return self._ask(request)
        if self._last is not None and _includes(self._last[0], request):
            return self._last[1]
        found: SecondOrder = self._ask(request)
        if request.curvature == "full":
            self._last = request, found
        return found

    def _ask(self, request: RowSum) -> Any:
        try:
            found = self._rounds.sum(OfSummary(request, self._problem))
        except ValueError as error:
            raise PartitionError(str(error)) from error
        if found is None:
            raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
        return found


def _includes(full: SecondOrderAt, other: SecondOrderAt) -> bool:
    """Whether sums with the curvature also answer another request."""
    mine, theirs = full.system, other.system
    same = mine.objective == theirs.objective and mine.scaling.is_same(theirs.scaling)
    return same and other.curvature in ("full", "none") and np.array_equal(full.model, other.model)
