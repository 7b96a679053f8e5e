"""Steps of Newton's method on Σvℓ + ½Σλw²: a direction, and what is left to gain along it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from sgdone.sums.second_order import SecondOrder

Array = NDArray[np.float64]

#: Eigenvalues below this share of the largest are taken for 0: along such directions the loss does not change.
_FLAT = 1e-12
#: Residual of conjugate gradients, relative to the gradient, and the largest number of products of a step.
_RESIDUAL, _MOST_PRODUCTS = 1e-6, 500


@final
@dataclass(frozen=True)
class Penalised:
    """The objective Σvℓ + ½Σλw² at a model.

    Parameters
    ----------
    value : float
        The objective.
    gradient : ndarray
        Its gradient, (features + 1) × outputs.
    penalties : ndarray
        λ of each row of the model; 0 for that of the intercepts, infinite for one that stays 0.
    """

    value: float
    gradient: Array
    penalties: Array

    @classmethod
    def of(cls, sums: SecondOrder, model: Array, penalties: Array) -> "Penalised":
        """Add the penalty to sums over rows."""
        known = np.where(np.isfinite(penalties), penalties, 0.0)[:, None]
        gradient = np.where(np.isfinite(penalties)[:, None], sums.gradient + known * model, 0.0)
        return cls(sums.loss + 0.5 * float((known * model * model).sum()), gradient, penalties)

    def decrement(self, direction: Array) -> float:
        """gᵀH⁻¹g/2: to second order, by how much the objective exceeds its minimum."""
        return max(0.0, -0.5 * float((self.gradient * direction).sum()))


def direction_by_factors(at: Penalised, curvature: Array, *, softmax: bool) -> Array:
    """−H⁻¹g by a Cholesky factorisation; where H is singular, the shortest solution.

    A softmax does not depend on a constant added to all intercepts: their sum does not change.
    """
    width, outputs = at.gradient.shape
    matrix = curvature.copy()
    matrix[np.diag_indices(len(matrix))] += np.tile(np.where(np.isfinite(at.penalties), at.penalties, 0.0), outputs)
    if softmax:
        intercepts = np.arange(1, outputs + 1) * width - 1
        matrix[np.ix_(intercepts, intercepts)] += max(1.0, float(np.diag(matrix).mean())) / outputs
    fixed = np.flatnonzero(np.tile(~np.isfinite(at.penalties), outputs))
    matrix[fixed, :] = matrix[:, fixed] = 0.0
    matrix[fixed, fixed] = 1.0
    right = -at.gradient.T.ravel()
    try:
        solution = cho_solve(cho_factor(matrix, lower=True, check_finite=False), right, check_finite=False)
    except LinAlgError:
        values, vectors = eigh(matrix, check_finite=False)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > _FLAT * values.max())
        solution = vectors @ (inverse * (vectors.T @ right))
    return np.asarray(solution).reshape(outputs, width).T


def direction_by_products(at: Penalised, product: Callable[[Array], Array], diagonal: Array) -> Array:
    """−H⁻¹g by conjugate gradients with products Hu, preconditioned by the diagonal of H."""
    free = np.isfinite(at.penalties)[:, None]
    penalties = np.where(free, at.penalties[:, None], 0.0)
    scale = diagonal + penalties
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=free & (scale > 0))
    solution, residual = np.zeros_like(at.gradient), -at.gradient
    towards = inverse * residual
    reduced = float((residual * towards).sum())
    first = reduced
    for _ in range(_MOST_PRODUCTS):
        if reduced <= _RESIDUAL**2 * first or reduced == 0.0:
            break
        curved = np.where(free, product(towards), 0.0) + penalties * towards
        bent = float((towards * curved).sum())
        if bent <= 0.0:
            break
        step = reduced / bent
        solution = solution + step * towards
        residual = residual - step * curved
        preconditioned = inverse * residual
        before, reduced = reduced, float((residual * preconditioned).sum())
        towards = preconditioned + (reduced / before) * towards
    return solution
