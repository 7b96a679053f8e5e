"""The rows of a matrix split into those that a direction separates and those that none can, both with their proof."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.separability.dual_weights import SLACK, absorb, exactify
from sgdone.diagnose.separability.least_squares import Algebra, Direct
from sgdone.diagnose.separability.linear_program import separate_by_program
from sgdone.diagnose.separability.squared_hinge import minimise
from sgdone.diagnose.separability.undecided import Undecided

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: |B_i·u| up to this share of Σ_j |u_j| counts as zero (the entries of B are at most 1).
TOLERANCE = 1e-9
#: Residuals below this share of the largest are left for the next round: tiny weights make ill-conditioned equations.
_CLEAR = 1e-3
_MOST_DROPS = 50
#: Open rows with 1 + B_i·w below this are separated clearly enough.
_SATISFIED = 0.9
_PROBES = 2
_FIRST_STEPS = 12
_MOST_STEPS = 500
#: Entries of a dense part of a sparse matrix.
_MOST_DENSE = 20_000_000


@final
@dataclass(frozen=True)
class Split:
    """Ji and Telgarsky (2018), Theorem 3.1: the partition of the rows of B, proved from both sides.

    Attributes
    ----------
    separable : mask
        The rows A_c.
    direction : array
        u with B·u < 0 on them and B·u = 0 on the others.
    weights : array
        q > 0 on the others and 0 on them, with Bᵀq = 0.
    """

    separable: Mask
    direction: Array
    weights: Array


def split(B: Any, algebra: Algebra, start: Array | None = None) -> Split:
    """Split the rows of B.

    Round by round: the squared hinge is minimised over the rows still open while those that are known not to be
    separable must not move. If its minimum is zero all open rows are separable; if not, its residuals prove that more
    rows are not, and with them all rows in their span. At most rank(B) rounds; a linear program takes over where
    rounding spoils a proof.
    """
    try:
        return _by_hinge(B, algebra, start)
    except Undecided:
        return _by_program(B, algebra)


def _by_hinge(B: Any, algebra: Algebra, start: Array | None) -> Split:
    fixed, weights = np.zeros(B.shape[0], dtype=bool), np.zeros(B.shape[0])
    steps, made = _FIRST_STEPS, 0
    while made < _MOST_STEPS:
        fixed, weights = _with_rows_in_span(B, fixed, weights, algebra)
        if fixed.all():
            return Split(~fixed, np.zeros(B.shape[1]), weights)
        direction = _by_free_columns(B, fixed) if not algebra.direct else None
        if direction is not None:
            return Split(~fixed, direction, weights)
        while made < _MOST_STEPS:
            at = minimise(
                B,
                algebra,
                offsets=np.where(fixed, 0.0, 1.0),
                equal=fixed,
                start=start,
                satisfied=_SATISFIED,
                most_steps=steps,
            )
            start, made = at.w, made + max(1, at.steps)
            residuals = np.where(fixed, 0.0, np.maximum(at.residuals, 0.0))
            if residuals.max() < 0.5 * (1.0 + _SATISFIED):
                direction = at.w if not fixed.any() else algebra.project(B[np.flatnonzero(fixed)], at.w)
                if separates(np.asarray(B @ direction), direction, ~fixed):
                    return Split(~fixed, _cleaned(B, direction, ~fixed), weights)
            grown = _joined(B, weights, residuals, np.where(fixed, at.residuals, 0.0), algebra)
            if grown is not None:
                fixed, weights = grown > 0.0, grown
                break
            steps *= 2
    raise Undecided(f"no proof was found in {made} Newton steps")


def _joined(B: Any, weights: Array, fresh: Array, old: Array, algebra: Algebra) -> Array | None:
    """Weights on old and fresh rows: where the hinge is smallest, Bᵀ(fresh + old) = 0, and Bᵀ·weights = 0 already."""
    ratios = np.divide(-old, weights, out=np.zeros(old.size), where=weights > 0.0)
    total = old + (1.0 + 2.0 * float(ratios.max(initial=0.0))) * weights
    fresh = np.where(fresh > _CLEAR * fresh.max(), fresh, 0.0)
    for _ in range(_MOST_DROPS):
        grown = total + fresh
        rows = np.flatnonzero(grown)
        exact, share = exactify(B[rows], grown[rows], algebra)
        if exact is not None:
            grown[rows] = exact
            return grown
        # The hinge was not quite at its minimum: rows that no weights balance had residuals, too.
        fresh[rows[share > 1.0 - SLACK]] = 0.0
        if not fresh.any():
            break
    return None


def _with_rows_in_span(B: Any, fixed: Mask, weights: Array, algebra: Algebra) -> tuple[Mask, Array]:
    """Fix the rows in the span of the fixed ones (zero rows at first), too.

    A random direction that leaves the fixed rows in place moves every other row, but those in their span.
    """
    moved = np.zeros(B.shape[0], dtype=bool)
    rng = np.random.default_rng(0)
    base = B[np.flatnonzero(fixed)]
    for _ in range(_PROBES):
        probe = rng.standard_normal(B.shape[1])
        still = algebra.project(base, probe) if fixed.any() else probe
        moved |= np.abs(np.asarray(B @ still)) > TOLERANCE * np.sqrt(probe.size)
    extra = ~moved & ~fixed
    if not extra.any():
        return fixed, weights
    if not fixed.any():
        return extra, extra.astype(np.float64)
    grown = absorb(base, weights[fixed], np.asarray(B.T @ extra.astype(np.float64)), algebra)
    if grown is None:
        raise Undecided("rows in the span of others could not be given a weight")
    weights = np.where(extra, grown[1], 0.0)
    weights[fixed] = grown[0]
    return fixed | extra, weights


def _by_free_columns(B: Any, fixed: Mask) -> Array | None:
    """Separate all open rows by the columns that no fixed row uses, as rare features are; they are few, as a rule."""
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


def _by_program(B: Any, algebra: Algebra) -> Split:
    direction, weights = separate_by_program(B)
    fixed = weights > 0.0
    rows = np.flatnonzero(fixed)
    if rows.size:
        exact, _ = exactify(B[rows], weights[rows], algebra)
        if exact is None:
            raise Undecided("the multipliers of the linear program could not be balanced")
        weights[rows] = exact
        direction = algebra.project(B[rows], direction)
    if not separates(np.asarray(B @ direction), direction, ~fixed):
        raise Undecided("some rows are separated by less than the tolerance, or not at all")
    return Split(~fixed, _cleaned(B, direction, ~fixed), weights)


def separates(margins: Array, direction: Array, separable: Mask) -> bool:
    """Whether B·u is negative on the separable rows and zero on the others, to the tolerance."""
    size = TOLERANCE * float(np.abs(direction).sum())
    return bool(
        margins[separable].max(initial=-np.inf) < -size and np.abs(margins[~separable]).max(initial=0.0) <= size
    )


def _cleaned(B: Any, direction: Array, separable: Mask) -> Array:
    """The direction without entries that are but rounding, where that does no harm."""
    clean = np.where(np.abs(direction) > 1e-12 * np.abs(direction).max(initial=0.0), direction, 0.0)
    return clean if separates(np.asarray(B @ clean), clean, separable) else direction
