"""An objective in the units of its sums, and models in these units and back in the user's.

A model of the sums has one column of coefficients per output, the intercepts last. A softmax of K scores does not
depend on a constant added to all of them: its models have K − 1 columns u, with scores zQᵀ for an orthonormal basis Q
of the contrasts. Coefficients and intercepts of the K classes then sum to 0, and their norm is that of u.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from sgdone.interfaces.objective import Model, Objective
from sgdone.rows.rows import Scaling
from sgdone.sums.row_span import RowSpan

Array = NDArray[np.float64]


@lru_cache(maxsize=16)
def contrasts(objective: Objective) -> Array | None:
    """Q, classes × (classes − 1), whose columns are orthonormal and sum to 0; None unless the loss is a softmax.

    Examples
    --------
    >>> from sgdone.losses import Logistic
    >>> contrasts(Objective.of_classes(Logistic(), 3)).round(3).T
    array([[ 0.707, -0.707,  0.   ],
           [ 0.408,  0.408, -0.816]])
    """
    return np.ascontiguousarray(helmert(objective.n_outputs).T) if objective.predicts == "softmax" else None


@final
@dataclass(frozen=True)
class System:
    """The objective Σvℓ + ½Σλw² of rows x̃ = (x − shift)/scale.

    Parameters
    ----------
    objective : Objective
        The loss, the intercept and the outputs; the penalty of the sums is given apart, see `penalties`.
    scaling : Scaling
        Units of the columns; infinite for columns whose coefficients are 0.
    span : RowSpan, optional
        Coordinates of the rows in their span, if the models are of these.

    Examples
    --------
    >>> from sgdone.losses import Squared
    >>> system = System(Objective(Squared(), predicts="target"), Scaling(np.array([2.0, np.inf]), np.array([1.0, 5.0])))
    >>> system.to_user(np.array([[4.0], [0.0], [3.0]]))
    Model(coef=array([[2., 0.]]), intercept=array([1.]))
    >>> system.penalties(0.1)
    array([0.1, inf, 0. ])
    """

    objective: Objective
    scaling: Scaling
    span: RowSpan | None = None

    @property
    def n_features(self) -> int:
        """Number of features, or of coordinates."""
        return int(self.scaling.scale.size) if self.span is None else self.span.pieces.n_features

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a model: features and the intercept, and free outputs."""
        return self.n_features + 1, self.objective.n_free_outputs

    @property
    def n_coefficients(self) -> int:
        """Coefficients and intercepts of a model."""
        return self.shape[0] * self.shape[1]

    def penalties(self, strength: float | Array) -> Array:
        """λ of each row of a model: ``strength``, or one per feature; 0 for the intercepts, infinite for a fixed 0.

        Constant columns have no coefficients, and there may be no intercept.
        """
        found = np.empty(self.shape[0])
        found[:-1] = strength
        if self.span is None:
            found[:-1][~np.isfinite(self.scaling.scale)] = np.inf
        found[-1] = 0.0 if self.objective.fit_intercept else np.inf
        return found

    def constant(self, scores: Array) -> Array:
        """The model that predicts the same for all rows: one score for each output."""
        model, basis = np.zeros(self.shape), contrasts(self.objective)
        model[-1] = scores if basis is None else scores @ basis
        return model

    def from_user(self, coef: NDArray[Any], intercept: Array) -> Array:
        """A model in the user's units, outputs × features, in those of the sums."""
        basis = contrasts(self.objective)
        model = np.vstack(self.scaling.from_user(coef.astype(np.float64, copy=False), intercept))
        return model if basis is None else model @ basis

    def of_features(self, model: Array) -> Array:
        """Model of the features, also if the model is in coordinates of the span."""
        return model if self.span is None else self.span.model(model)

    def to_user(self, model: Array, dtype: Any = np.float64) -> Model:
        """A model of the sums in the user's units; its coefficients are of type ``dtype``."""
        basis = contrasts(self.objective)
        model = self.of_features(model)
        model = model if basis is None else model @ basis.T
        coef, intercept = self.scaling.to_user(model[:-1], model[-1])
        return Model(coef.astype(dtype, copy=False), np.ascontiguousarray(intercept))
