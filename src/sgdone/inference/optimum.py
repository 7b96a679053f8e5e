"""The optimum without a penalty, by Newton's method with factorised curvatures."""

from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.identification import DOUBTFUL, Identification, identification
from sgdone.inference.sample import Sample
from sgdone.inference.sums_at_model import LargestChange
from sgdone.newton import Minimum, Problem, answered, minimise
from sgdone.newton.search import RESIDUAL_ROUNDING, ByFactors, Factors, Point
from sgdone.sums.second_order import SecondOrder, SecondOrderAt

Array = NDArray[np.float64]

#: Largest step at an optimum, in standard errors of any combination of coefficients, and the most steps to it.
_STEP, _MOST_STEPS = 1e-8, 50
#: Largest change of a row's score by the last step: along a direction without an optimum each step changes some by
#: about 1, however little loss is left.
_SCORE_CHANGE = 1e-3


class NoOptimumError(Exception):
    """Newton's method did not converge; the message says how far it came.

    Parameters
    ----------
    message : str
        How far it came.
    model : ndarray or None
        Where it ended, if it went far.
    """

    def __init__(self, message: str, model: Array | None = None) -> None:
        super().__init__(message)
        self.model = model


@final
@dataclass(frozen=True)
class Optimum:
    """The optimum of Σvℓ.

    Attributes
    ----------
    model : ndarray
        (features + 1) × free outputs, in the units of the sample's pieces.
    sums : SecondOrder
        Loss, gradient and curvature there.
    factors : Factors
        Factors of the curvature; coefficients that are not estimated have a row and a column of 0 in its inverse.
    estimated : ndarray of bool
        Whether the coefficients of each feature, and the intercepts, were estimated.
    identification : Identification or None
        Directions that the rows do not determine; None if there are none.
    """

    model: Array
    sums: SecondOrder
    factors: Factors
    estimated: NDArray[np.bool_]
    identification: Identification | None


def find_optimum(sample: Sample, start: Array) -> Optimum:
    """Minimise the loss from a model, until a step is below 1e-8 standard errors of every combination.

    Raises
    ------
    NoOptimumError
        After 50 steps, or where steps go on to change scores although hardly any loss is left.
    """
    objective, system = sample.objective, sample.system
    penalties = system.penalties(0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        start = np.where(np.isfinite(penalties)[:, None], start, 0.0)
        known: SecondOrder = sample.sum(SecondOrderAt(system, start))
        constant = sample.constant_model()
        if not np.isfinite(known.loss) or known.loss > sample.sum(SecondOrderAt(system, constant, "none")).loss:
            start, known = constant, sample.sum(SecondOrderAt(system, constant))
        if not np.all(np.isfinite(known.curvature)):
            raise NoOptimumError("the loss of the start is too large")
        pivot = Factors.of(known.curvature, penalties, start.shape[1]).smallest_pivot(known.curvature)
        found = identification(np.isfinite(penalties), sample.column_products) if pivot <= DOUBTFUL else None
        if found is not None:
            penalties[found.dropped] = np.inf
            start = np.where(np.isfinite(penalties)[:, None], start, 0.0)
            known = sample.sum(SecondOrderAt(system, start))
        directions = ByFactors(system, cheap=sample.has_cheap_curvature, constant=objective.loss.quadratic)
        problem = Problem(system, penalties, sample.n_used, _rounding(sample, known.weight))
        search = minimise(problem, start, 0.5 * _STEP**2, directions, known=known, most_steps=_MOST_STEPS)
        ended: Minimum = answered(sample, search)
        model, sums = ended.model, ended.at.sums
        if objective.loss.quadratic:
            # The curvature is the same everywhere.
            sums = replace(sums, curvature=known.curvature)
        elif not sums.curvature.size:
            sums = sample.sum(SecondOrderAt(system, model))
        factors = directions.factors
        if not objective.loss.quadratic and directions.curved is not ended.at:
            factors = Factors.of(sums.curvature, penalties, start.shape[1])
        if factors.cholesky is None:
            raise NoOptimumError(f"after {ended.steps} steps of Newton's method the curvature is singular", model)
        gradient = Point.of(sums, model, penalties).gradient
        left = _left(sample, sums, gradient, factors.solve(-gradient))
        if left.is_optimum:
            return Optimum(model, sums, factors, np.isfinite(penalties), found)
    raise NoOptimumError(
        f"after {ended.steps} steps of Newton's method the next one is {left.errors:.2g} standard errors long and "
        f"changes the score of a row by {left.change:.2g}",
        model,
    )


def _rounding(sample: Sample, weight: float) -> float:
    """The variance of the targets of a regression about their predictions that is rounding."""
    if not sample.objective.is_regression:
        return 0.0
    return RESIDUAL_ROUNDING**2 * max(sample.target_squares / weight, sample.target_spread)


class _Left(NamedTuple):
    """The next step of Newton's method: in standard errors, and as a change of scores."""

    errors: float
    change: float
    is_optimum: bool


def _left(sample: Sample, sums: SecondOrder, gradient: Array, step: Array) -> _Left:
    objective = sample.objective
    errors = float(np.sqrt(max(0.0, -float(np.vdot(gradient, step))) / sums.dispersion(objective)))
    change = sample.sum(LargestChange(sample.system, step)).value
    is_exact = False
    if objective.is_regression:
        change = change / float(np.sqrt(max(sample.target_spread, float(np.finfo(np.float64).tiny))))
        is_exact = sums.dispersion(objective) <= _rounding(sample, sums.weight)
    return _Left(errors, change, is_exact or (errors <= _STEP and change <= _SCORE_CHANGE))
