"""Predictions for the rows that partitions hold out."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.sums.row_sum import RowSum, message

Array = NDArray[np.float64]


@final
@message
@dataclass(frozen=True)
class HeldOutRows:
    """Scores, labels and weights of the rows that are held out.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Linear scores of the model.
    labels : ndarray of shape (n_rows,)
        Classes or targets.
    weights : ndarray of shape (n_rows,) or None
        Sample weights, if there are any.
    """

    scores: Array
    labels: NDArray[Any]
    weights: Array | None

    def merge(self, other: "HeldOutRows") -> "HeldOutRows":
        """The rows of both."""
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.concatenate([self.weights, other.weights])
        return HeldOutRows(
            np.concatenate([self.scores, other.scores]), np.concatenate([self.labels, other.labels]), weights
        )


@final
@message
@dataclass(frozen=True)
class ScoreHeldOutRows(RowSum):
    """Ask for the scores of a model for the rows that are held out; they come in the order of the partitions."""

    in_order: ClassVar[bool] = True

    coef: Array
    intercept: Array

    def of(self, partition: Partition) -> HeldOutRows | None:
        """The scores of these rows."""
        rows = partition.held_out
        if rows is None:
            return None
        if rows.fault:
            raise ValueError(rows.fault)
        if not rows.n_rows:
            return None
        return HeldOutRows(np.asarray(rows.X @ self.coef.T) + self.intercept, rows.y, rows.sample_weight)


def held_out_rows(rounds: Rounds, coef: Array, intercept: Array) -> HeldOutRows | None:
    """The rows that partitions hold out, with their scores, in one round; None if there are none."""
    request = ScoreHeldOutRows(np.atleast_2d(coef).astype(np.float64), np.atleast_1d(intercept).astype(np.float64))
    found: HeldOutRows | None = rounds.sum(request)
    return found
