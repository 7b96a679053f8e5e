"""The maximum-margin direction of the separable rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.optimize import nnls

from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.least_squares import Iterative
from sgdone.diagnose.separability.split import Split, Undecided
from sgdone.diagnose.separability.squared_hinge import minimise
from sgdone.diagnose.separability.subspaces import Spaces

Array = NDArray[np.float64]

#: Relative violation of the margin that is allowed.
_CLOSE = 1e-10
#: Singular values below this fraction of the largest are rounding errors.
_ROUNDING = 1e-15
_MOST_ROUNDS = 200
_FEWEST = 500
_MOST_PENALTIES = 60


def max_margin_direction(design: Design, part: Split, spaces: Spaces) -> tuple[Array, float]:
    """Compute ū and γ of Ji and Telgarsky (2018), Theorem 3.1: max γ with A_c·u ≤ −γ, A_S·u = 0, ‖u‖ = 1.

    The shortest u with A_c·u ≤ −1 in S⊥ is γ⁻¹·ū. This least-distance problem is equivalent to non-negative least
    squares (Lawson and Hanson 1974, chapter 23), which terminates at the exact solution. Violated constraints are added
    in rounds.

    Returns
    -------
    direction, margin : array and float
        In the user's units; the intercept last.
    """
    rows = np.flatnonzero(part.separable)
    known = design.column_scale * part.direction
    margins = design.times(part.direction, rows) / design.row_scale[rows]
    size = float(np.linalg.norm(known)) / -float(margins.max())
    batch = max(_FEWEST, 4 * spaces.weak.shape[1])
    chosen = rows if rows.size <= 2 * batch else rows[np.argpartition(-margins, batch)[:batch]]
    for _ in range(_MOST_ROUNDS):
        G = -(design.take(chosen) / design.row_scale[chosen, None] / design.column_scale) @ spaces.weak
        u = np.where(spaces.moving, spaces.weak @ (size * _shortest(size * G)), 0.0)
        margins = design.times(u / design.column_scale, rows) / design.row_scale[rows]
        inside = margins > -1.0 + _CLOSE
        fresh = np.setdiff1d(rows[inside], chosen)
        if not fresh.size:
            length = float(np.linalg.norm(u))
            if inside.any() or not length > 0.0:
                raise Undecided("the maximum margin is below rounding errors: column scales differ too much")
            return u / length, -float(margins.max()) / length
        order = np.argsort(-margins[np.searchsorted(rows, fresh)])
        chosen = np.union1d(chosen, fresh[order[:batch]])
    raise Undecided(f"the maximum margin was not found in {_MOST_ROUNDS} rounds")


def _shortest(G: Array) -> Array:
    """The shortest z with G·z ≥ 1; G is scaled so that ‖z‖ is at most about 1."""
    sizes = np.linalg.norm(G, axis=1)
    E = np.vstack([(G / sizes[:, None]).T, 1.0 / sizes])
    right = np.zeros(E.shape[0])
    right[-1] = 1.0
    dual, _ = nnls(E, right, maxiter=100 * E.shape[1])
    residual = E @ dual - right
    z: Array = -residual[:-1] / residual[-1]
    tight = np.flatnonzero(dual > 0.0)
    # Solve again from the active constraints, without the cancellation in the residual.
    polished = linalg.lstsq(G[tight], np.ones(tight.size), cond=_ROUNDING, check_finite=False)[0]
    return polished if (G @ polished).min() >= (G @ z).min() - 1e-9 else z


def max_margin_direction_large(
    A: Any, separable: NDArray[np.bool_], start: Array, tolerance: float = 1e-6
) -> tuple[Array, float]:
    """Compute ū and γ by augmented Lagrangians, for a matrix A too large for orthonormal bases.

    Parameters
    ----------
    A : CSR matrix
        In the user's units.
    separable : mask
    start : array
        A direction with A_c·u < 0, A_S·u = 0.
    tolerance : float
        Relative gap between the norm found and a lower bound of it.
    """
    width, solver = A.shape[1], Iterative()
    equal = np.append(~separable, np.ones(width, dtype=bool))
    u = start / -float((A @ start)[separable].max())
    penalty = 1.0 / float(u @ u)
    multipliers = np.zeros(A.shape[0])
    for _ in range(_MOST_PENALTIES):
        ridge = sparse.eye_array(width, format="csr") * np.sqrt(1.0 / penalty)
        stacked = sparse.csr_array(sparse.vstack([A, ridge], format="csr"))
        offsets = np.concatenate([np.where(separable, 1.0, 0.0) + multipliers / penalty, np.zeros(width)])
        at = minimise(stacked, solver, offsets=offsets, equal=equal, start=u)
        u = at.w
        images = np.asarray(A @ u)
        moved = penalty * at.residuals[: A.shape[0]]
        multipliers = np.where(separable, np.maximum(moved, 0.0), moved)
        # Duality: ‖u‖² ≥ 2·Σ q − ‖Aᵀq‖² for every q ≥ 0 on A_c. ‖Π_⊥u‖ scaled to margin 1 is an upper bound.
        lower = 2.0 * float(multipliers[separable].sum()) - float(np.sum((A.T @ multipliers) ** 2))
        inside = solver.project(A[np.flatnonzero(~separable)], u) if not separable.all() else u
        margin = -float(np.asarray(A @ inside)[separable].max())
        if (
            margin > 0.0
            and lower > 0.0
            and float(np.linalg.norm(inside)) / margin <= (1.0 + tolerance) * np.sqrt(lower)
        ):
            break
        if float(np.maximum(np.where(separable, 1.0 + images, np.abs(images)), 0.0).max()) > 1e-3 * tolerance:
            penalty *= 3.0
    else:
        raise Undecided(f"the maximum margin was not found to a relative tolerance of {tolerance:g}")
    length = float(np.linalg.norm(inside))
    return inside / length, margin / length
