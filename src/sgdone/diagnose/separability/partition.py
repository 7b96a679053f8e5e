"""The partition of all rows into separable and other rows, by constraint generation."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sgdone.diagnose.separability.design import SignedDesign
from sgdone.diagnose.separability.least_squares import Direct, Iterative, row_space
from sgdone.diagnose.separability.split import TOLERANCE, ProvedPartition, Undecided, extend_weights, separates, split

Array = NDArray[np.float64]

_MOST_ROUNDS = 50


def separate_by_one_sign_columns(B: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Separate rows by columns whose entries in the remaining rows all have one sign; repeat until there are none.

    An example is a rare word that occurs in one class only. Each round is one pass over the remaining entries.

    Returns
    -------
    direction, separated : array and mask
        u with B·u < 0 on the separated rows and B·u = 0 on the others.

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


Mask = NDArray[np.bool_]

#: Largest number of columns for dense factorisations.
NARROW = 2_000
_FEWEST = 1_000
_MOST_PASSES = 500
_PROBES = 2


def partition(design: SignedDesign, start: Array | None = None) -> ProvedPartition:
    """Split the rows of the design.

    Parameters
    ----------
    design : SignedDesign
    start : array, optional
        A direction of B that is expected to separate many rows, to choose which rows to examine first.
    """
    if design.width <= NARROW:
        return _by_constraint_generation(design, start)
    if not design.sparse and design.n_rows <= NARROW:
        return _in_row_space(design)
    return _by_one_sign_columns(design, start)


def _by_constraint_generation(design: SignedDesign, start: Array | None) -> ProvedPartition:
    rng = np.random.default_rng(0)
    batch = max(_FEWEST, 8 * design.width)
    found = search(design, _first_rows(design, start, batch, rng), passes=_MOST_PASSES, batch=batch // 2)
    return _whole(design, found)


@final
@dataclass(frozen=True)
class Found:
    """The partition of all rows, derived from some of them.

    Attributes
    ----------
    still : mask
        Rows that are not separable.
    chosen : array of int
        The rows examined.
    part : ProvedPartition
        The partition of these rows, with its proof.
    """

    still: Mask
    chosen: NDArray[np.intp]
    part: ProvedPartition


def search(design: SignedDesign, chosen: NDArray[np.intp], *, passes: int, batch: int) -> Found:
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
            return Found(np.ones(design.n_rows, dtype=bool), chosen, part)
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
                return Found(still, chosen, part)
        # Also add rows with small margins: they are likely to be violated next.
        chosen = np.union1d(chosen, _worst(moving, margins[moving], batch, rng))
        start = part.direction
    raise Undecided(f"{chosen.size:,} rows are not conclusive, and the limit of {passes} passes is reached")


def _in_span(design: SignedDesign, span: Array, rng: np.random.Generator) -> Mask:
    """Rows in a span: with probability 1 those orthogonal to random directions of the orthogonal complement."""
    probes = rng.standard_normal((design.width, _PROBES))
    probes -= span @ (span.T @ probes)
    probes -= span @ (span.T @ probes)
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


def _whole(design: SignedDesign, found: Found) -> ProvedPartition:
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
    direction = part.direction + _dominating_factor(B @ first, B @ part.direction, separated) * first
    if not separates(np.asarray(B @ direction), direction, separable):
        raise Undecided("some rows are separated by less than the tolerance")
    return ProvedPartition(separable, direction, weights)


def _dominating_factor(first: Array, second: Array, rows: Mask) -> float:
    """A factor with which the first direction dominates the second on the given rows."""
    return 1.0 + 2.0 * float((second[rows] / -first[rows]).max(initial=0.0))
