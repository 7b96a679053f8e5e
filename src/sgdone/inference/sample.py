"""The rows of a summary: labels, weights, groups, and units in which the sums keep their digits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.bad_rows import check_rows
from sgdone.data.rows import Rows, Scaling, frozen
from sgdone.data.source import Block
from sgdone.data.threads import blas_threads
from sgdone.interfaces.objective import Objective
from sgdone.sums.columns import column_moments
from sgdone.sums.pieces import Pieces, in_units, parts_of, pieces_of
from sgdone.sums.second_order import free_model

Array = NDArray[np.float64]
Weights = Literal["frequency", "sampling"]

#: Largest absolute values of columns between which their fourth powers neither overflow nor underflow.
_SMALL, _LARGE = 1e-60, 1e60
#: Relative error of a sum of weights.
_SUM_ROUNDING = 1e-12
#: Residuals below this share of the targets are rounding errors.
ROUNDING = 1e-11


@final
@dataclass(frozen=True)
class Sample:
    """Rows, their labels, weights and groups.

    Parameters
    ----------
    objective : Objective
        The loss, without a penalty.
    block : Block
        Rows in units of `units`; a weight of 1 stands for ``frequency`` rows.
    units : ndarray
        What the columns were divided by: 1 unless their squares would overflow or underflow.
    frequency : float
        How many rows a row of weight 1 stands for.
    weights : {"frequency", "sampling"}
        What the weights mean.
    groups : ndarray of int or None
        The number of the group of each row.
    origin : float
        What was subtracted from the targets, so that they keep their digits.
    target_squares : float
        Σv·y² of the targets as they were.
    """

    objective: Objective
    block: Block
    units: Array
    frequency: float = 1.0
    weights: Weights = "frequency"
    groups: NDArray[np.intp] | None = None
    origin: float = 0.0
    target_squares: float = 0.0

    @classmethod
    def of(
        cls,
        objective: Objective,
        X: Any,
        labels: Array,
        sample_weight: Array | None,
        frequency: float,
        weights: Weights,
        groups: NDArray[np.intp] | None,
        names: Sequence[str] | None = None,
    ) -> "Sample":
        """Rows of an array or CSR matrix; raise for those that are not finite."""
        order = np.arange(X.shape[0], dtype=np.uint64)
        weight = np.ones(1) if sample_weight is None else sample_weight
        block = Block(Rows.of(X, names=names), frozen(labels), frozen(weight), order, order)
        block.rows.check_indices()
        largest = _largest(block)
        if not np.all(np.isfinite(largest)):
            check_rows(block, block.all_used())
        units = np.ones(X.shape[1])
        extreme = (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
        if extreme.any():
            exponents = np.minimum(np.frexp(largest[extreme])[1], np.finfo(np.float64).maxexp - 1)
            units[extreme] = np.ldexp(1.0, exponents)
            block = in_units(block, Scaling(units))
        sample = cls(objective, block, units, frequency, weights, groups)
        return sample._with_centred_targets() if objective.is_regression else sample

    def _with_centred_targets(self) -> "Sample":
        """The targets less their mean, if there is an intercept to take it up."""
        labels, weights = self.labels_and_weights()
        origin = float(np.average(labels, weights=weights)) if self.objective.fit_intercept else 0.0
        block = replace(self.block, labels=frozen(self.block.labels - origin))
        return replace(self, block=block, origin=origin, target_squares=float(weights @ labels**2))

    def without(self, rows: NDArray[np.bool_]) -> "Sample":
        """The sample without some rows."""
        weight = np.where(rows, 0.0, self.block.sample_weight)
        return replace(self, block=replace(self.block, sample_weight=frozen(weight)))

    @property
    def n_rows(self) -> float:
        """Number of rows: the sum of the weights if they are frequencies."""
        if self.weights == "sampling":
            return float(self.block.n_used)
        return float(_whole(self.frequency * self.block.total_weight))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.block.rows.n_features

    @property
    def n_dense(self) -> int:
        """Number of dense columns, which come first: they are centred, sparse ones are not."""
        return self.block.rows.n_dense

    @cached_property
    def scaling(self) -> Scaling:
        """Units in which dense columns have mean 0 and spread 1, and sparse columns a root mean square of 1.

        Infinite for columns that are constant if there is an intercept, and for those that are 0.
        """
        moments = column_moments(self.block, weighted=True)
        size = np.sqrt(moments.squares / moments.rows + moments.means**2)
        if not self.objective.fit_intercept:
            return Scaling(np.where(size > 0, size, np.inf))
        spreads, d = moments.spreads, self.n_dense
        # Of sparse columns, squares less the square of the mean: rounding hides a small spread.
        constant = ~(spreads[d:] > 1e-6 * size[d:])
        constant[constant] = [self._is_constant(d + j) for j in np.flatnonzero(constant).tolist()]
        scale = np.where(spreads > 0, spreads, np.inf)
        scale[d:] = np.where((size[d:] > 0) & ~constant, size[d:], np.inf)
        shift = np.where(np.arange(self.n_features) < d, moments.means, 0.0)
        return Scaling(scale, shift if d else None)

    def _is_constant(self, column: int) -> bool:
        used = self.block.all_used().astype(np.intp)
        values = self.block.rows.whole()[:, [column]].toarray().ravel()[used]
        return bool(np.all(values == values[0]))

    @cached_property
    def pieces(self) -> Pieces:
        """The rows in comparable units."""
        return Pieces(self.block, self.scaling, self.frequency, blas_threads())

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column has a coefficient of its own."""
        return np.isfinite(self.scaling.scale)

    def model_in_units(self, coef: Array, intercept: Array) -> Array:
        """A model of the user's as the sums need it: (features + 1) × free outputs, in comparable units."""
        return free_model(self.objective, self.scaling, coef * self.units, intercept - self.origin)

    @cached_property
    def rows_of_columns(self) -> Array:
        """Number of rows that the variation of each column comes from: (Σvd²)²/Σvd⁴.

        d is the distance from the mean, or from 0 without an intercept. It is m for a column with m ones among many
        zeros, a third of the rows for a normal distribution, and 1 if one row is far from all others.
        """
        inverse, sampling = 1.0 / self.scaling.scale, self.weights == "sampling"
        means = np.zeros(self.n_features)
        if self.objective.fit_intercept:
            means = column_moments(self.block, weighted=True).means * inverse
        squares, fourths = np.empty(self.n_features), np.empty(self.n_features)
        for columns, part in self.block.parts:
            powers = _powers_of_dense if part.rows.is_dense else _powers_of_sparse
            squares[columns], fourths[columns] = powers(part, inverse[columns], means[columns], sampling=sampling)
        unit = 1.0 if sampling else self.frequency
        with np.errstate(divide="ignore", invalid="ignore"):
            found = unit * squares**2 / fourths
        return np.where(self.varies & (fourths > 0), found, 0.0)

    @cached_property
    def entries(self) -> Array:
        """Number of entries of each column that are not 0; of dense columns, of rows."""
        found = np.full(self.n_features, float(self.block.n_used))
        for columns, part in self.block.rows.parts:
            if part.is_sparse:
                found[columns] = np.bincount(part.whole().indices, minlength=part.n_features)
        return found

    def rarest_share(self, chosen: NDArray[np.bool_]) -> float:
        """The smallest share of rows inside or outside one of the classes of the chosen outputs; 1 of a regression."""
        if self.objective.is_regression:
            return 1.0
        shares = self._shares[1:] if self.objective.n_outputs == 1 else self._shares[chosen]
        return float(np.minimum(shares, 1.0 - shares).min())

    @cached_property
    def _shares(self) -> Array:
        labels, weights = self.labels_and_weights()
        classes = (labels > 0).astype(np.intp) if self.objective.n_outputs == 1 else labels.astype(np.intp)
        counts = np.bincount(classes, weights, minlength=max(2, self.objective.n_outputs))
        return np.asarray(counts / weights.sum())

    def labels_and_weights(self) -> tuple[Array, Array]:
        """Labels and weights of the rows that are used."""
        used = self.block.all_used()
        return self.block.labels[used], self.block.weights_of(used) * self.frequency


def _powers_of_dense(block: Block, inverse: Array, means: Array, *, sampling: bool) -> tuple[Array, Array]:
    """Σvd² and Σvd⁴ of dense columns, v² in place of the last v if ``sampling``; d is the distance from the mean."""
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


def _whole(counts: Any) -> Any:
    """Numbers of rows without the rounding of weights, which were divided by their mean."""
    near = np.rint(counts)
    return np.where(np.abs(counts - near) <= _SUM_ROUNDING * near, near, counts)


def _largest(block: Block) -> Array:
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


def _all(block: Block) -> list[NDArray[np.intp]]:
    used = block.all_used().astype(np.intp)
    return [used[first : first + (1 << 16)] for first in range(0, used.size, 1 << 16)]
