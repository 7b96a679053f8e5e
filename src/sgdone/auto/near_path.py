"""The optimum near a model, with the penalty of the least expected loss: readings of all rows, wherever they are."""

from dataclasses import replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.penalty_path import Optimum, PenaltyPath, Readings
from sgdone.interfaces.objective import Objective
from sgdone.newton import EXACT, Minimum, Position, Problem, minimise
from sgdone.newton.direction import ByFactors, Factors, Point
from sgdone.sums.second_order import SecondOrder, SecondOrderAt
from sgdone.sums.system import System

Array = NDArray[np.float64]

#: Penalties that are compared, in rows: features have the variance 1.
STRENGTHS = 10.0 ** (np.arange(-6, 9) / 2.0)
#: Rows for each coefficient: with fewer, the penalty matters, and only a path of them would tell the best.
ROWS_PER_COEFFICIENT = 50


def has_likelihood(objective: Objective) -> bool:
    """Whether the loss is a negative log-likelihood, up to a factor."""
    return objective.loss.probabilistic or (objective.is_regression and objective.loss.quadratic)


def best_strength(system: System, sums: SecondOrder, model: Array) -> float:
    """The penalty with the least expected loss of new rows, from the sums at a model near the optima.

    To second order the loss at the optimum of a penalty λ is L + gᵀd + dᵀHd/2 with d = −(H + Λ)⁻¹(g + Λw), and new rows
    have a loss that is larger by its effective degrees of freedom tr (H + Λ)⁻¹H, times the variance of the residuals in
    a regression (Akaike 1974; Hastie, Tibshirani & Friedman 2009, section 7.6).
    """
    unit = sums.dispersion(system.objective)
    best, least = 0.0, np.inf
    for strength in unit * STRENGTHS:
        own = system.penalties(float(strength))
        factors = Factors.of(sums.curvature, own, model.shape[1])
        step = factors.solve(-Point.of(sums, model, own).gradient)
        flat = step.T.ravel()
        change = float(np.vdot(sums.gradient, step)) + 0.5 * float(flat @ (sums.curvature @ flat))
        inverse = factors.inverse()
        inverse[factors.fixed, :] = inverse[:, factors.fixed] = 0.0
        expected = change + unit * float(np.vdot(inverse, sums.curvature))
        if expected < least:
            best, least = float(strength), expected
    return best


@final
class NearPath(PenaltyPath):
    """Newton's method from a model that is close, at a penalty that the first reading tells.

    Parameters
    ----------
    system : System
        The loss, and the units in which the penalty acts.
    n_rows : int
        Number of rows.
    start : ndarray
        The model to start from.
    strength : float
        Its penalty λ.
    chooses : bool
        Whether to choose the penalty again.
    """

    def __init__(self, system: System, n_rows: int, start: Array, strength: float, *, chooses: bool) -> None:
        self._system, self._n_rows, self._chooses = system, n_rows, chooses
        self._best = Optimum(start, strength, np.empty(0), np.nan)
        self._position = Position()

    @property
    def best(self) -> Optimum:
        """The model so far."""
        at = self._position.model
        return self._best if at is None or not np.isnan(self._best.decrement) else replace(self._best, model=at)

    @property
    def loss(self) -> float:
        """Not known: all rows are trained on."""
        return float("nan")

    def evaluations(self) -> Readings:
        """Find the optimum."""
        system, start, strength = self._system, self._best.model, self._best.penalty
        sums: SecondOrder = yield SecondOrderAt(system, start)
        if self._chooses:
            strength = best_strength(system, sums, start)
            self._best = replace(self._best, penalty=strength)
        problem, directions = Problem(system, system.penalties(strength), self._n_rows), ByFactors(system)
        found: Minimum = yield from minimise(problem, start, EXACT, directions, known=sums, position=self._position)
        self._best = Optimum(found.model, strength, np.empty(0), found.decrement)
