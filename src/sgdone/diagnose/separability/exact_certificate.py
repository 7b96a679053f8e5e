"""Certificates in integer arithmetic, for small data."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.exact_arithmetic import (
    Integers,
    as_integers,
    eliminate,
    null_basis,
    rounded,
    solve,
    to_integers,
)
from sgdone.diagnose.separability.split import Split

Array = NDArray[np.float64]

#: Largest number of entries and of columns.
_MOST_ENTRIES = 20_000
_WIDEST = 40


def exact_proof(design: Design, part: Split) -> tuple[list[int], list[int]] | None:
    """Integer direction and weights that prove the partition of A exactly; None if they are not found.

    The direction is a combination of integer vectors of the null space of A_S, close to the floating-point direction:
    A_c·u < 0 has slack, A_S·u = 0 has none. The weights outside a basis of A_S are rounded; those of the basis are then
    solved for.
    """
    if design.n_rows * design.width > _MOST_ENTRIES or design.width > _WIDEST:
        return None
    A = as_integers(_plain(design))
    if A is None:
        return None
    direction = _direction(A, part, part.direction * design.column_scale)
    weights = _weights(A, part, part.weights * design.row_scale)
    return None if direction is None or weights is None else (direction, weights)


def _plain(design: Design) -> Array:
    """The unscaled matrix A; the scales are powers of two, so nothing is rounded."""
    A: Array = design.take(slice(None)) / design.row_scale[:, None] / design.column_scale
    return A


def _direction(A: Integers, part: Split, near: Array) -> list[int] | None:
    if not part.separable.any():
        return [0] * A.shape[1]
    basis = np.array(null_basis(A[~part.separable].tolist(), A.shape[1]), dtype=object)
    if not basis.size:
        return None
    # Coordinates of the direction in the integer basis, scaled to a largest entry of 1.
    size = np.abs(near).max()
    floats = np.array(basis, dtype=np.float64)
    coordinates = np.linalg.lstsq(floats.T, near / size, rcond=None)[0]
    for bits in (2, 4, 8, 16, 32, 50):
        combination = [
            sum((c * int(b) for c, b in zip(rounded(coordinates, bits), column, strict=True)), Fraction(0))
            for column in basis.T
        ]
        whole = to_integers(combination)
        if max((A[part.separable] @ np.array(whole, dtype=object)).tolist()) < 0:
            return whole
    return None


def _weights(A: Integers, part: Split, near: Array) -> list[int] | None:
    out = [0] * A.shape[0]
    held = np.flatnonzero(~part.separable)
    if not held.size:
        return out
    rows = A[held].tolist()
    # Use the rows of largest weight as the basis: they can best extend_weights the rounding of the others.
    order = np.argsort(-near[held] * np.array([max(map(abs, row), default=0) for row in rows], dtype=np.float64))
    _, _, used = eliminate([rows[k] for k in order], A.shape[1])
    base = [int(order[k]) for k in used]
    others = [k for k in range(held.size) if k not in set(base)]
    for bits in (4, 8, 16, 32, 50):
        guess = [max(value, Fraction(1, 2**bits)) for value in rounded(near[held][others] / near[held].max(), bits)]
        total = [
            -sum((value * rows[k][j] for value, k in zip(guess, others, strict=True)), Fraction(0))
            for j in range(A.shape[1])
        ]
        solved = solve([rows[k] for k in base], total) if base else []
        if solved is None or any(value <= 0 for value in solved):
            continue
        values = dict(zip([*base, *others], [*solved, *guess], strict=True))
        for k, value in zip(held, to_integers([values[k] for k in range(held.size)]), strict=True):
            out[int(k)] = value
        return out
    return None
