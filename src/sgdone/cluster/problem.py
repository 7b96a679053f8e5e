"""What is fitted: the objective, the classes and the units of the columns, the same for all partitions."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.messages import message
from sgdone.data.rows import Scaling
from sgdone.estimators.labels import encode_known, signs
from sgdone.interfaces.objective import Objective

Array = NDArray[np.float64]


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
    """

    objective: Objective
    classes: NDArray[Any] | None
    scaling: Scaling

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

    def penalties(self, strength: float) -> Array:
        """λ of each row of a model: infinite for constant columns, 0 for the intercept."""
        found = np.full(self.n_features + 1, strength)
        found[:-1][~np.isfinite(self.scaling.scale)] = np.inf
        found[-1] = 0.0 if self.objective.fit_intercept else np.inf
        return found
