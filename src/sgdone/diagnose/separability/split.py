"""Partition of the rows of a matrix into separable rows and others, with a proof for both.

The proof of overlap is a vector of weights q > 0 with Bᵀq = 0. If B·u ≤ 0, then 0 = qᵀB·u is a sum of non-positive
terms. So B·u = 0 on the weighted rows, and on every row in their span (Stiemke's lemma, the easy half).
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from sgdone.diagnose.separability.least_squares import Direct, LeastSquares, is_sparse, minimise

Array = NDArray[np.float64]

#: Weights are corrected only if every weight keeps at least this fraction of its value.
SLACK = 0.05
_ROUNDS = 6
_BALANCED = 1e-13
#: Relative tolerance of the conjugate gradients in each round.
_EACH_ROUND = 1e-4


def refine_weights(B: Any, q: Array, solver: LeastSquares) -> tuple[Array | None, Array]:
    """Correct approximate weights to satisfy Bᵀq = 0: q(1 − B·p) does, with Q = diag(q) and BᵀQB·p = Bᵀq.

    Returns
    -------
    weights, share : arrays
        q(1 − B·p), and B·p, the relative correction of each weight. The weights are None if a correction is so large
        that they would not be positive. The correction is repeated to remove rounding errors.

    Examples
    --------
    >>> from sgdone.diagnose.separability.least_squares import Direct
    >>> refine_weights(np.array([[1.0], [-2.0], [1.0]]), np.array([1.0, 1.2, 1.0]), Direct())[0].round(3)
    array([1.059, 1.059, 1.059])
    """
    first = np.zeros(q.size)
    for attempt in range(_ROUNDS):
        if imbalance(B, q) <= _BALANCED:
            break
        root = np.sqrt(q)
        # Weighted least squares; its normal equations are those of the docstring.
        share = np.asarray(B @ solver.solve(rows_times(root, B), root, tolerance=_EACH_ROUND))
        first = share if attempt == 0 else first
        if float(share.max()) > 1.0 - SLACK:
            return None, share
        q = q * (1.0 - share)
    return q, first


def extend_weights(B: Any, q: Array, target: Array, solver: LeastSquares) -> tuple[Array, float] | None:
    """Extend weights to other rows in the span of the weighted rows.

    Parameters
    ----------
    B, q : matrix and array
        Rows with weights q > 0, Bᵀq = 0.
    target : array
        The sum of the other rows.
    solver : LeastSquares

    Returns
    -------
    q, amount : array and float
        New weights q > 0 with Bᵀq + amount·target = 0, amount > 0; None if ``target`` is not in the span.

    Examples
    --------
    >>> from sgdone.diagnose.separability.least_squares import Direct
    >>> q, amount = extend_weights(np.array([[1.0], [-1.0]]), np.ones(2), np.array([3.0]), Direct())
    >>> q.round(3), round(amount, 3)
    (array([0.5, 1.5]), 0.333)
    """
    root = np.sqrt(q)
    rows = rows_times(root, B)
    change = np.zeros(q.size)
    for _ in range(_ROUNDS):
        left = target + np.asarray(B.T @ change)
        if float(np.abs(left).max(initial=0.0)) <= 1e-12 * float(np.abs(target).max(initial=0.0)):
            break
        change = change - root * solver.combine(rows, left)
    if float(np.abs(B.T @ change + target).max(initial=0.0)) > 1e-8 * float(np.abs(target).max(initial=0.0)):
        return None
    falling = change < 0.0
    amount = 0.5 * float((q[falling] / -change[falling]).min(initial=2.0 * float(q.mean())))
    q = q + amount * change
    for _ in range(_ROUNDS):
        q = q - root * solver.combine(rows, np.asarray(B.T @ q) + amount * target)
    return (q, amount) if (q > 0.0).all() else None


def imbalance(B: Any, q: Array) -> float:
    """Largest |Σ q_i·B_ij| / Σ q_i·|B_ij| over the columns."""
    sums = np.abs(np.asarray(B.T @ q))
    sizes = np.asarray(abs(B).T @ q)
    return float(np.divide(sums, sizes, out=np.zeros(sums.size), where=sizes > 0.0).max(initial=0.0))


def rows_times(factors: Array, B: Any) -> Any:
    """Multiply each row of B, dense or sparse, by a factor."""
    return sparse.diags_array(factors).tocsr() @ B if is_sparse(B) else factors[:, None] * B


Mask = NDArray[np.bool_]

#: |B_i·u| up to this fraction of Σ_j |u_j| counts as zero (the entries of B are at most 1).
TOLERANCE = 1e-9
#: Residuals below this fraction of the largest are left for the next round: tiny weights are ill-conditioned.
_CLEAR = 1e-3
_MOST_DROPS = 50
#: Undecided rows with 1 + B_i·w below this count as separated.
_SATISFIED = 0.9
_PROBES = 2
_FIRST_STEPS = 12
_MOST_STEPS = 500
#: Largest number of entries of a dense part of a sparse matrix.
_MOST_DENSE = 20_000_000
#: Largest number of entries of the linear program, and its time limit in seconds.
_MOST_ENTRIES = 3_000_000
_SECONDS = 120.0


class Undecided(ValueError):  # noqa: N818 - a possible result, not a fault of the program
    """Raised if neither separation nor overlap could be proved; the message says why."""


@final
@dataclass(frozen=True)
class ProvedPartition:
    """Ji and Telgarsky (2018), Theorem 3.1: the partition of the rows of B, with a proof for both parts.

    Attributes
    ----------
    separable : mask
        The rows A_c.
    direction : array
        u with B·u < 0 on separable rows and B·u = 0 on the others.
    weights : array
        q with q = 0 on separable rows, q > 0 on the others and Bᵀq = 0.
    """

    separable: Mask
    direction: Array
    weights: Array


def split(B: Any, solver: LeastSquares, start: Array | None = None) -> ProvedPartition:
    """Split the rows of B.

    In each round the squared hinge is minimised over the undecided rows, with B·u = 0 on the rows known not to be
    separable. If the minimum is zero, all undecided rows are separable. If not, its residuals prove that some rows are
    not separable, and with them all rows in their span. There are at most rank(B) rounds. If rounding errors prevent a
    proof, a linear program is solved.
    """
    try:
        return _by_hinge(B, solver, start)
    except Undecided:
        return _by_program(B, solver)


def _by_hinge(B: Any, solver: LeastSquares, start: Array | None) -> ProvedPartition:
    fixed, weights = np.zeros(B.shape[0], dtype=bool), np.zeros(B.shape[0])
    steps, made = _FIRST_STEPS, 0
    while made < _MOST_STEPS:
        fixed, weights = _with_rows_in_span(B, fixed, weights, solver)
        if fixed.all():
            return ProvedPartition(~fixed, np.zeros(B.shape[1]), weights)
        direction = _by_free_columns(B, fixed) if not solver.direct else None
        if direction is not None:
            return ProvedPartition(~fixed, direction, weights)
        while made < _MOST_STEPS:
            at = minimise(
                B,
                solver,
                offsets=np.where(fixed, 0.0, 1.0),
                equal=fixed,
                start=start,
                satisfied=_SATISFIED,
                most_steps=steps,
            )
            start, made = at.w, made + max(1, at.steps)
            residuals = np.where(fixed, 0.0, np.maximum(at.residuals, 0.0))
            if residuals.max() < 0.5 * (1.0 + _SATISFIED):
                direction = at.w if not fixed.any() else solver.project(B[np.flatnonzero(fixed)], at.w)
                if separates(np.asarray(B @ direction), direction, ~fixed):
                    return ProvedPartition(~fixed, _cleaned(B, direction, ~fixed), weights)
            grown = _joined_weights(B, weights, residuals, np.where(fixed, at.residuals, 0.0), solver)
            if grown is not None:
                fixed, weights = grown > 0.0, grown
                break
            steps *= 2
    raise Undecided(f"no proof was found in {made} Newton steps")


def _joined_weights(B: Any, weights: Array, fresh: Array, old: Array, solver: LeastSquares) -> Array | None:
    """Join weights of old and new rows: at the minimum Bᵀ(fresh + old) = 0, and Bᵀ·weights = 0 already."""
    ratios = np.divide(-old, weights, out=np.zeros(old.size), where=weights > 0.0)
    total = old + (1.0 + 2.0 * float(ratios.max(initial=0.0))) * weights
    fresh = np.where(fresh > _CLEAR * fresh.max(), fresh, 0.0)
    for _ in range(_MOST_DROPS):
        grown = total + fresh
        rows = np.flatnonzero(grown)
        exact, share = refine_weights(B[rows], grown[rows], solver)
        if exact is not None:
            grown[rows] = exact
            return grown
        # Short of the exact minimum, some separable rows have residuals too: drop them.
        fresh[rows[share > 1.0 - SLACK]] = 0.0
        if not fresh.any():
            break
    return None


def _with_rows_in_span(B: Any, fixed: Mask, weights: Array, solver: LeastSquares) -> tuple[Mask, Array]:
    """Add the rows in the span of the fixed rows (at first, rows of zeros) to the fixed rows.

    With probability 1, a random direction orthogonal to the fixed rows is orthogonal to no row outside their span.
    """
    moved = np.zeros(B.shape[0], dtype=bool)
    rng = np.random.default_rng(0)
    base = B[np.flatnonzero(fixed)]
    for _ in range(_PROBES):
        probe = rng.standard_normal(B.shape[1])
        still = solver.project(base, probe) if fixed.any() else probe
        moved |= np.abs(np.asarray(B @ still)) > TOLERANCE * np.sqrt(probe.size)
    extra = ~moved & ~fixed
    if not extra.any():
        return fixed, weights
    if not fixed.any():
        return extra, extra.astype(np.float64)
    grown = extend_weights(base, weights[fixed], np.asarray(B.T @ extra.astype(np.float64)), solver)
    if grown is None:
        raise Undecided("no positive weights were found for rows in the span of others")
    weights = np.where(extra, grown[1], 0.0)
    weights[fixed] = grown[0]
    return fixed | extra, weights


def _by_free_columns(B: Any, fixed: Mask) -> Array | None:
    """Separate all undecided rows by the columns that are 0 in all fixed rows, usually few rare features."""
    fixed_rows, open_rows = B[np.flatnonzero(fixed)], B[np.flatnonzero(~fixed)]
    used = np.asarray(abs(fixed_rows).sum(axis=0)).ravel() > 0.0
    here = np.asarray(abs(open_rows).sum(axis=0)).ravel() > 0.0
    free = np.flatnonzero(here & ~used)
    if not fixed.any() or not free.size or free.size * open_rows.shape[0] > _MOST_DENSE:
        return None
    part = open_rows[:, free]
    inner = _by_hinge(part.toarray() if hasattr(part, "toarray") else part, Direct(), None)
    if not inner.separable.all():
        return None
    direction = np.zeros(B.shape[1])
    direction[free] = inner.direction
    return direction


def _by_program(B: Any, solver: LeastSquares) -> ProvedPartition:
    direction, weights = separate_by_program(B)
    fixed = weights > 0.0
    rows = np.flatnonzero(fixed)
    if rows.size:
        exact, _ = refine_weights(B[rows], weights[rows], solver)
        if exact is None:
            raise Undecided("the multipliers of the linear program do not satisfy Bᵀq = 0")
        weights[rows] = exact
        direction = solver.project(B[rows], direction)
    if not separates(np.asarray(B @ direction), direction, ~fixed):
        raise Undecided("some rows are separated by less than the tolerance, or not at all")
    return ProvedPartition(~fixed, _cleaned(B, direction, ~fixed), weights)


def separates(margins: Array, direction: Array, separable: Mask) -> bool:
    """Whether B·u is negative on the separable rows and zero on the others, up to the tolerance."""
    size = TOLERANCE * float(np.abs(direction).sum())
    return bool(
        margins[separable].max(initial=-np.inf) < -size and np.abs(margins[~separable]).max(initial=0.0) <= size
    )


def _cleaned(B: Any, direction: Array, separable: Mask) -> Array:
    """The direction with rounding errors set to 0, if it still separates the same rows."""
    clean = np.where(np.abs(direction) > 1e-12 * np.abs(direction).max(initial=0.0), direction, 0.0)
    return clean if separates(np.asarray(B @ clean), clean, separable) else direction


def separate_by_program(B: Any) -> tuple[Array, Array]:
    """Maximise Σ s_i subject to B·u + s ≤ 0, 0 ≤ s ≤ 1, with HiGHS: the largest set of rows one direction separates.

    Since u is unbounded, each s_i is 0 or 1 at the maximum, and 1 for every row that any direction separates. The
    multipliers of B·u + s ≤ 0 are weights q ≥ 0 with Bᵀq = 0 and q_i ≥ 1 where s_i = 0.

    Returns
    -------
    direction, weights : arrays
        B·u ≤ 0, with −1 or less on separable rows; q, zero on separable rows.

    Examples
    --------
    >>> u, q = separate_by_program(np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, -1.0]]))
    >>> u[1] >= 1.0, q.round(6).tolist()
    (np.True_, [1.0, 1.0, 0.0])
    """
    n, width = B.shape
    entries = B.nnz if is_sparse(B) else n * width
    if entries > _MOST_ENTRIES:
        raise Undecided(f"the remaining problem is too large for a linear program: {n:,} rows, {entries:,} entries")
    program: Any = linprog(  # type: ignore[call-overload]  # the stubs lack sparse matrices
        np.concatenate([np.zeros(width), -np.ones(n)]),
        A_ub=sparse.hstack([sparse.csc_array(B), sparse.eye_array(n, format="csc")], format="csc"),
        b_ub=np.zeros(n),
        bounds=np.concatenate([np.tile([-np.inf, np.inf], (width, 1)), np.tile([0.0, 1.0], (n, 1))]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": _SECONDS},
    )
    if program.status != 0:
        raise Undecided(f"the linear program with {n:,} rows was not solved: {program.message}")
    separable = program.x[width:] > 0.5
    weights = np.where(separable, 0.0, -program.ineqlin.marginals)
    return program.x[:width], np.maximum(weights, 0.0)
