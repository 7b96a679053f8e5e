"""Sample of a summary: facts about rows, and sums over them, wherever the rows are."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.identification import ColumnHashes
from sgdone.inference.sample_rows import (
    ColumnPowers,
    SampleFacts,
    SampleFactsSum,
    SamplePreparation,
    SampleRows,
    SampleSource,
    comparable_scaling,
    safe_units,
)
from sgdone.inference.sums_at_model import ColumnProducts
from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import single_thread
from sgdone.rows.rows import Scaling
from sgdone.rows.source import LEAST_ROWS, MOST_ROWS
from sgdone.sums.row_sum import ArraySum, RowSum
from sgdone.sums.second_order import derivatives
from sgdone.sums.system import System, initial_intercept

Array = NDArray[np.float64]
Weights = Literal["frequency", "sampling"]

#: Columns with most entries, whose curvature is factorised to precondition conjugate gradients.
_FREQUENT = 512
#: Relative error of a sum of weights.
_SUM_ROUNDING = 1e-12
#: Products of a curvature up to which it is evaluated at each step; beyond, steps use an earlier one.
_CHEAP = 4e8


@final
@dataclass(frozen=True)
class Sample:
    """Facts about the rows of a summary, and sums over them.

    Models have (features + 1) × free outputs coefficients, in the units of ``scaling``. The objective has no penalty;
    ``source`` has the rows as they are given, and ``facts`` are those of the prepared rows with the targets as they
    were.
    """

    objective: Objective
    source: SampleSource
    preparation: SamplePreparation
    facts: SampleFacts
    weights: Weights = "frequency"

    @classmethod
    def of(
        cls, objective: Objective, source: SampleSource, weights: Weights = "frequency", frequency: float | None = None
    ) -> "Sample":
        """Find the units of the columns and of the weights; raise for rows that are not finite.

        ``frequency`` is how many rows a row of weight 1 stands for; None to find it from the weights.
        """
        preparation = SamplePreparation(frequency=1.0 if frequency is None else frequency)
        with single_thread(), np.errstate(over="ignore", invalid="ignore"):
            facts = _facts(objective, source, preparation)
            units = safe_units(facts.largest)
            if (units != 1.0).any():
                preparation = replace(preparation, units=units)
                facts = _facts(objective, source, preparation)
        if frequency is None:
            is_count = weights == "frequency" and LEAST_ROWS <= facts.weight <= MOST_ROWS
            frequency = 1.0 if is_count else facts.rows / facts.weight
        # The intercept takes up the mean of the targets, so that they keep their digits.
        origin = float(facts.targets.means[0]) if facts.targets is not None and objective.fit_intercept else 0.0
        nothing = np.empty((0, units.size + 1))
        preparation = SamplePreparation(units, origin, frequency, nothing, facts.starts)
        return cls(objective, source, preparation, facts, weights)

    def without(self, direction: Array) -> "Sample":
        """The rows of two classes that a direction, in the units of the sample, does not separate."""
        separated = np.vstack([self.preparation.separated, direction])
        return self._of_others(self.source, replace(self.preparation, separated=separated))

    def without_rows(self, rows: NDArray[np.bool_]) -> "Sample":
        """The sample without some rows; only if all rows are in this process."""
        given = self.source.local_rows
        assert given is not None
        return self._of_others(given.without(rows), self.preparation)

    def _of_others(self, source: SampleSource, preparation: SamplePreparation) -> "Sample":
        facts = _facts(self.objective, source, preparation)
        return replace(self, source=source, preparation=replace(preparation, starts=facts.starts), facts=facts)

    @cached_property
    def rows(self) -> SampleSource:
        """The rows that are added up."""
        return self.source.prepared(self.preparation)

    @property
    def local_rows(self) -> SampleRows | None:
        """The rows, if they are all in this process; otherwise None."""
        return self.rows.local_rows

    def sum(self, request: RowSum) -> Any:
        """A sum over the rows."""
        return self.rows.sum(request)

    @property
    def units(self) -> Array:
        """Divisors of the columns: 1 unless their squares would overflow or underflow."""
        return self.preparation.units

    @property
    def origin(self) -> float:
        """Offset subtracted from the targets."""
        return self.preparation.origin

    @cached_property
    def scaling(self) -> Scaling:
        """Units in which the columns are comparable; infinite for columns without a coefficient of their own."""
        return comparable_scaling(self.facts, fit_intercept=self.objective.fit_intercept)

    @cached_property
    def system(self) -> System:
        """The loss in comparable units."""
        return System(self.objective, self.scaling)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.units.size)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column has a coefficient of its own."""
        return np.isfinite(self.scaling.scale)

    @property
    def n_used(self) -> int:
        """Number of rows of positive weight."""
        return self.facts.rows

    @property
    def n_rows(self) -> float:
        """Number of rows: the sum of the weights if they are frequencies."""
        if self.weights == "sampling":
            return float(self.facts.rows)
        count = self.preparation.frequency * self.facts.weight
        near = float(np.rint(count))
        # Without the rounding of weights that were divided by their mean.
        return near if abs(count - near) <= _SUM_ROUNDING * near else count

    @property
    def n_groups(self) -> int:
        """Number of groups of rows of positive weight; 0 if the rows have none."""
        return int(self.facts.groups.size)

    @property
    def weight_power(self) -> int:
        """The power of a weight in the sum of outer products of gradients."""
        return 2 if self.weights == "sampling" else 1

    @property
    def weight_unit(self) -> float:
        """Divisor of sampling weights, so that they sum to the number of rows; 1 for frequencies."""
        if self.weights == "frequency":
            return 1.0
        return self.preparation.frequency * self.facts.weight / self.facts.rows

    def rarest_share(self, chosen: NDArray[np.bool_]) -> float:
        """The smallest share of rows inside or outside one of the classes of the chosen outputs; 1 in regression."""
        if self.objective.is_regression:
            return 1.0
        shares = self.facts.classes / self.facts.classes.sum()
        shares = shares[1:] if self.objective.n_outputs == 1 else shares[chosen]
        return float(np.minimum(shares, 1.0 - shares).min())

    @property
    def target_squares(self) -> float:
        """Σv·y² of the targets as they were."""
        return self.preparation.frequency * self.facts.target_squares

    @property
    def target_spread(self) -> float:
        """Variance of the targets of a regression."""
        assert self.facts.targets is not None
        return float(self.facts.targets.squares[0] / self.facts.targets.rows)

    @cached_property
    def rows_of_columns(self) -> Array:
        """Number of rows that the variation of each column comes from: (Σvd²)²/Σvd⁴.

        d is the distance from the mean, or from 0 without an intercept. It is m for a column with m ones among many
        zeros, a third of the rows for a normal distribution, and 1 if one row is far from all others.
        """
        sampling = self.weights == "sampling"
        means = self.facts.moments.means if self.objective.fit_intercept else None
        squares, fourths = self.sum(ColumnPowers(self.scaling, means, sampling)).values
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (1.0 if sampling else self.preparation.frequency) * squares**2 / fourths
        return np.where(self.varies & (fourths > 0), found, 0.0)

    @cached_property
    def column_products(self) -> Array:
        """Σv·(x̃, 1)(x̃, 1)ᵀ."""
        found: ArraySum = self.sum(ColumnProducts(self.system))
        return found.values

    def repeated_columns(self) -> list[tuple[int, ...]]:
        """Columns that are equal in all rows used, and not constant."""
        hashes = self.sum(ColumnHashes()).values.tolist()
        groups: dict[tuple[Any, ...], list[int]] = {}
        for j in np.flatnonzero(self.varies).tolist():
            groups.setdefault((hashes[j], self.facts.low[j], self.facts.high[j]), []).append(j)
        return [tuple(group) for group in groups.values() if len(group) > 1]

    def frequent_columns(self, free: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The columns with most entries among those whose coefficients are estimated."""
        columns = np.flatnonzero(free[:-1])
        return np.sort(columns[np.argsort(-self.facts.entries[columns], kind="stable")[:_FREQUENT]])

    @property
    def has_cheap_curvature(self) -> bool:
        """Whether each step evaluates the curvature; otherwise steps use that of earlier points."""
        outputs = self.objective.n_free_outputs
        products = self.n_used * (self.n_features + 1) ** 2 * outputs * (outputs + 1) / 2
        return self.local_rows is None or products <= _CHEAP

    def model_in_units(self, coef: Array, intercept: Array) -> Array:
        """A model of the user's as the sums need it: (features + 1) × free outputs, in comparable units."""
        return self.system.from_user(coef * self.units, intercept - self.origin)

    def null_loss(self) -> float:
        """Summed loss of the best model that predicts the same for all rows; for a likelihood or least squares."""
        facts, frequency = self.facts, self.preparation.frequency
        if facts.targets is not None:
            squares = float(facts.targets.squares[0]) if self.objective.fit_intercept else facts.target_squares
            return 0.5 * frequency * squares
        scores = np.tile(self._constant_scores, (facts.classes.size, 1))
        return float(frequency * facts.classes @ derivatives(self.objective, scores, self._codes).losses)

    def constant_model(self) -> Array:
        """A model that predicts the same for all rows, to start from: the mean target, or the shares of the classes."""
        return self.system.constant(np.zeros(1) if self.objective.is_regression else self._constant_scores)

    @property
    def _codes(self) -> Array:
        """Labels of the classes in the sums."""
        return np.array([-1.0, 1.0]) if self.facts.classes.size == 2 else np.arange(float(self.facts.classes.size))

    @property
    def _constant_scores(self) -> Array:
        return initial_intercept(self.objective, self._codes, self.facts.classes)


def _facts(objective: Objective, source: SampleSource, preparation: SamplePreparation) -> SampleFacts:
    n_classes = 0 if objective.is_regression else max(2, objective.n_outputs)
    found: SampleFacts = source.prepared(preparation).sum(SampleFactsSum(n_classes))
    return found
