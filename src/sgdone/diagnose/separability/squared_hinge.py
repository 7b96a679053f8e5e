"""Minimisation of a squared hinge objective, whose minimum always exists and identifies separable rows.

Let f(w) = ½·Σ (b_i + B_i·w)₊². It is convex, piecewise quadratic and bounded below, so its minimum is attained. With
all b_i = 1 it is zero if B_i·w ≤ −1 for every row: then w separates the rows. If the minimum is not zero, the residuals
q = (1 + B·w)₊ satisfy Bᵀq = 0, q ≥ 0, q ≠ 0: weights which prove (Stiemke's lemma) that no direction separates a row
with q_i > 0. Unlike for logistic regression, w stays finite.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.separability.least_squares import LeastSquares

Array = NDArray[np.float64]

#: A gradient below this fraction of the sum of its terms counts as zero.
_FLAT = 1e-14


@final
@dataclass(frozen=True)
class Minimum:
    """The minimum of the squared hinge objective.

    Attributes
    ----------
    w : array
    residuals : array
        b_i + B_i·w; not positive if the inequality holds.
    steps : int
        Number of Newton steps.
    """

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
) -> Minimum:
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
            return Minimum(w, residuals, step)
        rows = np.flatnonzero(counts)
        active = B if rows.size == n else B[rows]
        now = residuals[rows]
        gradient = np.asarray(active.T @ now)
        norm = float(np.linalg.norm(gradient))
        if norm <= _FLAT * float(np.abs(now).sum()):
            return Minimum(w, residuals, step)
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
            return Minimum(w, residuals, step + 1)
    return Minimum(w, residuals, most_steps)


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
