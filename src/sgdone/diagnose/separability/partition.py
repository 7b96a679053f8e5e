"""Partition of rows into separable rows and others, with a proof for both; of many rows by constraint generation.

The proof of overlap is a vector of weights q > 0 with Bᵀq = 0. If B·u ≤ 0, then 0 = qᵀB·u is a sum of non-positive
terms. So B·u = 0 on the weighted rows, and on every row in their span (Stiemke's lemma, the easy half).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.optimize import linprog

from sgdone.diagnose.separability.design import SignedDesign
from sgdone.diagnose.separability.least_squares import (
    Direct,
    Iterative,
    LeastSquares,
    is_sparse,
    minimise,
    row_space,
    without_components,
)

Array = NDArray[np.float64]

#: Weights are corrected only if every weight keeps at least this fraction of its value.
SLACK = 0.05
_ROUNDS = 6
_BALANCED = 1e-13
#: Relative tolerance of the conjugate gradients in each round.
_EACH_ROUND = 1e-4


def refine_weights(B: Any, q: Array, solver: LeastSquares) -> tuple[Array | None, Array]:
    """Correct approximate weights to satisfy Bᵀq = 0: q(1 − B·p) does, with Q = diag(q) and BᵀQB·p = Bᵀq.

    Returns these weights and B·p, the relative correction of each. The weights are None if a correction is so large
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
    """Extend weights q > 0, Bᵀq = 0, to other rows in the span of B; ``target`` is the sum of the other rows.

    Returns new weights q > 0 and amount > 0 with Bᵀq + amount·target = 0; None if ``target`` is not in the span.

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

    ``separable`` marks the rows A_c. The ``direction`` u has B·u < 0 on these rows and B·u = 0 on the others. The
    ``weights`` q are 0 on these rows and positive on the others, with Bᵀq = 0.
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
    multipliers of B·u + s ≤ 0 are weights q ≥ 0 with Bᵀq = 0 and q_i ≥ 1 where s_i = 0. Returns u and q.

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


_MOST_ROUNDS = 50


def separate_by_one_sign_columns(B: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Separate rows by columns whose entries in the remaining rows all have one sign; repeat until there are none.

    An example is a rare word that occurs in one class only. Each round is one pass over the remaining entries. Returns
    u with B·u < 0 on the separated rows and B·u = 0 on the others, and which rows are separated.

    Examples
    --------
    >>> B = sparse.csr_array([[1.0, -1.0, 0.0], [-1.0, 0.0, 2.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> u, rows = separate_by_one_sign_columns(B)
    >>> u, rows
    (array([ 0.,  1., -1.]), array([ True,  True, False, False]))
    """
    n, width = B.shape
    direction, separated = np.zeros(width), np.zeros(n, dtype=bool)
    rounds: list[tuple[Array, NDArray[np.intp]]] = []
    rows, left = np.arange(n), sparse.csr_array(B)
    for _ in range(_MOST_ROUNDS):
        up = np.bincount(left.indices, weights=left.data > 0.0, minlength=width)
        down = np.bincount(left.indices, weights=left.data < 0.0, minlength=width)
        step = np.where((up > 0) & (down == 0), -1.0, np.where((down > 0) & (up == 0), 1.0, 0.0))
        moved = np.asarray(left @ step) < 0.0
        if not moved.any():
            break
        rounds.append((step, rows[moved]))
        separated[rows[moved]] = True
        rows, left = rows[~moved], left[np.flatnonzero(~moved)]
    # A column of a later round may have the wrong sign on rows of an earlier one: the earlier step must dominate.
    for step, own in reversed(rounds):
        part = sparse.csr_array(B)[own]
        wrong = float((np.asarray(part @ direction) / -np.asarray(part @ step)).max(initial=0.0))
        direction = direction + (1.0 + 2.0 * wrong) * step
    return direction, separated


#: Largest number of columns for dense factorisations.
NARROW = 2_000
_FEWEST = 1_000
_MOST_PASSES = 500
_RANDOM_DIRECTIONS = 2


