"""The subspaces of Ji and Telgarsky (2018), Theorem 3.1, in the user's units."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.least_squares import row_space
from sgdone.diagnose.separability.split import TOLERANCE

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

    Attributes
    ----------
    strong : array
        S, the span of the rows A_S: the loss is strongly convex on it.
    weak : array
        Orthogonal complement of S in the span of all rows: the loss decreases forever along some of its directions.
    inner : array
        S in the units of B, in which equations are well-conditioned.
    free : array
        Directions u in the span of the rows of B with A_S·u = 0, in the units of B.
    functionals : array
        Row j contains u_j, for u in the span of the rows of A, at each column of ``free``, scaled to norm 1; zero if
        u_j = 0 for all of them.
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


def spaces_of(design: Design, separable: Mask) -> Spaces:
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


def _functionals(design: Design, everything: Array, free: Array) -> Array:
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


def _span(design: Design, rows: NDArray[np.intp]) -> Array:
    """Orthonormal basis of the span of the given rows of B, from a subset of them."""
    rng = np.random.default_rng(0)
    batch = 2 * design.width + 100
    chosen = rows if rows.size <= 2 * batch else np.sort(rng.choice(rows, batch, replace=False))
    while True:
        span = row_space(design.take(chosen))
        if span.shape[1] == design.width or chosen.size == rows.size:
            return span
        probes = rng.standard_normal((design.width, _PROBES))
        probes -= span @ (span.T @ probes)
        probes -= span @ (span.T @ probes)
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
