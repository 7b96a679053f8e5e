"""What is fitted: the objective, the classes and the units of the columns, the same for all partitions."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Scaling
from sgdone.estimators.labels import encode_known, signs
from sgdone.interfaces.objective import Objective
from sgdone.sums.row_sum import message

Array = NDArray[np.float64]


@final
@message
@dataclass(frozen=True)
class ClassWeights:
    """Weights of classes: ``values[k]`` is that of ``classes[k]``, and other classes have 1."""

    classes: NDArray[Any]
    values: Array

    def of(self, y: NDArray[Any]) -> Array:
        """The weight of each label."""
        found = np.ones(y.size)
        for label, value in zip(self.classes.tolist(), self.values.tolist(), strict=True):
            found[y == label] = value
        return found


@final
@message
@dataclass(frozen=True)
class Problem:
    """The objective of a fit in the units of training.

    Parameters
    ----------
    objective : Objective
        The loss, the intercept and the outputs.
    classes : ndarray or None
        The labels, sorted; None in regression.
    scaling : Scaling
        Units of the columns.
    class_weights : ClassWeights or None
        Weights of the classes, if they have any.
    """

    objective: Objective
    classes: NDArray[Any] | None
    scaling: Scaling
    class_weights: ClassWeights | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.scaling.scale.size)

    @property
    def n_coefficients(self) -> int:
        """Coefficients and intercepts that are free."""
        return (self.n_features + 1) * self.objective.n_free_outputs

    def labels(self, y: NDArray[Any]) -> Array:
        """Labels as training needs them: −1 and 1, class numbers, or targets."""
        if self.classes is None:
            return np.ascontiguousarray(y, dtype=np.float64)
        numbers = encode_known(y, self.classes)
        return signs(numbers, 1) if self.classes.size == 2 else numbers.astype(np.float64)

    def has_same_labels(self, other: "Problem") -> bool:
        """Whether rows have the same labels and weights in both."""
        mine, theirs = self.class_weights, other.class_weights
        if mine is None or theirs is None:
            same = mine is theirs
        else:
            same = _same(mine.classes, theirs.classes) and _same(mine.values, theirs.values)
        return same and _same(self.classes, other.classes)

    def has_same_rows(self, other: "Problem") -> bool:
        """Whether rows have the same labels, weights and units in both."""
        if self is other:
            return True
        scaling, theirs = self.scaling, other.scaling
        units = _same(scaling.scale, theirs.scale) and _same(scaling.shift, theirs.shift)
        return units and self.has_same_labels(other)


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    return first is second if first is None or second is None else np.array_equal(first, second)
