"""The optimum without a penalty, by Newton's method with factorised curvatures."""

from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.identification import DOUBTFUL, Identification, identification
from sgdone.inference.sample_sums import SampleSums
from sgdone.solvers.minimisation import dispersion
from sgdone.solvers.newton_step import Factors, Penalised
from sgdone.sums.second_order import SecondOrder

Array = NDArray[np.float64]

#: Largest step at an optimum, in standard errors of any combination of coefficients, and the most steps to it.
_STEP, _MOST_STEPS = 1e-8, 46
#: Steps with the curvature of each point after these.
_LAST_STEPS = 4
#: Largest change of a row's score by the last step: along a direction without an optimum each step changes some by
#: about 1, however little loss is left.
_SCORE_CHANGE = 1e-3
#: Residuals below this share of the targets are rounding errors.
ROUNDING = 1e-11


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
        Of the curvature; coefficients that are not estimated have a row and a column of 0 in its inverse.
    estimated : ndarray of bool
        Whether the coefficients of each feature, and the intercepts, were estimated.
    identification : Identification or None
        Directions that the rows do not determine; None if there are none.
    steps : int
        Evaluations of Newton's method.
    """

    model: Array
    sums: SecondOrder
    factors: Factors
    estimated: NDArray[np.bool_]
    identification: Identification | None
    steps: int


def find_optimum(sample: SampleSums, start: Array) -> Optimum:
    """Minimise the loss from a model, until a step is below 1e-8 standard errors of every combination.

    Raises
    ------
    NoOptimumError
        After 50 steps, or where steps go on to change scores although hardly any loss is left.
    """
    objective = sample.objective
    free = np.append(sample.varies, objective.fit_intercept)
    penalties = np.where(free, 0.0, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        start = np.where(free[:, None], start, 0.0)
        known = sample.second_order(start)
        constant = sample.constant_model()
        if not np.isfinite(known.loss) or known.loss > sample.second_order(constant, "none").loss:
            start, known = constant, sample.second_order(constant)
        if not np.all(np.isfinite(known.curvature)):
            raise NoOptimumError("the loss of the start is too large")
        factors = Factors.of(known.curvature, penalties, start.shape[1])
        doubtful = factors.smallest_pivot(known.curvature) <= DOUBTFUL
        found = identification(free, sample.column_products()) if doubtful else None
        if found is not None:
            penalties[found.dropped] = np.inf
            start = np.where(np.isfinite(penalties)[:, None], start, 0.0)
            known = sample.second_order(start)
            factors = Factors.of(known.curvature, penalties, start.shape[1])
        model, steps = sample.minimise(penalties, start, known, factors, 0.5 * _STEP**2, _MOST_STEPS)
        for last in range(_LAST_STEPS + 1):
            if objective.loss.quadratic:
                # The curvature is the same everywhere.
                sums = replace(sample.second_order(model, "none"), curvature=known.curvature)
            else:
                sums = sample.second_order(model)
                factors = Factors.of(sums.curvature, penalties, start.shape[1])
            if factors.cholesky is None:
                raise NoOptimumError(f"after {steps} steps of Newton's method the curvature is singular", model)
            gradient = Penalised.of(sums, model, penalties).gradient
            step = factors.solve(-gradient)
            left = _left(sample, sums, gradient, step)
            if left.is_optimum:
                return Optimum(model, sums, factors, np.isfinite(penalties), found, steps + last)
            model = model + step
    raise NoOptimumError(
        f"after {steps + _LAST_STEPS} steps of Newton's method the next one is {left.errors:.2g} standard errors long "
        f"and changes the score of a row by {left.change:.2g}",
        model,
    )


class _Left(NamedTuple):
    """The next step of Newton's method: in standard errors, and as a change of scores."""

    errors: float
    change: float
    is_optimum: bool


def _left(sample: SampleSums, sums: SecondOrder, gradient: Array, step: Array) -> _Left:
    objective = sample.objective
    errors = float(np.sqrt(max(0.0, -float(np.vdot(gradient, step))) / dispersion(objective, sums)))
    change = sample.largest_change(step)
    is_exact = False
    if objective.is_regression:
        spread = sample.target_spread
        change = change / float(np.sqrt(max(spread, float(np.finfo(np.float64).tiny))))
        is_exact = sums.loss <= 0.5 * ROUNDING**2 * max(sample.target_squares, spread * sums.weight)
    return _Left(errors, change, is_exact or (errors <= _STEP and change <= _SCORE_CHANGE))
