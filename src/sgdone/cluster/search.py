"""Newton's method in rounds: by the summed curvature of few coefficients, by its products with directions of many."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.row_sums import SummedRows
from sgdone.solvers.minimisation import EXACT, MOST_STEPS, Minimisation, dispersion
from sgdone.solvers.newton_step import Penalised, conjugate_gradients
from sgdone.sums.second_order import SecondOrder

Array = NDArray[np.float64]

#: Largest number of coefficients whose curvature is summed; that of more takes too many bytes.
MOST_COEFFICIENTS = 1024
#: Conjugate gradients: residual relative to the gradient, that of rough searches, and products after which a direction
#: is used as it is.
_RESIDUAL, _ROUGH_RESIDUAL, _MOST_PRODUCTS = 0.1, 0.3, 50
#: Share of the promised decrease that a step must reach, rounding of the objective, and the shortest share of a step.
_ENOUGH, _ROUNDING, _SHORTEST = 1e-4, 1e-13, 1e-6
#: Whether classes can be separated: shares of the penalty, and of rows that the minimum may be wrong about; and the
#: decrement up to which optima are found.
_SMALLER_PENALTIES, _FEW_MISSES, _ROUGH = (1e-3, 1e-6), 0.02, 0.1
#: Evaluations in a row that do not lower the objective, after which a search ends.
_MOST_IDLE = 12


@final
@dataclass(frozen=True)
class Minimum:
    """Where a search ended.

    Parameters
    ----------
    model : ndarray
        (features + 1) × free outputs, in the units of training.
    at, sums : ndarray, SecondOrder
        The model that was evaluated last, and the sums there. A rough search ends one step further.
    value : float
        The objective Σvℓ + ½Σλw² there.
    decrement : float
        To second order, by how much the objective exceeds its minimum, in units of the dispersion of a regression.
    evaluations : int
        Models at which the objective was evaluated.
    """

    model: Array
    at: Array
    sums: SecondOrder
    value: float
    decrement: float
    evaluations: int

    @classmethod
    def at_start(cls, rows: SummedRows, model: Array) -> "Minimum":
        """A model before the search, whose sums are not known."""
        unknown = SecondOrder(float(rows.n_rows), math.nan, math.nan, *(np.empty((0, 0)) for _ in range(3)))
        return cls(model, model, unknown, math.nan, math.nan, 0)


def minimise(rows: SummedRows, strength: float, start: Array, tol: float) -> Minimum:
    """Minimise Σvℓ + ½·strength·‖w‖² until the decrement is at most ``tol``.

    A search begins no step once something has ended the fit: a budget, or a person.
    """
    few = rows.problem.n_coefficients <= MOST_COEFFICIENTS
    return (_by_curvature if few else _by_products)(rows, rows.problem.penalties(strength), start, tol)


def separates(rows: SummedRows, found: Minimum, strength: float) -> bool:
    """Whether a model with a smaller penalty is found that classifies all rows without error.

    Only of two classes, few coefficients, and a minimum that is wrong about few rows: it takes some rounds.
    """
    objective = rows.problem.objective
    possible = objective.loss.fades and objective.predicts == "two_classes"
    if not possible or rows.problem.n_coefficients > MOST_COEFFICIENTS:
        return False
    misses, model = found.sums.misses, found.model
    for share in _SMALLER_PENALTIES:
        if misses == 0 or not misses <= _FEW_MISSES * rows.n_rows or strength == 0:
            break
        nearer = minimise(rows, share * strength, model, _ROUGH)
        misses, model = nearer.sums.misses, nearer.model
    return bool(misses == 0)


def _by_curvature(rows: SummedRows, penalties: Array, start: Array, tol: float) -> Minimum:
    """Each evaluation is a round; steps are those of a fit on one machine."""
    counted: Any = rows  # of the rows themselves, a search uses only their number
    search = Minimisation(rows.problem.objective, counted, penalties, start, None, cheap=True, sums=rows.second_order)
    evaluations, value, idle = 0, math.inf, 0
    for _ in search.evaluations(tol):  # it stops before each evaluation
        if evaluations:
            last, value = value, Penalised.of(search.sums, search.at, penalties).value
            idle = 0 if value < last - _ROUNDING * abs(last) or math.isinf(last) else idle + 1
            small = search.decrement <= tol * max(search.dispersion, rows.least_unit)
            if rows.rounds.ended is not None or small or idle >= _MOST_IDLE:
                break
        evaluations += 1
    value = Penalised.of(search.sums, search.at, penalties).value
    decrement = search.decrement / max(search.dispersion, rows.least_unit)
    return Minimum(search.model, search.at, search.sums, value, decrement, evaluations)


def _by_products(rows: SummedRows, penalties: Array, start: Array, tol: float) -> Minimum:
    """Inexact Newton steps by conjugate gradients, preconditioned by the diagonal; each product is a round."""
    objective, free = rows.problem.objective, np.isfinite(penalties)[:, None]
    model, evaluations = np.where(free, start, 0.0), 1
    residual = _RESIDUAL if tol <= EXACT else _ROUGH_RESIDUAL
    sums = rows.second_order(model, "diagonal")
    at, left = Penalised.of(sums, model, penalties), math.inf
    for _ in range(MOST_STEPS):
        scale = sums.diagonal + np.where(free, penalties[:, None], 0.0)
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=free & (scale > 0))
        precondition = partial(np.multiply, inverse)
        direction, _ = conjugate_gradients(at, rows.products(model), precondition, residual, _MOST_PRODUCTS)
        decrement, unit = at.decrement(direction), dispersion(objective, sums)
        left = decrement / max(unit, rows.least_unit)
        if left <= tol or rows.rounds.ended is not None:
            break
        share, found = 1.0, None
        while found is None and share >= _SHORTEST:
            tried = model + share * direction
            tried_sums = rows.second_order(tried, "diagonal")
            evaluations += 1
            after = Penalised.of(tried_sums, tried, penalties)
            if after.value <= at.value - 2.0 * _ENOUGH * share * decrement + _ROUNDING * abs(at.value):
                found = after
            share /= 2.0
        if found is None:
            break
        model, sums, at = tried, tried_sums, found
    return Minimum(model, model, sums, at.value, left, evaluations)
