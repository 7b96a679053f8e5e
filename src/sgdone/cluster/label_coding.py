"""Labels and weights of rows as the sums need them."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.estimators.labels import encode_known, signs
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
class LabelCoding:
    """How labels and sample weights become those of the sums; the same for all partitions.

    Parameters
    ----------
    classes : ndarray or None
        The labels, sorted; None in regression.
    class_weights : ClassWeights or None
        Weights of the classes, if they have any.

    Examples
    --------
    >>> LabelCoding(np.array(["no", "yes"])).labels(np.array(["yes", "no"]))
    array([ 1., -1.])
    """

    classes: NDArray[Any] | None
    class_weights: ClassWeights | None = None

    def labels(self, y: NDArray[Any]) -> Array:
        """Labels as the sums need them: −1 and 1, class numbers, or targets."""
        if self.classes is None:
            return np.ascontiguousarray(y, dtype=np.float64)
        numbers = encode_known(y, self.classes)
        return signs(numbers, 1) if self.classes.size == 2 else numbers.astype(np.float64)

    def is_same(self, other: "LabelCoding") -> bool:
        """Whether rows have the same labels and weights in both."""
        if self is other:
            return True
        mine, theirs = self.class_weights, other.class_weights
        if mine is None or theirs is None:
            same = mine is theirs
        else:
            same = _same(mine.classes, theirs.classes) and _same(mine.values, theirs.values)
        return same and _same(self.classes, other.classes)


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    return first is second if first is None or second is None else np.array_equal(first, second)
