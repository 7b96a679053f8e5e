"""The rows of all partitions, as a summary needs them: facts and sums, in rounds."""

from dataclasses import replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.rounds import Rounds
from sgdone.cluster.sample_facts import FactsOfRows, SampleFacts
from sgdone.cluster.score_sums import (
    CurvatureAt,
    GroupScores,
    GroupScoresAt,
    Largest,
    LargestChange,
    RowsAlong,
    SumName,
    SumOfRows,
)
from sgdone.cluster.summary_problem import OfSummary, SummaryProblem
from sgdone.data.rows import Scaling
from sgdone.inference.column_variation import comparable_scaling, rows_of_powers, safe_units
from sgdone.inference.sample import whole_rows
from sgdone.inference.sample_sums import SampleSums, Weights
from sgdone.run.constant_prediction import initial_intercept
from sgdone.sums.derivatives import derivatives
from sgdone.sums.row_sum import ArraySum, RowSum
from sgdone.sums.second_order import Curvature, SecondOrder, SecondOrderAt
from sgdone.sums.system import contrasts

Array = NDArray[np.float64]

#: The sum of sample weights that can be numbers of rows, as in `sgdone.estimators.sample_weights.Frequencies`.
_LEAST_ROWS, _MOST_ROWS = 1.0, 1e15


