"""Scores of predictions summed over partitions, and scores of the rows that are held out."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.sums.row_sum import RowSum, merged_pair, message
from sgdone.sums.units import ColumnMoments, moments_of

Array = NDArray[np.float64]


@final
@message
@dataclass(frozen=True)
class HeldOutRows:
    """Linear scores (rows × outputs), labels and weights of the rows that are held out."""

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


@final
@message
@dataclass(frozen=True)
class ScoreSums:
    """Weights of rows, of those predicted right, squared errors, and moments of the targets of a regression."""

    weight: float
    right: float
    squares: float
    targets: ColumnMoments | None

    def merge(self, other: "ScoreSums") -> "ScoreSums":
        """The sums over the rows of both."""
        targets = merged_pair(self.targets, other.targets)
        return ScoreSums(self.weight + other.weight, self.right + other.right, self.squares + other.squares, targets)

    @property
    def score(self) -> float:
        """Accuracy, or R² of a regression as `sklearn.metrics.r2_score` defines it."""
        if self.targets is None:
            return self.right / self.weight
        spread = float(self.targets.squares[0])
        if spread == 0.0:
            return 1.0 if self.squares == 0.0 else 0.0
        return 1.0 - self.squares / spread


def score_sums(model: Any, partition: Partition) -> ScoreSums:
    """Sums for the score of a fitted estimator on the rows of a partition."""
    weights = np.ones(partition.n_rows) if partition.sample_weight is None else partition.sample_weight
    found = model.predict(partition.X)
    if hasattr(model, "classes_"):
        right = float(weights @ (found == partition.y))
        return ScoreSums(float(weights.sum()), right, 0.0, None)
    targets = np.ascontiguousarray(partition.y, dtype=np.float64)
    squares = float(weights @ (targets - found) ** 2)
    return ScoreSums(float(weights.sum()), 0.0, squares, moments_of(targets[:, None], weights))
