"""How columns vary: their range, comparable units, and in how many rows they vary."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.sums.columns import ColumnMoments
from sgdone.sums.pieces import parts_of, pieces_of

Array = NDArray[np.float64]

#: Largest absolute values of columns between which their fourth powers neither overflow nor underflow.
_SMALL, _LARGE = 1e-60, 1e60
#: Rows that are read at once.
_ROWS = 1 << 16


def largest_values(block: Block) -> Array:
    """Largest absolute value of each column; NaN or infinite if it has such values."""
    largest = np.zeros(block.rows.n_features)
    for columns, of_columns in block.parts:
        for part, _, _ in parts_of(of_columns, _all(block)):
            if isinstance(part, np.ndarray):
                found = np.abs(part).max(axis=0, initial=0.0)
            else:
                found = np.zeros(part.shape[1])
                with np.errstate(invalid="ignore"):
                    np.maximum.at(found, part.indices, np.abs(part.data))
            largest[columns] = np.maximum(largest[columns], found)
    return largest


def safe_units(largest: Array) -> Array:
    """Powers of two that bring extreme columns to a size of about 1; 1 for other columns."""
    units = np.ones(largest.size)
    extreme = (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
    if extreme.any():
        exponents = np.minimum(np.frexp(largest[extreme])[1], np.finfo(np.float64).maxexp - 1)
        units[extreme] = np.ldexp(1.0, exponents)
    return units


def comparable_scaling(
    moments: ColumnMoments, n_dense: int, is_constant: Callable[[int], bool], *, fit_intercept: bool
) -> Scaling:
    """Units in which dense columns have mean 0 and spread 1, and sparse columns a root mean square of 1.

    Infinite for columns that are constant if there is an intercept, and for those that are 0. Whether a sparse column
    ``is_constant`` is asked for if rounding hides it.
    """
    size = np.sqrt(moments.squares / moments.rows + moments.means**2)
    if not fit_intercept:
        return Scaling(np.where(size > 0, size, np.inf))
    spreads, d = moments.spreads, n_dense
    # Of sparse columns, squares less the square of the mean: rounding hides a small spread.
    constant = ~(spreads[d:] > 1e-6 * size[d:])
    constant[constant] = [is_constant(d + j) for j in np.flatnonzero(constant).tolist()]
    scale = np.where(spreads > 0, spreads, np.inf)
    scale[d:] = np.where((size[d:] > 0) & ~constant, size[d:], np.inf)
    shift = np.where(np.arange(size.size) < d, moments.means, 0.0)
    return Scaling(scale, shift if d else None)


def power_sums(block: Block, scaling: Scaling, means: Array | None, *, sampling: bool) -> Array:
    """Σvd² and Σvd⁴ of each column, v² in place of the last v if ``sampling``.

    d is the distance from the mean, or from 0 if ``means`` is None, in units of ``scaling``.
    """
    inverse = 1.0 / scaling.scale
    centres = np.zeros(inverse.size) if means is None else means * inverse
    found = np.empty((2, inverse.size))
    for columns, part in block.parts:
        powers = _powers_of_dense if part.rows.is_dense else _powers_of_sparse
        found[:, columns] = powers(part, inverse[columns], centres[columns], sampling=sampling)
    return found


def rows_of_powers(powers: Array, varies: NDArray[np.bool_], unit: float) -> Array:
    """(Σvd²)²/Σvd⁴ of each column, times ``unit``; 0 for columns that do not vary."""
    squares, fourths = powers
    with np.errstate(divide="ignore", invalid="ignore"):
        found = unit * squares**2 / fourths
    return np.where(varies & (fourths > 0), found, 0.0)


def _powers_of_dense(block: Block, inverse: Array, means: Array, *, sampling: bool) -> tuple[Array, Array]:
    squares, fourths = np.zeros(means.size), np.zeros(means.size)
    for part, _, weights in pieces_of(block):
        apart = part * inverse - means
        apart *= apart
        squares += weights @ apart
        fourths += (weights * weights if sampling else weights) @ (apart * apart)
    return squares, fourths


def _powers_of_sparse(block: Block, inverse: Array, means: Array, *, sampling: bool) -> tuple[Array, Array]:
    """The same of sparse columns, from the powers of their entries."""
    squares, powers, total = np.zeros(means.size), np.zeros((4, means.size)), 0.0
    for part, _, weights in pieces_of(block):
        own = weights * weights if sampling else weights
        values = part.data * inverse[part.indices]
        of_rows, of_own = (np.repeat(each, np.diff(part.indptr)) for each in (weights, own))
        total += float(own.sum())
        for power in range(4):
            powers[power] += np.bincount(part.indices, of_own * values ** (power + 1), minlength=means.size)
        squares += np.bincount(part.indices, of_rows * values**2, minlength=means.size)
    squares = squares - block.total_weight * means * means
    fourths = powers[3] - 4 * means * powers[2] + 6 * means**2 * powers[1] - 4 * means**3 * powers[0]
    return squares, fourths + total * means**4


def _all(block: Block) -> list[NDArray[np.intp]]:
    used = block.all_used().astype(np.intp)
    return [used[first : first + _ROWS] for first in range(0, used.size, _ROWS)]
