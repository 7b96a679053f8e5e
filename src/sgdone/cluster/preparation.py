"""Preparation of partitions that were read from files, before a fit."""

from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cluster.partition import Partition
from sgdone.losses.learning_task import Task
from sgdone.matrices.row_hash import row_hashes
from sgdone.matrices.stacking import widened
from sgdone.readers.row_places import places_among
from sgdone.rows.label_kinds import as_classes
from sgdone.sums.row_sum import message


@final
@message
@dataclass(frozen=True)
class Preparation:
    """Labels as the task needs them, the same number of columns everywhere, and rows held out for scores.

    Parameters
    ----------
    task : {"classification", "regression"}
        Labels that are whole numbers become integers in classification.
    n_columns : int or None
        Number of columns of sparse rows: parts of svmlight files have as many as their largest index. None leaves them.
    share : float
        Share of the rows that are held out.
    key : int
        Draws them by a hash of their features: the same rows however they are cut into partitions, with all copies.

    Examples
    --------
    >>> rows = Partition(0, np.arange(1000.0)[:, None], np.ones(1000))
    >>> made = Preparation("classification", None, 0.1, 2**61).prepared(rows)
    >>> made.n_rows, made.held_out.n_rows, made.y.dtype.kind
    (909, 91, 'i')
    """

    task: Task
    n_columns: int | None
    share: float
    key: int

    def prepared(self, partition: Partition) -> Partition:
        """The rows to train on, with those that are held out."""
        if partition.fault:
            return partition
        X = partition.X
        if self.n_columns is not None and not partition.is_table:
            X = widened(X, self.n_columns)
        y = as_classes(partition.y) if self.task == "classification" else partition.y
        whole = Partition(partition.number, X, y, partition.sample_weight)
        whole.place = partition.place
        made = whole
        if self.share:
            chosen = row_hashes(X, self.key) < np.uint64(self.share * 2.0**64)
            made = _some(whole, ~chosen)
            made.held_out = _some(whole, chosen)
        made.unlabelled = partition.unlabelled
        return made


def _some(partition: Partition, rows: NDArray[np.bool_]) -> Partition:
    """The rows that are marked."""
    X = partition.X.filter(pa.array(rows)) if partition.is_table else partition.X[np.flatnonzero(rows)]
    weights = None if partition.sample_weight is None else partition.sample_weight[rows]
    made = Partition(partition.number, X, partition.y[rows], weights)
    made.place = None if partition.place is None else places_among(partition.place, np.flatnonzero(rows))
    return made
