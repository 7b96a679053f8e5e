"""The coefficients that tend to infinity, and their signs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.least_squares import Direct, Iterative, LeastSquares, is_sparse
from sgdone.diagnose.separability.split import Split, Undecided, split
from sgdone.diagnose.separability.subspaces import Spaces

Array = NDArray[np.float64]

#: Value of `infinite` if directions of both signs separate the same rows.
NOT_DETERMINED = 2
_MOST_ROUNDS = 200
_FEWEST = 500


def signs(design: Design, part: Split, spaces: Spaces, direction: Array, columns: NDArray[np.intp]) -> NDArray[np.int8]:
    """Sign of each u_j over all u in the span of the rows with A_S·u = 0 and A_c·u < 0.

    It is 0 if the projection of e_j onto S⊥ is 0. Otherwise, since these u form a convex cone that is open in S⊥, the
    sign is that of ū_j unless some u with A_c·u ≤ 0 has the opposite one: one feasibility problem per coefficient.

    Parameters
    ----------
    design, part, spaces : Design, Split, Spaces
    direction : array
        ū or any other direction in the cone, in the user's units.
    columns : array of int
        The coefficients to compute.
    """
    rows = np.flatnonzero(part.separable)
    out = np.zeros(columns.size, dtype=np.int8)
    if not rows.size:
        return out
    inside = spaces.free.T @ (direction / design.column_scale)
    margins = design.times(spaces.free @ inside, rows)
    batch = max(_FEWEST, 4 * inside.size)
    chosen = rows if rows.size <= 2 * batch else rows[np.argpartition(-margins, batch)[:batch]]
    G = design.take(chosen) @ spaces.free
    for k, column in enumerate(columns):
        functional = spaces.functionals[column]
        if not functional.any():
            continue
        sign = 1.0 if functional @ inside >= 0.0 else -1.0
        for _ in range(_MOST_ROUNDS):
            other = opposite(G, sign * functional, Direct())
            if other is None:
                out[k] = int(sign)
                break
            images = design.times(spaces.free @ other, rows)
            wrong = np.setdiff1d(rows[images > 0.0], chosen)
            if not wrong.size:
                out[k] = NOT_DETERMINED
                break
            order = np.argsort(-images[np.searchsorted(rows, wrong)])[:batch]
            chosen = np.concatenate([chosen, wrong[order]])
            G = np.vstack([G, design.take(wrong[order]) @ spaces.free])
        else:
            raise Undecided(f"the sign of coefficient {column} was not determined in {_MOST_ROUNDS} rounds")
    return out


def opposite(G: Any, functional: Array, solver: LeastSquares) -> Array | None:
    """Find z with G·z ≤ 0 and functional·z < 0; None if it is proved that there is none.

    Equivalently: whether the functional, added as a row, is separable.
    """
    rows: Any
    if is_sparse(G):
        rows = sparse.csr_array(sparse.vstack([G, sparse.csr_array(functional[None, :])], format="csr"))
    else:
        rows = np.vstack([G, functional])
    part = split(rows, solver)
    return part.direction if part.separable[-1] else None


def signs_large(A: Any, separable: NDArray[np.bool_], direction: Array, columns: NDArray[np.intp]) -> NDArray[np.int8]:
    """Signs by conjugate gradients, for a matrix A in the user's units: a few seconds per coefficient."""
    solver = Iterative()
    moving, fixed = A[np.flatnonzero(separable)], A[np.flatnonzero(~separable)]
    # A_S·u = 0, as two inequalities.
    rows = sparse.csr_array(sparse.vstack([moving, fixed, -fixed], format="csr"))
    out = np.zeros(columns.size, dtype=np.int8)
    for k, column in enumerate(columns):
        functional = np.zeros(A.shape[1])
        functional[column] = 1.0
        functional -= solver.project(A, functional)
        if fixed.shape[0]:
            functional = solver.project(fixed, functional)
        size = float(np.linalg.norm(functional))
        if size <= 1e-7:
            continue
        sign = 1.0 if functional @ direction >= 0.0 else -1.0
        other = opposite(rows, sign * functional / size, solver)
        out[k] = int(sign) if other is None else NOT_DETERMINED
    return out
