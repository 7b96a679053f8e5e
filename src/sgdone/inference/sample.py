"""The rows of a summary: labels, weights, groups, and units in which the sums keep their digits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.bad_rows import check_rows
from sgdone.data.mixed_matrix import in_one_storage
from sgdone.data.rows import Rows, Scaling, frozen
from sgdone.data.source import Block
from sgdone.data.threads import blas_threads
from sgdone.diagnose.data_summary.column_summary import summarise_columns
from sgdone.inference.bias import bias_sums
from sgdone.inference.column_variation import (
    comparable_scaling,
    largest_values,
    power_sums,
    rows_of_powers,
    safe_units,
)
from sgdone.inference.sample_sums import SampleSums, Weights
from sgdone.inference.sums_at_model import column_products, information, largest_change, slope_sums
from sgdone.interfaces.objective import Objective
from sgdone.run.constant_prediction import best_constant, constant_model
from sgdone.sums.columns import column_moments
from sgdone.sums.derivatives import derivatives
from sgdone.sums.pieces import BlockPieces, in_units
from sgdone.sums.row_sum import MemoryRows, RowSum
from sgdone.sums.score_products import group_score_products, score_products

Array = NDArray[np.float64]

#: Columns with most entries, whose curvature is factorised to precondition conjugate gradients.
_FREQUENT = 512
#: Relative error of a sum of weights.
_SUM_ROUNDING = 1e-12
#: Products of a curvature up to which it is evaluated at each step; beyond, steps use an earlier one.
_CHEAP = 4e8


@final
@dataclass(frozen=True)
class Sample(SampleSums):
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
        largest = largest_values(block)
        if not np.all(np.isfinite(largest)):
            check_rows(block, block.all_used())
        units = safe_units(largest)
        if (units != 1.0).any():
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
        return whole_rows(self.frequency * self.block.total_weight)

    @property
    def n_groups(self) -> int:
        """Number of groups of rows of positive weight."""
        return 0 if self.groups is None else np.unique(self.groups[self.block.all_used().astype(np.intp)]).size

    @property
    def n_dense(self) -> int:
        """Number of dense columns, which come first: they are centred, sparse ones are not."""
        return self.block.rows.n_dense

    @cached_property
    def scaling(self) -> Scaling:
        """Units in which dense columns have mean 0 and spread 1, and sparse columns a root mean square of 1."""
        moments = column_moments(self.block, weighted=True)
        intercept = self.objective.fit_intercept
        return comparable_scaling(moments, self.n_dense, self._is_constant, fit_intercept=intercept)

    def _is_constant(self, column: int) -> bool:
        used = self.block.all_used().astype(np.intp)
        values = self.block.rows.whole()[:, [column]].toarray().ravel()[used]
        return bool(np.all(values == values[0]))

    @cached_property
    def rows(self) -> MemoryRows:
        """The rows, to be added up."""
        return MemoryRows(self.block, self.frequency, blas_threads())

    @property
    def pieces(self) -> BlockPieces:
        """The rows in comparable units."""
        return self.rows.pieces(self.system)

    @cached_property
    def rows_of_columns(self) -> Array:
        """Number of rows that the variation of each column comes from."""
        sampling = self.weights == "sampling"
        means = column_moments(self.block, weighted=True).means if self.objective.fit_intercept else None
        powers = power_sums(self.block, self.scaling, means, sampling=sampling)
        return rows_of_powers(powers, self.varies, 1.0 if sampling else self.frequency)

    def repeated_columns(self) -> list[tuple[int, ...]]:
        """Columns that are equal in all rows used, and not constant."""
        used = self.block.all_used().astype(np.intp)
        matrix = in_one_storage(self.block.rows.whole())
        found = summarise_columns(matrix if used.size == matrix.shape[0] else matrix[used]).duplicates
        return [group for group in found if self.varies[list(group)].all()]

    def frequent_columns(self, free: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The columns with most entries among those whose coefficients are estimated."""
        columns = np.flatnonzero(free[:-1])
        return np.sort(columns[np.argsort(-self.entries[columns], kind="stable")[:_FREQUENT]])

    @cached_property
    def entries(self) -> Array:
        """Number of entries of each column that are not 0; of dense columns, of rows."""
        found = np.full(self.n_features, float(self.block.n_used))
        for columns, part in self.block.rows.parts:
            if part.is_sparse:
                found[columns] = np.bincount(part.whole().indices, minlength=part.n_features)
        return found

    @cached_property
    def class_shares(self) -> Array:
        """Shares of the classes."""
        labels, weights = self.labels_and_weights()
        classes = (labels > 0).astype(np.intp) if self.objective.n_outputs == 1 else labels.astype(np.intp)
        counts = np.bincount(classes, weights, minlength=max(2, self.objective.n_outputs))
        return np.asarray(counts / weights.sum())

    @property
    def target_spread(self) -> float:
        """Variance of the targets of a regression."""
        labels, weights = self.labels_and_weights()
        return float(np.average((labels - np.average(labels, weights=weights)) ** 2, weights=weights))

    @property
    def has_whole_weights(self) -> bool:
        """Whether all weights are whole numbers."""
        return are_whole(self.labels_and_weights()[1])

    def labels_and_weights(self) -> tuple[Array, Array]:
        """Labels and weights of the rows that are used."""
        used = self.block.all_used()
        return self.block.labels[used], self.block.weights_of(used) * self.frequency

    def first_row(self, columns: NDArray[np.intp]) -> Array:
        """Values of some columns in the first row of positive weight, divided by ``units``."""
        row = self.block.rows.whole()[[int(self.block.all_used()[0])]]
        return np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()[columns]

    def null_loss(self) -> float:
        """Summed loss of the best model that predicts the same for all rows."""
        labels, weights = self.labels_and_weights()
        scores = np.tile(best_constant(self.objective, labels, weights), (labels.size, 1))
        return float(weights @ derivatives(self.objective, scores, labels).losses)

    def constant_model(self) -> Array:
        """A model that predicts the same for all rows, to start from."""
        return constant_model(self.objective, self.block, self.pieces.width)

    @property
    def n_used(self) -> int:
        """Number of rows of positive weight."""
        return self.block.n_used

    @property
    def has_cheap_curvature(self) -> bool:
        """Where the curvature is expensive, steps use that of earlier points."""
        outputs = self.objective.n_free_outputs
        return self.n_used * (self.n_features + 1) ** 2 * outputs * (outputs + 1) / 2 <= _CHEAP

    def sum(self, request: RowSum) -> Any:
        """A sum over the rows."""
        return self.rows.sum(request)

    def column_products(self) -> Array:
        """Σv·(x̃, 1)(x̃, 1)ᵀ."""
        return column_products(self.pieces)

    def score_products(self, model: Array) -> Array:
        """Σv·ggᵀ of the gradients g of the rows; v² in place of v if the weights are sampling weights."""
        return score_products(self.objective, self.pieces, model, power=2 if self.weights == "sampling" else 1)

    def group_score_products(self, model: Array) -> Array:
        """Σ over groups of (Σvg)(Σvg)ᵀ."""
        assert self.groups is not None
        return group_score_products(self.objective, self.pieces, model, self.groups)

    def largest_change(self, step: Array) -> float:
        """Largest change of a score by a step."""
        return largest_change(self.objective, self.pieces, step)

    def information(self, model: Array) -> Array:
        """Σv·p(1 − p) of each class, sampling weights divided by their mean."""
        unit = 1.0 if self.weights == "frequency" else self.block.total_weight / self.n_rows
        return information(self.objective, self.pieces, model) / unit

    def slope_sums(self, model: Array) -> Array:
        """Σv·ψ² of the slopes ψ of a regression, and the weight of the rows where |ψ| is below its bound."""
        return slope_sums(self.objective, self.pieces, model)

    def bias_sums(self, model: Array, inverse: Array) -> Array:
        """Σv·(x̃, 1) ⊗ t, as in `sgdone.inference.bias`."""
        return bias_sums(self.objective, self.pieces, model, inverse)


def whole_rows(count: float) -> float:
    """A number of rows without the rounding of weights, which were divided by their mean."""
    near = float(np.rint(count))
    return near if abs(count - near) <= _SUM_ROUNDING * near else count


def are_whole(weights: Array) -> bool:
    """Whether weights are whole numbers, up to rounding."""
    return bool(np.allclose(weights, np.round(weights), rtol=1e-9))
