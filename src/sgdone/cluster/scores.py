"""Scores of predictions, summed over partitions."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sgdone.cluster.partition import Partition
from sgdone.sums.columns import ColumnMoments, moments_of
from sgdone.sums.row_sum import message


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
        targets = None
        if self.targets is not None and other.targets is not None:
            targets = self.targets.merge(other.targets)
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
