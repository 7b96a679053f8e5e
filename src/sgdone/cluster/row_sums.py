"""Rounds at a model: losses, gradient and curvature, and products of the curvature, summed over all partitions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.partition import Partition, RowSet
from sgdone.cluster.problem import Problem
from sgdone.cluster.requests import Request
from sgdone.cluster.rounds import Asks
from sgdone.interfaces.objective import Objective
from sgdone.sums.derivatives import derivatives
from sgdone.sums.merging import merged
from sgdone.sums.pieces import Piece
from sgdone.sums.row_sum import ArraySum, RowSum, message
from sgdone.sums.second_order import Curvature, SecondOrder, scores, second_order
from sgdone.sums.second_order import CurvatureProduct as ProductSum
from sgdone.sums.second_order import SecondOrderAt as SecondOrderSum
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]


@final
@message
@dataclass(frozen=True)
class SecondOrderAt(Request):
    """Ask for loss, gradient and curvature; the problem and the model are shared."""

    rows: RowSet
    key: int
    curvature: Curvature

    def work(self, partition: Partition, *shared: Any) -> SecondOrder | None:
        """The sums over the rows."""
        problem, model = shared
        pieces = partition.pieces(problem, self.rows, self.key)
        return second_order(problem.objective, pieces, model, curvature=self.curvature) if pieces.n_rows else None


@final
@message
@dataclass(frozen=True)
class CurvatureProduct(Request):
    """Ask for the product of the curvature with a direction; the problem and the model are shared."""

    rows: RowSet
    key: int
    direction: Array

    def work(self, partition: Partition, *shared: Any) -> ArraySum | None:
        """The product over the rows."""
        problem, model = shared
        pieces = partition.pieces(problem, self.rows, self.key)
        return ArraySum(partition.products(problem, pieces, model)(self.direction)) if pieces.n_rows else None


@final
@message
@dataclass(frozen=True)
class LossesAt(Request):
    """Ask for the summed losses of several models (the first axis), and the weight of the rows, which comes last.

    The problem is shared.
    """

    rows: RowSet
    key: int
    models: Array

    def work(self, partition: Partition, *shared: Any) -> ArraySum | None:
        """The losses of the rows."""
        problem: Problem = shared[0]
        pieces = partition.pieces(problem, self.rows, self.key)
        return merged(pieces.map(partial(self._of_piece, problem.objective))) if pieces.n_rows else None

    def _of_piece(self, objective: Objective, piece: Piece) -> ArraySum:
        basis = contrasts(objective)
        found = [derivatives(objective, scores(piece.rows, model, basis), piece.labels) for model in self.models]
        sums = [float(piece.weights @ own.losses) for own in found]
        return ArraySum(np.array([*sums, float(piece.weights.sum())]))


@final
@dataclass(frozen=True)
class SummedRows:
    """Rows of all partitions, of which sums are taken in rounds.

    Parameters
    ----------
    rounds : Asks
        Sends the requests.
    problem : Problem
        What is fitted, and in which units.
    n_rows : int
        Number of rows of positive weight.
    rows : {"all", "training", "validation"}
        Which of them are used.
    key : int
        Draws the validation rows.
    least_unit : float
        Variance of targets about their predictions below which it is rounding; 0 in classification.
    """

    rounds: Asks
    problem: Problem
    n_rows: int
    rows: RowSet
    key: int
    least_unit: float = 0.0

    @property
    def system(self) -> System:
        """The objective in the units of training."""
        return System(self.problem.objective, self.problem.scaling)

    def sum(self, request: RowSum) -> Any:
        """The value of a sum that Newton's method asks for."""
        if isinstance(request, SecondOrderSum):
            return self.second_order(request.model, request.curvature)
        assert isinstance(request, ProductSum)
        return ArraySum(self.products(request.model)(request.direction))

    def second_order(self, model: Array, curvature: Curvature) -> SecondOrder:
        """Loss, gradient and curvature at a model, in one round."""
        found: SecondOrder = self.rounds.ask(SecondOrderAt(self.rows, self.key, curvature), self.problem, model)
        return found

    def products(self, model: Array) -> Callable[[Array], Array]:
        """The function u ↦ Hu at a model; each product is a round."""

        def product(direction: Array) -> Array:
            found: ArraySum = self.rounds.ask(CurvatureProduct(self.rows, self.key, direction), self.problem, model)
            return found.values

        return product

    def losses(self, models: Array) -> tuple[Array, float]:
        """Summed losses of several models, and the weight of the rows, in one round; the weight is 0 without rows."""
        found: ArraySum | None = self.rounds.ask(LossesAt(self.rows, self.key, models), self.problem)
        return (np.zeros(len(models)), 0.0) if found is None else (found.values[:-1], float(found.values[-1]))
