"""Optima along a path of penalties by Newton's method, and the penalty by approximate leave-one-out."""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.first_penalty import best_of_least_squares
from sgdone.auto.leave_one_out import leave_one_out, losses_of_constant
from sgdone.auto.penalty_grid import PenaltyGrid, penalty
from sgdone.auto.penalty_path import Optimum, PenaltyPath
from sgdone.interfaces.measured import mean
from sgdone.interfaces.objective import Objective
from sgdone.solvers.minimisation import EXACT, Evaluated, Minimisation
from sgdone.solvers.newton_step import Factors
from sgdone.sums.pieces import Pieces
from sgdone.sums.second_order import SecondOrder

Array = NDArray[np.float64]

#: Decrement at which one more step is so close to the optimum that the leave-one-out loss there is that of the optimum.
_NEAR = 1e-4
#: Coefficients up to which the curvatures of all penalties are kept, to start from: beyond, only the last one.
_MOST_KEPT = 1000
#: Products of a curvature that cost no more than calling NumPy does: it is then evaluated at each point.
_CHEAP = 4e7
#: See `ExactPath.has_finite_optimum`.
_FINITE = 0.5
#: Coefficients of a model that is as good as constant: √(wᵀCw) for the curvature C of the loss, so that each of them is
#: below as many standard errors; and smallest penalty, as a share of the largest eigenvalue of C, that makes a
#: difference.
_NO_COEFFICIENT, _NO_PENALTY = 0.01, 1e-10
#: Share of the loss of a constant prediction that such a model has at least.
_AS_GOOD = 0.9


