"""What is summarised, and the rows of a partition as the sums of a summary need them."""

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.label_coding import ClassWeights, LabelCoding
from sgdone.cluster.messages import to_bytes
from sgdone.cluster.partition import Partition
from sgdone.cluster.separation_margins import separated_rows
from sgdone.data.rows import Rows, Scaling, frozen
from sgdone.data.source import Block
from sgdone.inference.feature_choice import FeatureChoice
from sgdone.interfaces.objective import Objective
from sgdone.sums.pieces import BlockPieces, Pieces, in_units
from sgdone.sums.row_sum import SHARED, RowSum, message

Array = NDArray[np.float64]

message(FeatureChoice)


@final
@message
@dataclass(frozen=True)
class SummaryProblem:
    """What is summarised; the same for all partitions.

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
    sampling, grouped : bool
        Whether the weights are sampling weights, and whether rows have groups.
    frequency : float
        How many rows a row of weight 1 stands for.
    origin : float
        What is subtracted from the targets.
    units : ndarray
        What the columns are divided by, so that their squares neither overflow nor underflow.
    scaling : Scaling
        Units of the columns in the sums.
    separated : ndarray
        Directions × (features + 1), of two classes: rows on one side of one of them are left out.
    key : str
        Identifies the problem; see `with_key`.
    """

    objective: Objective
    classes: NDArray[Any] | None
    class_weights: ClassWeights | None
    choice: FeatureChoice | None
    names: list[str]
    sampling: bool
    grouped: bool
    frequency: float
    origin: float
    units: Array
    scaling: Scaling
    separated: Array
    key: str = ""

    @classmethod
    def of(
        cls,
        objective: Objective,
        classes: NDArray[Any] | None,
        class_weights: ClassWeights | None,
        choice: FeatureChoice | None,
        names: list[str],
        *,
        sampling: bool,
        grouped: bool,
    ) -> "SummaryProblem":
        """A problem of which the units are not known yet."""
        ones = np.ones(len(names))
        return cls(
            objective,
            classes,
            class_weights,
            choice,
            names,
            sampling,
            grouped,
            1.0,
            0.0,
            ones,
            Scaling(ones),
            np.empty((0, ones.size + 1)),
        ).with_key()

    def with_key(self) -> "SummaryProblem":
        """The problem with a key, by which partitions recognise it in later rounds."""
        return replace(self, key=hashlib.sha256(to_bytes(replace(self, key=""))).hexdigest())


@final
class SummaryRows:
    """The rows of a partition, as the sums of a summary need them.

    Attributes
    ----------
    block : Block
        Rows in the units of the problem, without those that are separated.
    groups : ndarray or None
        The group of each row of the block.
    """

    def __init__(self, partition: Partition, problem: SummaryProblem) -> None:
        labels = LabelCoding(problem.classes).labels(partition.y)
        block = partition.block_of(labels - problem.origin, problem.class_weights)
        matrix = partition.X if problem.choice is None else problem.choice.rows(partition.X)
        if matrix.shape[1] != len(problem.names):
            raise ValueError(f"the rows have {matrix.shape[1]} columns, the model has {len(problem.names)}")
        block = replace(block, rows=Rows.of(matrix, names=problem.names))
        block.rows.check_indices()
        if (problem.units != 1.0).any():
            block = in_units(block, Scaling(problem.units))
        if problem.separated.size:
            away = separated_rows(block, problem.separated)
            block = replace(block, sample_weight=frozen(np.where(away, 0.0, block.sample_weight)))
        self.block: Block = block
        self.groups = partition.groups
        self._problem = problem
        if problem.grouped and self.groups is None:
            raise ValueError("cov='cluster' needs the groups of the rows: give each partition its groups")

    @cached_property
    def pieces(self) -> Pieces:
        """The rows in comparable units."""
        return BlockPieces(self.block, self._problem.scaling, self._problem.frequency)


#: The rows of the last problem of each partition. What is kept never changes a result.
_KEPT: "WeakKeyDictionary[Partition, tuple[str, SummaryRows]]" = WeakKeyDictionary()


def rows_of_partition(partition: Partition, problem: SummaryProblem) -> SummaryRows:
    """The rows of a partition, which are kept for the next round."""
    known = _KEPT.get(partition)
    if known is None or known[0] != problem.key:
        known = _KEPT[partition] = problem.key, SummaryRows(partition, problem)
    return known[1]


@final
@message
@dataclass(frozen=True)
class OfSummary(RowSum):
    """A sum over the rows of a summary: ``request.work(partition, problem)``."""

    request: Any
    problem: SummaryProblem = field(metadata=SHARED)

    @property
    def request_name(self) -> str:
        """That of the class of the sum."""
        return type(self.request).__name__

    def of(self, partition: Partition) -> Any:
        """The sum over these rows."""
        return self.request.work(partition, self.problem)