def partition(design: SignedDesign, start: Array | None = None) -> ProvedPartition:
    """Split the rows of the design.

    ``start`` is a direction of B that is expected to separate many rows, to choose which rows to examine first.
    """
    if design.width <= NARROW:
        batch = max(_FEWEST, 8 * design.width)
        chosen = _first_rows(design, start, batch, np.random.default_rng(0))
        return _whole(design, search(design, chosen, passes=_MOST_PASSES, batch=batch // 2))
    if not design.sparse and design.n_rows <= NARROW:
        return _in_row_space(design)
    return _by_one_sign_columns(design, start)


class FoundPartition(NamedTuple):
    """The rows that are not separable, derived from the ``chosen`` ones and their proved partition."""

    still: Mask
    chosen: NDArray[np.intp]
    part: ProvedPartition


def search(design: SignedDesign, chosen: NDArray[np.intp], *, passes: int, batch: int) -> FoundPartition:
    """Constraint generation: split some rows, find other rows that contradict the result, and add them.

    A row that is not separable among some rows is not separable among all rows, nor is a row in the span of such rows.
    A direction that separates the remaining rows of the sample either separates all other rows too, or finds rows to
    add. Each round is one pass over all rows; the last may need none.
    """
    rng = np.random.default_rng(0)
    start = None
    for made in range(passes + 1):
        part = split(design.take(chosen), Direct(), start)
        held = chosen[~part.separable]
        span = row_space(design.take(held))
        if span.shape[1] == design.width:
            return FoundPartition(np.ones(design.n_rows, dtype=bool), chosen, part)
        if made == passes:
            break
        margins = design.times(part.direction)
        zero = TOLERANCE * np.abs(part.direction).sum()
        if float(margins.max()) > zero:
            moving = np.flatnonzero(np.abs(margins) > zero)
        else:
            still = _in_span(design, span, rng)
            still[held] = True
            moving = np.flatnonzero(~still)
            if not (margins[moving] >= -zero).any():
                return FoundPartition(still, chosen, part)
        # Also add rows with small margins: they are likely to be violated next.
        chosen = np.union1d(chosen, _worst(moving, margins[moving], batch, rng))
        start = part.direction
    raise Undecided(f"{chosen.size:,} rows are not conclusive, and the limit of {passes} passes is reached")


def _in_span(design: SignedDesign, span: Array, rng: np.random.Generator) -> Mask:
    """Rows in a span: with probability 1 those orthogonal to random directions of the orthogonal complement."""
    probes = without_components(rng.standard_normal((design.width, _RANDOM_DIRECTIONS)), span)
    still: Mask = (np.abs(design.times(probes)) <= TOLERANCE * np.sqrt(design.width)).all(axis=1)
    return still


def _first_rows(design: SignedDesign, start: Array | None, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    if design.n_rows <= 2 * size:
        return np.arange(design.n_rows)
    drawn = rng.choice(design.n_rows, size, replace=False)
    if start is None:
        return np.sort(drawn)
    margins = design.times(start)
    return np.union1d(drawn[: size // 2], np.argpartition(-margins, size)[:size])


def _worst(rows: NDArray[np.intp], margins: Array, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The rows with the largest violations; random rows if there is no direction."""
    if rows.size <= size:
        return rows
    if not margins.any():
        return rng.choice(rows, size, replace=False)
    return rows[np.argpartition(margins, rows.size - size)[-size:]]


def _whole(design: SignedDesign, found: FoundPartition) -> ProvedPartition:
    """The partition of all rows from that of some, with positive weights for all rows that are not separable."""
    weights = np.zeros(design.n_rows)
    weights[found.chosen] = found.part.weights
    others = found.still & (weights == 0.0)
    if others.any():
        held = np.flatnonzero(weights)
        if held.size:
            grown = extend_weights(
                design.take(held), weights[held], design.transposed_times(others.astype(np.float64)), Direct()
            )
            if grown is None:
                raise Undecided("no positive weights were found for rows in the span of others")
            weights[held], weights[others] = grown
        else:  # rows of zeros only
            weights[others] = 1.0
    return ProvedPartition(~found.still, found.part.direction, weights)


def _in_row_space(design: SignedDesign) -> ProvedPartition:
    """Few rows and many columns: split the rows in an orthonormal basis of their span."""
    B = design.take(slice(None))
    basis, triangle = linalg.qr(B.T, mode="economic", check_finite=False)
    part = split(np.ascontiguousarray(triangle.T), Direct())
    return ProvedPartition(part.separable, basis @ part.direction, part.weights)


def _by_one_sign_columns(design: SignedDesign, start: Array | None) -> ProvedPartition:
    """Many rows and columns: separate by columns of one sign first, then by conjugate gradients."""
    B = design.matrix()
    first, separated = separate_by_one_sign_columns(B)
    left = np.flatnonzero(~separated)
    weights = np.zeros(design.n_rows)
    if not left.size:
        return ProvedPartition(separated, first, weights)
    part = split(B[left], Iterative(), start)
    weights[left] = part.weights
    separable = separated.copy()
    separable[left] = part.separable
    # The first direction dominates the second on the rows that it separates.
    wrong = float(((B @ part.direction)[separated] / -(B @ first)[separated]).max(initial=0.0))
    direction = part.direction + (1.0 + 2.0 * wrong) * first
    if not separates(np.asarray(B @ direction), direction, separable):
        raise Undecided("some rows are separated by less than the tolerance")
    return ProvedPartition(separable, direction, weights)
