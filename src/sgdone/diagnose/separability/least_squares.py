"""Least squares by dense factorisations, or by conjugate gradients for large matrices."""

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Array = NDArray[np.float64]

#: Singular values below this fraction of the largest count as zero.
RANK_TOLERANCE = 1e-10
#: Largest rows × columns² for an orthogonal factorisation; above, normal equations are used.
_ORTHOGONAL = 10_000_000
#: Added to the diagonal of the normal equations, relative to its largest entry.
_SHIFT = 1e-12
_MOST_ITERATIONS = 2_000
#: Conjugate gradients stop after this many iterations without progress: the rest is rounding error. Fewer once the
#: residual has decreased by a factor of 1e10.
_PATIENCE = 150
_PATIENCE_AT_LAST = 12


def is_sparse(B: Any) -> bool:
    """Whether a matrix is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(B))


class LeastSquares(ABC):
    """Solver of least-squares problems with a matrix B."""

    #: Whether solutions are accurate to rounding, or only to the given tolerance.
    direct: bool

    @abstractmethod
    def solve(self, B: Any, target: Array, tolerance: float = 1e-13, ridge: float = 0.0) -> Array:
        """Find an x that minimises ‖B·x − target‖² + ridge·‖x‖²."""

    @abstractmethod
    def combine(self, B: Any, target: Array) -> Array:
        """Find the x of smallest norm with Bᵀ·x = target, or that minimises ‖Bᵀ·x − target‖ if there is none."""

    @abstractmethod
    def project(self, B: Any, w: Array) -> Array:
        """Project w onto the null space of B."""


@final
class Direct(LeastSquares):
    """Dense factorisations."""

    direct = True

    def solve(self, B: Any, target: Array, tolerance: float = 1e-13, ridge: float = 0.0) -> Array:
        """See `LeastSquares.solve`; by the normal equations if B is large."""
        if ridge or B.shape[0] * B.shape[1] ** 2 > _ORTHOGONAL:
            gram = B.T @ B
            size = max(float(np.diag(gram).max(initial=0.0)), np.finfo(float).tiny)
            gram[np.diag_indices_from(gram)] += max(ridge, _SHIFT * size)
            try:
                factor = linalg.cho_factor(gram, overwrite_a=True, check_finite=False)
                return np.asarray(linalg.cho_solve(factor, B.T @ target, check_finite=False))
            except linalg.LinAlgError:
                pass
        return np.asarray(linalg.lstsq(B, target, cond=RANK_TOLERANCE, lapack_driver="gelsy", check_finite=False)[0])

    def combine(self, B: Any, target: Array) -> Array:
        """See `LeastSquares.combine`."""
        return np.asarray(linalg.lstsq(B.T, target, cond=RANK_TOLERANCE, lapack_driver="gelsy", check_finite=False)[0])

    def project(self, B: Any, w: Array) -> Array:
        """See `LeastSquares.project`; projected twice, because the first leaves a rounding error of the size of w."""
        rows = row_space(B)
        w = w - rows @ (rows.T @ w)
        return np.asarray(w - rows @ (rows.T @ w))


@final
class Iterative(LeastSquares):
    """Conjugate gradients on the normal equations, columns scaled to norm 1."""

    direct = False

    def solve(self, B: Any, target: Array, tolerance: float = 1e-13, ridge: float = 0.0) -> Array:
        """See `LeastSquares.solve`."""
        return _conjugate_gradients(B, B.T @ target, tolerance, ridge)

    def combine(self, B: Any, target: Array) -> Array:
        """See `LeastSquares.combine`."""
        return np.asarray(B @ _conjugate_gradients(B, target, 1e-14, 0.0))

    def project(self, B: Any, w: Array) -> Array:
        """See `LeastSquares.project`."""
        for _ in range(2):
            w = w - _conjugate_gradients(B, B.T @ (B @ w), 1e-14, 0.0)
        return w


def _conjugate_gradients(B: Any, right: Array, tolerance: float, ridge: float) -> Array:
    """Solve (BᵀB + ridge)·x = right to the relative residual ``tolerance``."""
    squares = B.multiply(B).sum(axis=0) if is_sparse(B) else (B * B).sum(axis=0)
    scale = np.asarray(squares).ravel() + ridge
    scale = np.where(scale > 0.0, scale, 1.0)
    transposed = B.T
    x, best = np.zeros(right.size), np.zeros(right.size)
    residual = right.copy()
    scaled = residual / scale
    energy = float(residual @ scaled)
    first = energy
    enough, least, waited = tolerance**2 * energy, energy, 0
    step = scaled
    for _ in range(_MOST_ITERATIONS):
        patience = _PATIENCE if least > 1e-20 * first else _PATIENCE_AT_LAST
        if least <= enough or waited > patience or energy == 0.0:
            break
        image = transposed @ (B @ step) + ridge * step
        bend = float(step @ image)
        if bend <= 0.0:
            break
        x = x + (energy / bend) * step
        residual = residual - (energy / bend) * image
        scaled = residual / scale
        before, energy = energy, float(residual @ scaled)
        step = scaled + (energy / before) * step
        waited += 1
        if energy < least:
            waited = 0 if energy < 0.9 * least else waited
            least, best = energy, x
    # If B is ill-conditioned, the residual increases at first although every iterate is closer to the solution. But if
    # ``right`` is rounding error outside the range of BᵀB, there is no solution.
    return x if least > 1e-2 * first and tolerance > 1e-6 else best


def row_space(B: Array) -> Array:
    """Orthonormal basis of the row space of a dense matrix, as columns."""
    width = B.shape[1]
    if not B.shape[0]:
        return np.zeros((width, 0))
    if B.shape[0] > 2 * width:
        B = np.asarray(linalg.qr(B, mode="r", check_finite=False)[0][:width], dtype=np.float64)
    _, sizes, rows = linalg.svd(B, full_matrices=False, check_finite=False)
    rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum()) if sizes.size and sizes[0] > 0 else 0
    return np.asarray(rows[:rank].T)
