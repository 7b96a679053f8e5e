"""Limit of an optimum that is not finite: Ji and Telgarsky (2018), Theorem 3.1, in the user's units.

The coefficients tend to infinity along the maximum-margin direction of the separable rows. Their component in S, the
span of the other rows, tends to the minimiser of the loss on these rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.optimize import nnls

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
from sgdone.diagnose.separability.partition import TOLERANCE, ProvedPartition, Undecided, rows_times, split
from sgdone.losses import Exponential, Logistic

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_PROBES = 3
#: Coefficients whose relative component in the free directions is smaller than this count as fixed.
_STILL = 1e-9
_NOTHING = 1e-12
#: Largest min(rows, columns) for which bases are computed.
WIDEST = 6_000


@final
@dataclass(frozen=True)
class Spaces:
    """Orthonormal bases, as columns.

    ``strong`` is S, the span of the rows A_S: the loss is strongly convex on it. ``weak`` is its orthogonal complement
    in the span of all rows: the loss decreases forever along some of its directions. ``inner`` is S in the units of B,
    in which equations are well-conditioned, and ``free`` has the directions u in the span of the rows of B with A_S·u =
    0. Row j of ``functionals`` has u_j, for u in the span of the rows of A, at each column of ``free``, scaled to norm
    1; zero if u_j = 0 for all of them.
    """

    strong: Array
    weak: Array
    inner: Array
    free: Array
    functionals: Array

    @property
    def moving(self) -> Mask:
        """The coefficients that are non-zero in some free direction."""
        return np.asarray(self.functionals.any(axis=1))


def spaces_of(design: SignedDesign, separable: Mask) -> Spaces:
    """Compute S and its complement in the span of the rows."""
    if min(design.width, design.n_rows) > WIDEST:
        raise ValueError(
            f"a basis of the subspace S would be a dense array with {design.width:,} rows: "
            f"it is available for up to {WIDEST:,} features or rows"
        )
    inner = _span(design, np.flatnonzero(~separable))
    everything = _span(design, np.arange(design.n_rows))
    # A = R⁻¹BC⁻¹: the span of the rows of A is C⁻¹ times that of B.
    strong = _orthonormal(inner / design.column_scale[:, None])
    both = _orthonormal(everything / design.column_scale[:, None])
    weak = _complement(both, strong)
    free = _complement(everything, inner)
    return Spaces(strong, _orthonormal(weak), inner, free, _functionals(design, everything, free))


def _complement(whole: Array, part: Array) -> Array:
    """Orthonormal basis of the orthogonal complement of ``part`` in the span of ``whole``."""
    rest = whole - part @ (part.T @ whole)
    left, _, _ = linalg.svd(rest, full_matrices=False, check_finite=False)
    rest = left[:, : whole.shape[1] - part.shape[1]]
    return np.asarray(rest - part @ (part.T @ rest))


def _functionals(design: SignedDesign, everything: Array, free: Array) -> Array:
    """Row j: e_j projected onto the span of the rows of A, applied to C·free.

    This is C·free minus its component in C times the null space of B. A sparse basis of the null space, one vector per
    dependent column, keeps rounding errors of columns with other units out of the result.
    """
    moved = design.column_scale[:, None] * free
    idle = design.column_scale[:, None] * _idle(everything)
    if idle.shape[1]:
        idle = _orthonormal(idle)
        moved = moved - idle @ (idle.T @ moved)
    lengths = np.linalg.norm(moved, axis=1)
    # A column of zeros is not in the span.
    still = (lengths <= _STILL * design.column_scale) | (np.linalg.norm(everything, axis=1) <= _NOTHING)
    return np.where(still[:, None], 0.0, moved / np.where(still, 1.0, lengths)[:, None])


def _idle(everything: Array) -> Array:
    """Basis of the null space of B, one vector per column that depends on others."""
    width, rank = everything.shape
    _, triangle, order = linalg.qr(everything.T, mode="economic", pivoting=True, check_finite=False)
    idle = np.zeros((width, width - rank))
    if width > rank:
        idle[order[:rank]] = -linalg.solve_triangular(triangle[:, :rank], triangle[:, rank:], check_finite=False)
        idle[order[rank:]] = np.eye(width - rank)
        idle[np.abs(idle) <= _NOTHING] = 0.0
    return idle


def _span(design: SignedDesign, rows: NDArray[np.intp]) -> Array:
    """Orthonormal basis of the span of the given rows of B, from a subset of them."""
    rng = np.random.default_rng(0)
    batch = 2 * design.width + 100
    chosen = rows if rows.size <= 2 * batch else np.sort(rng.choice(rows, batch, replace=False))
    while True:
        span = row_space(design.take(chosen))
        if span.shape[1] == design.width or chosen.size == rows.size:
            return span
        probes = without_components(rng.standard_normal((design.width, _PROBES)), span)
        moved = (np.abs(design.times(probes, rows)) > TOLERANCE * np.sqrt(design.width)).any(axis=1)
        moved[np.searchsorted(rows, chosen)] = False
        if not moved.any():
            return span
        found = rows[moved]
        chosen = np.union1d(chosen, found if found.size <= batch else rng.choice(found, batch, replace=False))


def _orthonormal(columns: Array) -> Array:
    """Orthonormal basis of the span of independent columns, whose norms may differ widely."""
    if not columns.shape[1]:
        return columns
    return np.asarray(linalg.qr(columns / np.linalg.norm(columns, axis=0), mode="economic")[0])


LossName = Literal["logistic", "exponential"]

_LOSSES = {"logistic": Logistic(), "exponential": Exponential()}
_MOST_STEPS = 200
#: Stop when a Newton step decreases the loss by less than this fraction.
_CLOSE = 1e-24

#: Maps the slopes and curvatures of the rows to the Newton step.
Step = Callable[[Array, Array], Array]


def find_finite_part(
    design: SignedDesign, fixed: NDArray[np.bool_], spaces: Spaces, sample_weight: Array, loss: LossName
) -> tuple[Array, float]:
    """Compute v̄ and the infimum of the loss: Ji and Telgarsky (2018), Theorem 3.1, part 2.

    v̄ is the minimiser in S of the weighted mean loss, in the user's units. The loss of separable rows tends to 0.
    """
    rows = np.flatnonzero(fixed)
    weight = sample_weight[rows] / sample_weight.sum()
    if not rows.size:
        return np.zeros(design.width), 0.0
    basis = spaces.inner

    def times(z: Array) -> Array:
        return design.times(basis @ z, rows) / design.row_scale[rows]

    def step(slopes: Array, curvatures: Array) -> Array:
        gradient, hessian = np.zeros(basis.shape[1]), np.zeros((basis.shape[1], basis.shape[1]))
        chunk = max(1, 2_000_000 // max(1, design.width))
        for first in range(0, rows.size, chunk):
            here = slice(first, first + chunk)
            part = (design.take(rows[here]) / design.row_scale[rows[here], None]) @ basis
            gradient += part.T @ slopes[here]
            hessian += part.T @ (curvatures[here, None] * part)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
        hessian = scale[:, None] * hessian * scale
        hessian[np.diag_indices_from(hessian)] += 1e-15
        return np.asarray(-scale * linalg.solve(hessian, scale * gradient, assume_a="sym"))

    z, value = _newton(times, step, np.zeros(basis.shape[1]), weight, loss)
    v = design.column_scale * (basis @ z)
    held = np.linalg.norm(basis, axis=1) > _NOTHING
    return np.where(held, spaces.strong @ (spaces.strong.T @ v), 0.0), value


def find_finite_part_large(
    A: Any, fixed: NDArray[np.bool_], sample_weight: Array, loss: LossName
) -> tuple[Array, float]:
    """Compute v̄ and the infimum by conjugate gradients, for a matrix A in the user's units."""
    rows = np.flatnonzero(fixed)
    weight = sample_weight[rows] / sample_weight.sum()
    if not rows.size:
        return np.zeros(A.shape[1]), 0.0
    part, solver = A[rows], Iterative()

    def step(slopes: Array, curvatures: Array) -> Array:
        root = np.sqrt(curvatures)
        target = np.divide(-slopes, root, out=np.zeros(root.size), where=root > 0.0)
        return solver.solve(rows_times(root, part), target, tolerance=1e-10)

    v, value = _newton(lambda v: np.asarray(part @ v), step, np.zeros(A.shape[1]), weight, loss)
    return v - solver.project(part, v), value


