"""One step of Newton's method on sums of a loss and a quadratic penalty."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from sgdone.sums.second_order import SecondOrder

Array = NDArray[np.float64]

#: Eigenvalues below this share of the largest are taken for 0: along such directions the loss does not change.
_FLAT = 1e-12


@final
@dataclass(frozen=True)
class Curved:
    """Loss, gradient and curvature of Σvℓ + ½Σλw² at a model, the curvature factorised.

    Parameters
    ----------
    value : float
        The objective.
    gradient : ndarray
        Its gradient, (features + 1) × outputs.
    factor : tuple
        Cholesky factor of the curvature, or its eigenvalues and eigenvectors where it is singular.
    """

    value: float
    gradient: Array
    factor: tuple[Array, Array | bool]

    @classmethod
    def of(cls, sums: SecondOrder, model: Array, penalties: Array, *, softmax: bool) -> "Curved":
        """Add a penalty λ per row of the model, 0 for that of the intercepts.

        A softmax does not depend on a constant added to all intercepts: their sum is kept at 0.
        """
        width, outputs = model.shape
        value = sums.loss + 0.5 * float((penalties[:, None] * model * model).sum())
        gradient = sums.gradient + penalties[:, None] * model
        curvature = sums.curvature.copy()
        curvature[np.diag_indices(width * outputs)] += np.tile(penalties, outputs)
        if softmax:
            intercepts = np.arange(1, outputs + 1) * width - 1
            curvature[np.ix_(intercepts, intercepts)] += max(1.0, sums.weight) / outputs
        return cls(value, gradient, _factorised(curvature))

    def solve(self, right: Array) -> Array:
        """H⁻¹ times columns; along flat directions 0."""
        factor, other = self.factor
        if isinstance(other, np.ndarray):
            inverse = np.divide(1.0, factor, out=np.zeros_like(factor), where=factor > _FLAT * factor.max())
            return np.asarray(other @ (inverse[:, None] * (other.T @ right.reshape(len(other), -1)))).reshape(right.shape)
        return np.asarray(cho_solve((factor, other), right, check_finite=False))

    @property
    def direction(self) -> Array:
        """−H⁻¹g, shaped like the model."""
        found = self.solve(-self.gradient.T.ravel())
        return found.reshape(self.gradient.shape[::-1]).T

    def decrement(self, direction: Array) -> float:
        """gᵀH⁻¹g/2: to second order, by how much the objective exceeds its minimum."""
        return max(0.0, -0.5 * float((self.gradient * direction).sum()))


def _factorised(curvature: Array) -> tuple[Array, Array | bool]:
    try:
        return cho_factor(curvature, lower=True, check_finite=False)
    except LinAlgError:
        values, vectors = eigh(curvature, check_finite=False)
        return values, vectors
