"""Rounds of a summary: sums over the rows of all partitions, at a model or of the columns alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.partition import Partition
from sgdone.cluster.sample_facts import joined_labels
from sgdone.cluster.separation_margins import margin_signs
from sgdone.cluster.summary_problem import SummaryProblem, SummaryRows, rows_of_partition
from sgdone.inference.bias import bias_sums
from sgdone.inference.column_variation import power_sums
from sgdone.inference.sums_at_model import column_products, information, largest_change, slope_sums
from sgdone.sums.pieces import Pieces
from sgdone.sums.row_sum import ArraySum, message
from sgdone.sums.score_products import score_products, slopes_of
from sgdone.sums.second_order import Curvature, SecondOrder, second_order

Array = NDArray[np.float64]
#: Names of sums; the arrays that they need are in brackets below.
SumName = Literal["powers", "column products", "score products", "information", "slopes", "bias"]

#: Most numbers in the gradients of the groups of a partition.
_MOST_NUMBERS = 1 << 26


def _powers(problem: SummaryProblem, rows: SummaryRows, *means: Array) -> Array:
    centres = means[0] if means else None
    return power_sums(rows.block, problem.scaling, centres, sampling=problem.sampling)


def _score_products(problem: SummaryProblem, rows: SummaryRows, model: Array) -> Array:
    return score_products(problem.objective, rows.pieces, model, power=2 if problem.sampling else 1)


_SUMS: Final[dict[SumName, Callable[..., Array]]] = {
    "powers": _powers,  # means, if there is an intercept
    "column products": lambda problem, rows: column_products(rows.pieces),
    "score products": _score_products,  # model
    "information": lambda problem, rows, model: information(problem.objective, rows.pieces, model),
    "slopes": lambda problem, rows, model: slope_sums(problem.objective, rows.pieces, model),
    "bias": lambda problem, rows, model, inverse: bias_sums(problem.objective, rows.pieces, model, inverse),
}


@final
@message
@dataclass(frozen=True)
class SumOfRows:
    """Ask for a sum over the rows; the problem is shared.

    Parameters
    ----------
    name : str
        Which sum.
    arrays : tuple of ndarray
        What it needs: a model and the like.
    """

    name: SumName
    arrays: tuple[Array, ...] = ()

    def work(self, partition: Partition, *shared: Any) -> ArraySum | None:
        """The sum over these rows."""
        problem: SummaryProblem = shared[0]
        rows = rows_of_partition(partition, problem)
        return ArraySum(_SUMS[self.name](problem, rows, *self.arrays)) if rows.block.n_used else None


@final
@message
@dataclass(frozen=True)
class CurvatureAt:
    """Ask for loss, gradient and curvature at a model; the problem is shared."""

    model: Array
    curvature: Curvature

    def work(self, partition: Partition, *shared: Any) -> SecondOrder | None:
        """The sums over these rows."""
        problem: SummaryProblem = shared[0]
        rows = rows_of_partition(partition, problem)
        if not rows.block.n_used:
            return None
        return second_order(problem.objective, rows.pieces, self.model, curvature=self.curvature)


@final
@message
@dataclass(frozen=True)
class Largest:
    """The largest of several numbers."""

    value: float

    def merge(self, other: "Largest") -> "Largest":
        """The larger of both."""
        return Largest(max(self.value, other.value))


@final
@message
@dataclass(frozen=True)
class LargestChange:
    """Ask for the largest change of a score by a step; the problem is shared."""

    step: Array

    def work(self, partition: Partition, *shared: Any) -> Largest | None:
        """The largest change in these rows."""
        problem: SummaryProblem = shared[0]
        rows = rows_of_partition(partition, problem)
        return Largest(largest_change(problem.objective, rows.pieces, self.step)) if rows.block.n_used else None


@final
@message
@dataclass(frozen=True)
class RowsAlong:
    """Ask how many rows directions separate, and how many are on the wrong side or in doubt; the problem is shared.

    Parameters
    ----------
    directions : ndarray
        Directions × (features + 1) × outputs, in the units of the rows.
    """

    directions: Array

    def work(self, partition: Partition, *shared: Any) -> ArraySum | None:
        """Numbers of these rows, directions × 2."""
        problem: SummaryProblem = shared[0]
        block = rows_of_partition(partition, problem).block
        if not block.n_used:
            return None
        signs = (margin_signs(problem.objective.predicts, block, direction) for direction in self.directions)
        counts = [[(own > 0).any(axis=1).sum(), ((own < 0) | (own > 1)).any(axis=1).sum()] for own in signs]
        return ArraySum(np.array(counts, dtype=np.float64))


@final
@message
@dataclass(frozen=True)
class GroupScores:
    """Σv·g over the rows of each group.

    Parameters
    ----------
    groups : ndarray
        Labels of the groups, sorted.
    sums : ndarray
        Groups × coefficients.
    """

    groups: NDArray[Any]
    sums: Array

    def merge(self, other: "GroupScores") -> "GroupScores":
        """The sums over the rows of both; rows of a group may be in several partitions."""
        groups = joined_labels(self.groups, other.groups)
        sums = np.zeros((groups.size, self.sums.shape[1]))
        for own in (self, other):
            sums[np.searchsorted(groups, own.groups)] += own.sums
        return GroupScores(groups, sums)


@final
@message
@dataclass(frozen=True)
class GroupScoresAt:
    """Ask for the gradients of the groups at a model; the problem is shared."""

    model: Array

    def work(self, partition: Partition, *shared: Any) -> GroupScores | None:
        """The gradients of the groups of these rows."""
        problem: SummaryProblem = shared[0]
        rows = rows_of_partition(partition, problem)
        used = rows.block.all_used().astype(np.intp)
        if not used.size:
            return None
        assert rows.groups is not None
        groups, numbers = np.unique(rows.groups[used], return_inverse=True)
        if groups.size * self.model.size > _MOST_NUMBERS:
            raise ValueError(
                f"the {groups.size:,} groups of its rows have {self.model.size:,} coefficients each: too many to sum "
                "by group. Use cov='robust' if rows are independent, or larger groups"
            )
        return GroupScores(groups, _group_sums(problem, rows.pieces, self.model, numbers.reshape(-1), groups.size))


def _group_sums(problem: SummaryProblem, pieces: Pieces, model: Array, numbers: NDArray[np.intp], count: int) -> Array:
    """Σv·g of each group, output by output."""
    sums, first = np.zeros((count, model.size)), 0
    for piece in pieces:
        own, places = np.unique(numbers[first : first + piece.labels.size], return_inverse=True)
        slopes = piece.weights[:, None] * slopes_of(problem.objective, piece, model)
        members = np.zeros((piece.labels.size, own.size))
        members[np.arange(piece.labels.size), places.reshape(-1)] = 1.0
        parts = [piece.rows.transposed_times(members * slopes[:, [a]]) for a in range(slopes.shape[1])]
        sums[own] += np.concatenate(parts).T
        first += piece.labels.size
    return sums
