"""Steps of Newton's method on Σvℓ + ½Σλw²: a direction, and what is left to gain along it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import get_lapack_funcs

from sgdone.sums.second_order import SecondOrder

Array = NDArray[np.float64]

#: Largest number of coefficients whose curvature is factorised: beyond, its memory and its time grow too large.
MOST_FACTORISED = 4096
#: Eigenvalues below this share of the largest are taken for 0: along such directions the loss does not change.
_FLAT = 1e-12
#: The same, as a ratio of the diagonals of a Cholesky factor in single precision.
_FLAT_SINGLE = 1e-3
#: Rows of a matrix whose triangle is copied at once.
_STRIP = 256
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
        Its gradient, (features + 1) × columns of the model.
    penalties : ndarray
        λ of each row of the model; 0 for that of the intercepts, infinite for one that stays 0.
    """

    value: float
    gradient: Array
    penalties: Array

    @classmethod
    def of(cls, sums: SecondOrder, model: Array, penalties: Array) -> "Penalised":
        """Add the penalty to sums over rows."""
        free = np.isfinite(penalties)
        if free.all():
            pull = penalties[:, None] * model
            return cls(sums.loss + 0.5 * float(np.vdot(pull, model)), sums.gradient + pull, penalties)
        pull = np.where(free, penalties, 0.0)[:, None] * model
        gradient = np.where(free[:, None], sums.gradient + pull, 0.0)
        return cls(sums.loss + 0.5 * float(np.vdot(pull, model)), gradient, penalties)

    def decrement(self, direction: Array) -> float:
        """gᵀH⁻¹g/2: to second order, by how much the objective exceeds its minimum."""
        return max(0.0, -0.5 * float(np.vdot(self.gradient, direction)))


@final
@dataclass(frozen=True)
class Factors:
    """H = XᵀDX + λ by its Cholesky factor or, where H is singular, by its eigenvectors."""

    shape: tuple[int, int]
    fixed: NDArray[np.intp]
    cholesky: NDArray[np.floating] | None
    pseudo_inverse: Array

    @classmethod
    def of(cls, curvature: Array, penalties: Array, columns: int, *, single: bool = False) -> "Factors":
        """Factorise; coefficients with an infinite penalty have a row and a column of 0 in the inverse.

        In single precision if ``single``, for preconditioning.
        """
        matrix, free = curvature.copy(), np.isfinite(penalties)
        known = penalties if free.all() else np.where(free, penalties, 0.0)
        matrix.flat[:: len(matrix) + 1] += known if columns == 1 else np.tile(known, columns)
        fixed = np.empty(0, np.intp) if free.all() else np.flatnonzero(np.tile(~free, columns))
        if fixed.size:
            matrix[fixed, :] = matrix[:, fixed] = 0.0
            matrix[fixed, fixed] = 1.0
        shape, nothing = (len(penalties), columns), np.empty(0)
        for dtype in (np.float32, np.float64) if single else (np.float64,):
            # Symmetric: the transpose is the same matrix, in the order that LAPACK wants.
            factor, failed = _lapack("potrf", dtype)(matrix.T.astype(dtype, copy=True), lower=1, clean=0, overwrite_a=1)
            diagonal = np.diagonal(factor)
            flat = np.sqrt(_FLAT) if dtype is np.float64 else _FLAT_SINGLE
            if not failed and diagonal.min() > flat * diagonal.max():
                return cls(shape, fixed, factor, nothing)
        # Units of the columns may differ by any factor: a direction is flat relative to its own columns.
        size = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(np.float64).tiny))
        values, vectors = eigh(matrix / size[:, None] / size, check_finite=False)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > _FLAT * values.max())
        pseudo_inverse = (vectors * inverse) @ vectors.T / size[:, None] / size
        pseudo_inverse[fixed, fixed] = 0.0
        return cls(shape, fixed, None, pseudo_inverse)

    def smallest_pivot(self, curvature: Array) -> float:
        """The least share of a column's curvature that the columns before it leave unexplained; 0 if H is singular."""
        if self.cholesky is None:
            return 0.0
        pivots = np.diagonal(self.cholesky).astype(np.float64) ** 2
        shares = pivots / np.maximum(np.diagonal(curvature), np.finfo(np.float64).tiny)
        shares[self.fixed] = 1.0
        return float(shares.min())

    def solve(self, right: Array) -> Array:
        """H⁻¹ times an array that is shaped like the model."""
        flat = right.T.ravel()
        if self.cholesky is None:
            found = self.pseudo_inverse @ flat
        else:
            found = _lapack("potrs", self.cholesky.dtype)(self.cholesky, flat, lower=1)[0]
        return np.asarray(found, dtype=np.float64).reshape(self.shape[::-1]).T

    def inverse(self) -> Array:
        """H⁻¹."""
        if self.cholesky is None:
            return self.pseudo_inverse
        lower = _lapack("potri", self.cholesky.dtype)(self.cholesky, lower=1)[0]
        found = np.array(lower.T, order="C")
        for first in range(0, len(found), _STRIP):
            # Above the diagonal are the numbers of LAPACK; below it is what was there before.
            strip = slice(first, first + _STRIP)
            found[strip, :first] = found[:first, strip].T
            found[strip, strip] = np.triu(found[strip, strip]) + np.triu(found[strip, strip], 1).T
        found[self.fixed, self.fixed] = 0.0
        return np.asarray(found, dtype=np.float64)


@lru_cache(maxsize=8)
def _lapack(name: str, dtype: Any) -> Any:
    return get_lapack_funcs(name, dtype=dtype)


def direction_by_products(at: Penalised, product: Callable[[Array], Array], diagonal: Array) -> Array:
    """−H⁻¹g by conjugate gradients with products Hu, preconditioned by the diagonal of H."""
    free = np.isfinite(at.penalties)[:, None]
    scale = diagonal + np.where(free, at.penalties[:, None], 0.0)
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=free & (scale > 0))
    return conjugate_gradients(at, product, lambda residual: inverse * residual, _RESIDUAL, _MOST_PRODUCTS)[0]


def conjugate_gradients(
    at: Penalised,
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    residual_wanted: float,
    most_products: int,
) -> tuple[Array, bool]:
    """−H⁻¹g by products of the curvature without the penalty, and whether the residual became small enough.

    ``precondition`` multiplies by an approximate H⁻¹.
    """
    free = np.isfinite(at.penalties)[:, None]
    penalties = np.where(free, at.penalties[:, None], 0.0)
    solution, residual = np.zeros_like(at.gradient), -at.gradient
    towards = precondition(residual)
    first = reduced = float(np.vdot(residual, towards))
    for _ in range(most_products):
        if reduced <= residual_wanted**2 * first:
            return solution, True
        curved = np.where(free, product(towards), 0.0) + penalties * towards
        bent = float(np.vdot(towards, curved))
        if bent <= 0.0:
            return solution, True
        step = reduced / bent
        solution = solution + step * towards
        residual = residual - step * curved
        conditioned = precondition(residual)
        before, reduced = reduced, float(np.vdot(residual, conditioned))
        towards = conditioned + (reduced / before) * towards
    return solution, reduced <= residual_wanted**2 * first
