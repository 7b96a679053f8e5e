"""Least squares, by dense factorisations or conjugate gradients, and the squared hinge objective.

Let f(w) = ½·Σ (b_i + B_i·w)₊². It is convex, piecewise quadratic and bounded below, so its minimum is attained. With
all b_i = 1 it is zero if B_i·w ≤ −1 for every row: then w separates the rows. If the minimum is not zero, the residuals
q = (1 + B·w)₊ satisfy Bᵀq = 0, q ≥ 0, q ≠ 0: weights which prove (Stiemke's lemma) that no direction separates a row
with q_i > 0. Unlike for logistic regression, w stays finite.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

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
        """See `LeastSquares.project`."""
        return without_components(w, row_space(B))


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


def without_components(vectors: Array, basis: Array) -> Array:
    """Vectors without their components in the span of orthonormal columns, removed twice because of rounding."""
    for _ in range(2):
        vectors = vectors - basis @ (basis.T @ vectors)
    return vectors


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


#: A gradient below this fraction of the sum of its terms counts as zero.
_FLAT = 1e-14


class HingeMinimum(NamedTuple):
    """Minimum of the squared hinge objective; an inequality holds if its residual b_i + B_i·w is not positive."""

    w: Array
    residuals: Array
    steps: int


def minimise(
    B: Any,
    solver: LeastSquares,
    *,
    offsets: Array,
    equal: NDArray[np.bool_] | None = None,
    start: Array | None = None,
    satisfied: float = 0.0,
    most_steps: int = 200,
) -> HingeMinimum:
    """Minimise ½·Σ (b_i + B_i·w)₊²; rows with ``equal`` set contribute ½(b_i + B_i·w)² for both signs.

    Newton steps on the active rows with exact line search; the method terminates after finitely many steps. It also
    stops when all inequalities hold with b_i + B_i·w ≤ ``satisfied`` and all equalities to 1e-9.
    """
    n, width = B.shape
    equal = np.zeros(n, dtype=bool) if equal is None else equal
    w = np.zeros(width) if start is None else start.copy()
    residuals = offsets + np.asarray(B @ w)
    some_equal = bool(equal.any())
    first_norm = norm = 0.0
    for step in range(most_steps):
        counts = (residuals > 0.0) | equal
        held = not some_equal or float(np.abs(residuals[equal]).max()) <= 1e-9
        if held and float(residuals[~equal].max(initial=-np.inf)) <= satisfied:
            return HingeMinimum(w, residuals, step)
        rows = np.flatnonzero(counts)
        active = B if rows.size == n else B[rows]
        now = residuals[rows]
        gradient = np.asarray(active.T @ now)
        norm = float(np.linalg.norm(gradient))
        if norm <= _FLAT * float(np.abs(now).sum()):
            return HingeMinimum(w, residuals, step)
        first_norm = first_norm or norm
        forcing = min(0.1, np.sqrt(norm / first_norm))
        direction = solver.solve(active, -now, tolerance=max(forcing, 1e-13))
        along = np.asarray(B @ direction)
        length = _search(residuals, along, equal)
        before = 0.5 * float(now @ now)
        w = w + length * direction
        residuals = offsets + np.asarray(B @ w)
        after = residuals[(residuals > 0.0) | equal]
        if 0.5 * float(after @ after) >= before * (1.0 - 1e-15) and step > 0:
            return HingeMinimum(w, residuals, step + 1)
    return HingeMinimum(w, residuals, most_steps)


def _search(residuals: Array, along: Array, equal: NDArray[np.bool_]) -> float:
    """Exact line search: the t ≥ 0 at which the slope, increasing and piecewise linear in t, is zero."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(60):
        at = residuals + t * along
        counts = (at > 0.0) | equal
        moving = along[counts]
        slope, bend = float(at[counts] @ moving), float(moving @ moving)
        if slope > 0.0:
            high = t
        else:
            low = t
        if abs(slope) <= 1e-14 * float(np.abs(at[counts]) @ np.abs(moving)) or high - low <= 1e-14 * t:
            return t
        newton = t - slope / bend if bend > 0.0 else np.inf
        middle = 0.5 * (low + high) if np.isfinite(high) else 2.0 * t
        t = newton if low < newton < high else middle
    return low if low > 0.0 else t