def _newton(
    times: Callable[[Array], Array], step: Step, z: Array, weight: Array, loss: LossName
) -> tuple[Array, float]:
    """Minimise Σ weight·ℓ(A·z), which is convex and has a minimum, by Newton's method with backtracking."""
    kind = _LOSSES[loss]
    # A·z is −y times the prediction, so its loss is that of the label −1.
    images = times(z)
    value = float(weight @ kind.value(images, -1.0))
    for _ in range(_MOST_STEPS):
        slopes = weight * kind.slope(images, -1.0)
        move = step(slopes, weight * kind.curvature(images, -1.0))
        along = times(move)
        gain = -float(slopes @ along)
        length = 1.0
        while True:
            after = images + length * along
            new = float(weight @ kind.value(after, -1.0))
            if new <= value - 1e-4 * length * gain or length < 1e-10 or gain <= 1e-14 * value:
                break
            length *= 0.5
        z, images, value = z + length * move, times(z + length * move), new
        if gain <= _CLOSE * value or float(np.abs(length * along).max(initial=0.0)) <= 1e-13 * (
            1.0 + float(np.abs(images).max(initial=0.0))
        ):
            return z, value
    raise Undecided(f"the minimum of the loss on the overlapping rows was not found in {_MOST_STEPS} Newton steps")