@final
class PartitionSample(SampleSums):
    """Rows in partitions. Each sum is a round; what it found is kept where it is needed again.

    Parameters
    ----------
    rounds : Rounds
        Sends the requests.
    problem : SummaryProblem
        What is summarised, with its units.
    facts : SampleFacts
        Those of all rows.
    """

    def __init__(self, rounds: Rounds, problem: SummaryProblem, facts: SampleFacts) -> None:
        self._rounds, self.problem, self.facts = rounds, problem, facts
        self.objective, self.units, self.origin = problem.objective, problem.units, problem.origin
        self.weights: Weights = "sampling" if problem.sampling else "frequency"
        self.target_squares = problem.frequency * facts.target_squares
        self._last: tuple[Array, SecondOrder] | None = None

    @classmethod
    def of(cls, rounds: Rounds, problem: SummaryProblem) -> "PartitionSample":
        """Find the units of the columns, and what a weight of 1 stands for."""
        facts = _facts(rounds, problem)
        units = safe_units(facts.largest)
        if (units != 1.0).any():
            problem = replace(problem, units=units).with_key()
            facts = _facts(rounds, problem)
        frequency, origin = 1.0, 0.0
        if problem.sampling or not _LEAST_ROWS <= facts.weight <= _MOST_ROWS:
            frequency = facts.rows / facts.weight
        if facts.targets is not None and problem.objective.fit_intercept:
            origin = float(facts.targets.means[0])
        known = replace(problem, frequency=frequency, origin=origin, scaling=_scaling(problem, facts))
        return cls(rounds, known.with_key(), facts)

    def without(self, direction: Array) -> "PartitionSample":
        """The rows of two classes that a direction, in the units of the sample, does not separate."""
        problem = replace(self.problem, separated=np.vstack([self.problem.separated, direction])).with_key()
        facts = _facts(self._rounds, problem)
        known = replace(problem, scaling=_scaling(problem, facts)).with_key()
        return PartitionSample(self._rounds, known, facts)

    @property
    def n_rows(self) -> float:
        """Number of rows: the sum of the weights if they are frequencies."""
        if self.problem.sampling:
            return float(self.facts.rows)
        return whole_rows(self.problem.frequency * self.facts.weight)

    @property
    def n_groups(self) -> int:
        """Number of groups of rows of positive weight."""
        return 0 if self.facts.groups is None else int(self.facts.groups.size)

    @property
    def scaling(self) -> Scaling:
        """Units in which dense columns have mean 0 and spread 1, and sparse columns a root mean square of 1."""
        return self.problem.scaling

    @cached_property
    def rows_of_columns(self) -> Array:
        """Number of rows that the variation of each column comes from."""
        means = (self.facts.moments.means,) if self.objective.fit_intercept else ()
        unit = 1.0 if self.problem.sampling else self.problem.frequency
        return rows_of_powers(self._sum("powers", *means), self.varies, unit)

    @property
    def class_shares(self) -> Array:
        """Shares of the classes."""
        return np.asarray(self.facts.classes / self.facts.classes.sum())

    @property
    def target_spread(self) -> float:
        """Variance of the targets of a regression."""
        assert self.facts.targets is not None
        return float(self.facts.targets.squares[0] / self.facts.targets.rows)

    @property
    def has_whole_weights(self) -> bool:
        """Whether all weights are whole numbers."""
        return self.facts.has_whole_weights

    def first_row(self, columns: NDArray[np.intp]) -> Array:
        """Values of some columns in the first row of positive weight, divided by ``units``."""
        return self.facts.first[columns]

    def null_loss(self) -> float:
        """Summed loss of the best model that predicts the same for all rows; of a likelihood or least squares."""
        facts, frequency = self.facts, self.problem.frequency
        if facts.targets is not None:
            squares = float(facts.targets.squares[0]) if self.objective.fit_intercept else facts.target_squares
            return 0.5 * frequency * squares
        scores = np.tile(self._constant_scores, (facts.classes.size, 1))
        return float(frequency * facts.classes @ derivatives(self.objective, scores, self._codes).losses)

    def constant_model(self) -> Array:
        """A model that predicts the same for all rows, to start from: the mean target, or the shares of the classes."""
        model, basis = np.zeros((self.n_features + 1, self.objective.n_free_outputs)), contrasts(self.objective)
        if not self.objective.is_regression:
            model[-1] = self._constant_scores if basis is None else self._constant_scores @ basis
        return model

    @property
    def _codes(self) -> Array:
        """Labels of the classes in the sums."""
        return np.array([-1.0, 1.0]) if self.facts.classes.size == 2 else np.arange(float(self.facts.classes.size))

    @property
    def _constant_scores(self) -> Array:
        return initial_intercept(self.objective, self._codes, self.facts.classes)

    @property
    def n_used(self) -> int:
        """Number of rows of positive weight."""
        return self.facts.rows

    @property
    def has_cheap_curvature(self) -> bool:
        """A round takes longer than the curvature."""
        return True

    def sum(self, request: RowSum) -> Any:
        """Loss, gradient and curvature at a model; those of the last model are kept."""
        assert isinstance(request, SecondOrderAt)
        return self.second_order(request.model, request.curvature)

    def second_order(self, model: Array, curvature: Curvature = "full") -> SecondOrder:
        """Loss, gradient and curvature at a model; those of the last model are kept."""
        if self._last is not None and np.array_equal(self._last[0], model):
            return self._last[1]
        found: SecondOrder = self._rounds.sum(OfSummary(CurvatureAt(model, curvature), self.problem))
        if curvature == "full":
            self._last = model, found
        return found

    @cached_property
    def _column_products(self) -> Array:
        return self._sum("column products")

    def column_products(self) -> Array:
        """Σv·(x̃, 1)(x̃, 1)ᵀ."""
        return self._column_products

    def score_products(self, model: Array) -> Array:
        """Σv·ggᵀ of the gradients g of the rows; v² in place of v if the weights are sampling weights."""
        return self._sum("score products", model)

    def group_score_products(self, model: Array) -> Array:
        """Σ over groups of (Σvg)(Σvg)ᵀ."""
        found: GroupScores = self._rounds.sum(OfSummary(GroupScoresAt(model), self.problem))
        return np.asarray(found.sums.T @ found.sums)

    def largest_change(self, step: Array) -> float:
        """Largest change of a score by a step."""
        found: Largest = self._rounds.sum(OfSummary(LargestChange(step), self.problem))
        return found.value

    def information(self, model: Array) -> Array:
        """Σv·p(1 − p) of each class, sampling weights divided by their mean."""
        unit = self.problem.frequency * self.facts.weight / self.facts.rows if self.problem.sampling else 1.0
        return self._sum("information", model) / unit

    def slope_sums(self, model: Array) -> Array:
        """Σv·ψ² of the slopes ψ of a regression, and the weight of the rows where |ψ| is below its bound."""
        return self._sum("slopes", model)

    def bias_sums(self, model: Array, inverse: Array) -> Array:
        """Σv·(x̃, 1) ⊗ t, as in `sgdone.inference.bias`."""
        return self._sum("bias", model, inverse)

    def rows_along(self, directions: Array) -> Array:
        """Of each direction, the number of rows that it separates, and of those that are on the wrong side."""
        found: ArraySum = self._rounds.sum(OfSummary(RowsAlong(directions), self.problem))
        return found.values

    def _sum(self, name: SumName, *arrays: Array) -> Array:
        found: ArraySum = self._rounds.sum(OfSummary(SumOfRows(name, arrays), self.problem))
        return found.values


def _facts(rounds: Rounds, problem: SummaryProblem) -> SampleFacts:
    found: SampleFacts | None = rounds.sum(OfSummary(FactsOfRows(), problem))
    if found is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
    if problem.classes is not None and not problem.separated.size and not np.all(found.classes > 0):
        missing = problem.classes[found.classes == 0].tolist()[0]
        raise ValueError(f"no partition has a row of the class {missing!r}: give the rows of the fit, with all classes")
    return found


def _scaling(problem: SummaryProblem, facts: SampleFacts) -> Scaling:
    def is_constant(column: int) -> bool:
        return bool(facts.low[column] == facts.high[column])

    intercept = problem.objective.fit_intercept
    return comparable_scaling(facts.moments, facts.n_dense, is_constant, fit_intercept=intercept)