@final
class ExactPath(PenaltyPath):
    """Newton's method at one penalty after the other, each from the nearest optimum.

    Parameters
    ----------
    objective : Objective
        The loss, and the penalty if it is given.
    pieces : Pieces
        Rows in the units in which the penalty acts.
    start : ndarray
        The model to start from.
    """

    def __init__(self, objective: Objective, pieces: Pieces, start: Array) -> None:
        self.objective, self.pieces = objective, pieces
        pairs = objective.n_free_outputs * (objective.n_free_outputs + 1) // 2
        self._cheap = pieces.n_rows * pieces.width**2 * pairs <= _CHEAP
        self._grid = PenaltyGrid()
        self.optima = dict[int, Optimum]()
        self._start = start
        self._factors: Factors | None = None
        self._least: tuple[Array, Array] | None = None
        self._known = dict[int, tuple[Array, SecondOrder]]()
        self._search: Minimisation | None = None
        self._strength = math.nan

    @property
    def grid(self) -> PenaltyGrid:
        """The penalties that were tried."""
        return self._grid

    @property
    def loss(self) -> float:
        """The estimated loss of new rows at the best penalty."""
        return self.grid.losses[self.grid.best]

    @property
    def evaluated(self) -> Evaluated:
        """What the last reading of the rows found."""
        return Evaluated(math.nan, math.nan) if self._search is None else self._search.evaluated

    @property
    def best(self) -> Optimum | None:
        """The optimum of the best penalty so far; before the first, where the search is."""
        if self.grid.losses:
            return self.optima[self.grid.best]
        return None if self._search is None else Optimum(self._search.model, self._strength, np.empty(0), math.nan)

    def evaluations(self) -> Iterator[None]:
        """Find the optima; stops before each reading of the rows."""
        given = self.objective.alpha
        if given is None:
            yield from self._choose_first()
            while (k := self.grid.next()) is not None:
                yield from self._near_optimum(k, penalty(k))
            best = self.optima[self.grid.best]
            yield from self._optimum(self.grid.best, best.penalty, best.model, best.losses)
        else:
            yield from self._near_optimum(0, given * self.pieces.frequency * self.pieces.block.total_weight)
            best = self.optima[0]
            yield from self._optimum(0, best.penalty, best.model, best.losses)

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist.

        With H the curvature of the loss alone and g its gradient at a model, it does if √(gᵀH⁻¹g)·√(x̃ᵀH⁻¹x̃) ≤ ½ for
        all rows x̃ (Bach 2010, section 2). The optimum of the smallest penalty is used, the closest to it.
        """
        if self._least is None or not self._cheap or self.objective.predicts != "two_classes":
            return False
        curvature, gradient = self._least
        factors = Factors.of(curvature, self._penalties(0.0), gradient.shape[1])
        if factors.cholesky is None:
            return False
        inverse = factors.inverse()
        largest = max(float(piece.rows.quadratic_forms(inverse[None]).max()) for piece in self.pieces)
        return float(np.vdot(gradient, factors.solve(gradient))) * largest <= _FINITE**2

    def _choose_first(self) -> Iterator[None]:
        """Begin the search at the penalty that is best for least squares, if the start is a constant prediction.

        There the working responses of a logistic loss have the variance 1 and the curvature M ⊗ G, M that of the
        scores and G of the columns: their eigenvalues give generalised cross-validation for all penalties.
        """
        if self._start[:-1].any() or not self.objective.loss.probabilistic or self.pieces.n_features > _MOST_KEPT:
            return
        search = self._minimisation(penalty(self.grid.first), self._start)
        yield from search.first_evaluation()
        self.grid.first = best_of_least_squares(search.sums, self._start.shape)
        self._known[self.grid.first] = search.at, search.sums

    def _near_optimum(self, k: int, strength: float) -> Iterator[None]:
        """Come close to the optimum, and estimate the loss of new rows there."""
        nearest = min(self._known, key=lambda other: (abs(other - k), other), default=None)
        known = None if nearest is None else self._known[nearest]
        search = self._minimisation(strength, self._start if known is None else known[0])
        yield from search.evaluations(_NEAR, None if known is None else known[1])
        self._factors = search.factors
        if search.model.size > _MOST_KEPT:
            self._known.clear()
        self._known[k] = search.at, search.sums
        inverse = search.factors.inverse()
        yield
        losses = leave_one_out(self.objective, self.pieces, search.model, inverse, single=search.single)
        self.optima[k] = Optimum(search.model, strength, losses, math.nan)
        self.grid.record(k, mean(losses, self._weights))
        if k == min(self.optima):
            self._least = search.sums.curvature, search.sums.gradient
        self._set_ends(k, search)

    def _optimum(self, k: int, strength: float, model: Array, losses: Array) -> Iterator[None]:
        """The exact optimum."""
        search = self._minimisation(strength, model)
        yield from search.evaluations(EXACT)
        self.optima[k] = Optimum(search.model, strength, losses, search.decrement / search.dispersion)

    def _minimisation(self, strength: float, model: Array) -> Minimisation:
        known = self.evaluated
        search = Minimisation(self.objective, self.pieces, self._penalties(strength), model, self._factors, self._cheap)
        search.evaluated = known
        self._search, self._strength = search, strength
        return search

    def _penalties(self, strength: float) -> Array:
        found = np.full(self.pieces.width, strength)
        found[:-1][~np.isfinite(self.pieces.scaling.scale)] = np.inf
        found[-1] = 0.0 if self.objective.fit_intercept else np.inf
        return found

    @cached_property
    def _weights(self) -> Array:
        return np.concatenate([piece.weights for piece in self.pieces])

    @cached_property
    def _constant_loss(self) -> float:
        """The loss of a constant prediction, summed over the rows."""
        labels = np.concatenate([piece.labels for piece in self.pieces])
        losses = losses_of_constant(self.objective, labels, self._weights, left_out=False)
        return float(losses @ self._weights)

    def _set_ends(self, k: int, search: Minimisation) -> None:
        """No larger penalty makes a difference to a model that is as good as constant; nor does a tiny one."""
        if self.grid.lowest == -math.inf:
            largest = max(_largest_eigenvalue(search.sums.curvature), np.finfo(np.float64).tiny)
            self.grid.lowest = 2.0 * math.log10(_NO_PENALTY * largest)
        coef = search.model.copy()
        coef[-1] = 0.0
        flat = coef.T.ravel()
        vanished = flat @ (search.sums.curvature @ flat) <= _NO_COEFFICIENT**2 * search.dispersion
        # Where rows are separated there is no curvature either.
        if vanished and search.sums.loss >= _AS_GOOD * self._constant_loss:
            self.grid.highest = min(self.grid.highest, k)


def _largest_eigenvalue(matrix: Array) -> float:
    """By ten products, to a few per cent."""
    vector = np.sqrt(np.maximum(np.diagonal(matrix), 0.0)) + np.finfo(np.float64).tiny
    for _ in range(10):
        vector = matrix @ (vector / max(float(np.linalg.norm(vector)), np.finfo(np.float64).tiny))
    return float(np.linalg.norm(vector))