#: Relative violation of the margin that is allowed.
_MARGIN_CLOSE = 1e-10
#: Singular values below this fraction of the largest are rounding errors.
_ROUNDING = 1e-15
_MOST_ROUNDS = 200
_FEWEST_ROWS = 500
_MOST_PENALTIES = 60


def max_margin_direction(design: SignedDesign, part: ProvedPartition, spaces: Spaces) -> tuple[Array, float]:
    """Compute ū and γ of Ji and Telgarsky (2018), Theorem 3.1: max γ with A_c·u ≤ −γ, A_S·u = 0, ‖u‖ = 1.

    The shortest u with A_c·u ≤ −1 in S⊥ is γ⁻¹·ū. This least-distance problem is equivalent to non-negative least
    squares (Lawson and Hanson 1974, chapter 23), which terminates at the exact solution. Violated constraints are added
    in rounds. The result is in the user's units, the intercept last.
    """
    rows = np.flatnonzero(part.separable)
    known = design.column_scale * part.direction
    margins = design.times(part.direction, rows) / design.row_scale[rows]
    size = float(np.linalg.norm(known)) / -float(margins.max())
    batch = max(_FEWEST_ROWS, 4 * spaces.weak.shape[1])
    chosen = rows if rows.size <= 2 * batch else rows[np.argpartition(-margins, batch)[:batch]]
    for _ in range(_MOST_ROUNDS):
        G = -(design.take(chosen) / design.row_scale[chosen, None] / design.column_scale) @ spaces.weak
        u = np.where(spaces.moving, spaces.weak @ (size * _shortest(size * G)), 0.0)
        margins = design.times(u / design.column_scale, rows) / design.row_scale[rows]
        inside = margins > -1.0 + _MARGIN_CLOSE
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
    """Compute ū and γ by augmented Lagrangians, for a CSR matrix A too large for orthonormal bases.

    All is in the user's units. The start is a direction with A_c·u < 0, A_S·u = 0; ``tolerance`` is the relative gap
    between the norm found and a lower bound of it.
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


#: Value of `infinite` if directions of both signs separate the same rows.
NOT_DETERMINED = 2


def signs(
    design: SignedDesign, part: ProvedPartition, spaces: Spaces, direction: Array, columns: NDArray[np.intp]
) -> NDArray[np.int8]:
    """Sign of each u_j, for some columns j, over all u in the span of the rows with A_S·u = 0 and A_c·u < 0.

    It is 0 if the projection of e_j onto S⊥ is 0. Otherwise, since these u form a convex cone that is open in S⊥, the
    sign is that of ū_j unless some u with A_c·u ≤ 0 has the opposite one: one feasibility problem per coefficient.
    ``direction`` is ū or any other direction in the cone, in the user's units.
    """
    rows = np.flatnonzero(part.separable)
    out = np.zeros(columns.size, dtype=np.int8)
    if not rows.size:
        return out
    inside = spaces.free.T @ (direction / design.column_scale)
    margins = design.times(spaces.free @ inside, rows)
    batch = max(_FEWEST_ROWS, 4 * inside.size)
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
