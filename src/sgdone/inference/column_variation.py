"""How columns vary: their range, comparable units, and in how many rows they vary."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.sample_facts import SampleFacts
from sgdone.inference.sample_rows import SampleRows
from sgdone.rows.rows import Scaling
from sgdone.rows.source import Block
from sgdone.sums.pieces import pieces_of
from sgdone.sums.row_sum import ArraySum, RowSum, message

Array = NDArray[np.float64]

#: Largest absolute values of columns between which their fourth powers neither overflow nor underflow.
_SMALL, _LARGE = 1e-60, 1e60


def safe_units(largest: Array) -> Array:
    """Powers of two that bring extreme columns to a size of about 1; 1 for other columns."""
    units = np.ones(largest.size)
    extreme = (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
    if extreme.any():
        exponents = np.minimum(np.frexp(largest[extreme])[1], np.finfo(np.float64).maxexp - 1)
        units[extreme] = np.ldexp(1.0, exponents)
    return units


def comparable_scaling(facts: SampleFacts, *, fit_intercept: bool) -> Scaling:
    """Units in which dense columns have mean 0 and spread 1, and sparse columns a root mean square of 1.

    Infinite for columns that are constant if there is an intercept, and for those that are 0.
    """
    moments, d = facts.moments, facts.n_dense
    size = np.sqrt(moments.squares / moments.rows + moments.means**2)
    if not fit_intercept:
        return Scaling(np.where(size > 0, size, np.inf))
    spreads = moments.spreads
    # For sparse columns, squares less the square of the mean: rounding hides a small spread.
    constant = ~(spreads[d:] > 1e-6 * size[d:]) & (facts.low[d:] == facts.high[d:])
    scale = np.where(spreads > 0, spreads, np.inf)
    scale[d:] = np.where((size[d:] > 0) & ~constant, size[d:], np.inf)
    shift = np.where(np.arange(size.size) < d, moments.means, 0.0)
    return Scaling(scale, shift if d else None)


@final
@message
@dataclass(frozen=True)
class ColumnPowers(RowSum):
    """Σvd² and Σvd⁴ of each column, v² in place of the last v if ``sampling``.

    d is the distance from the mean, or from 0 if ``means`` is None, in units of ``scaling``.
    """

    scaling: Scaling
    means: Array | None
    sampling: bool

    def of(self, rows: SampleRows) -> ArraySum | None:
        """The sums over these rows."""
        if not rows.n_rows:
            return None
        inverse = 1.0 / self.scaling.scale
        centres = np.zeros(inverse.size) if self.means is None else self.means * inverse
        found = np.empty((2, inverse.size))
        for columns, part in rows.block.parts:
            powers = _powers_of_dense if part.rows.is_dense else _powers_of_sparse
            found[:, columns] = powers(part, inverse[columns], centres[columns], sampling=self.sampling)
        return ArraySum(found)


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
    """Σvd² and Σvd⁴ of sparse columns, from the powers of their entries."""
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
