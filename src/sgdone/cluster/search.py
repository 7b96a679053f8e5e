"""Newton's method in rounds: by the summed curvature of few coefficients, by its products with directions of many."""

import math

import numpy as np
from numpy.typing import NDArray

from sgdone import newton
from sgdone.cluster.row_sums import SummedRows
from sgdone.newton import EXACT, Minimum, Position, Problem
from sgdone.newton.direction import ByFactors, ByProducts, Directions, Point
from sgdone.sums.second_order import SecondOrder, SecondOrderAt

Array = NDArray[np.float64]

#: Largest number of coefficients whose curvature is summed; that of more takes too many bytes.
MOST_COEFFICIENTS = 1024
#: Conjugate gradients: residual relative to the gradient, that of rough searches, and products after which a direction
#: is used as it is.
_RESIDUAL, _ROUGH_RESIDUAL, _MOST_PRODUCTS = 0.1, 0.3, 50
#: Whether classes can be separated: shares of the penalty, and of rows that the minimum may be wrong about; and the
#: decrement up to which optima are found.
_SMALLER_PENALTIES, _FEW_MISSES, _ROUGH = (1e-3, 1e-6), 0.02, 0.1


def unknown_minimum(rows: SummedRows, model: Array) -> Minimum:
    """A model before the search, whose sums are not known."""
    unknown = SecondOrder(float(rows.n_rows), math.nan, math.nan, *(np.empty((0, 0)) for _ in range(3)))
    return Minimum(model, Point(model, unknown, math.nan, np.empty(0), np.empty(0)), math.nan, 0)


def minimise(rows: SummedRows, strength: float, start: Array, tol: float) -> Minimum:
    """Minimise Σvℓ + ½·strength·‖w‖² until the decrement is at most ``tol``.

    A search begins no step once something has ended the fit: a budget, or a person.
    """
    system = rows.system
    problem = Problem(system, system.penalties(strength), rows.n_rows, rows.least_unit)
    if system.n_coefficients <= MOST_COEFFICIENTS:
        directions: Directions = ByFactors(system)
    else:
        directions = ByProducts(system, _RESIDUAL if tol <= EXACT else _ROUGH_RESIDUAL, _MOST_PRODUCTS)
    position = Position()
    search, value, last = newton.minimise(problem, start, tol, directions, position=position), None, None
    while True:
        try:
            request = search.send(value)
        except StopIteration as done:
            found: Minimum = done.value
            return found
        if rows.rounds.ended is not None and last is not None:
            return Minimum(last.model, last, last_decrement(position, problem, last), 0, stalled=True)
        value = rows.sum(request)
        if isinstance(request, SecondOrderAt):
            last = problem.at(request.model, value)


def last_decrement(position: Position, problem: Problem, at: Point) -> float:
    """The decrement at a point, if a direction was found there."""
    known = position.model is at.model
    return position.decrement / problem.dispersion(at.sums) if known else math.inf


def separates(rows: SummedRows, found: Minimum, strength: float) -> bool:
    """Whether a model with a smaller penalty is found that classifies all rows without error.

    Only of two classes, few coefficients, and a minimum that is wrong about few rows: it takes some rounds.
    """
    objective = rows.problem.objective
    possible = objective.loss.fades and objective.predicts == "two_classes"
    if not possible or rows.problem.n_coefficients > MOST_COEFFICIENTS:
        return False
    misses, model = found.at.sums.misses, found.model
    for share in _SMALLER_PENALTIES:
        if misses == 0 or not misses <= _FEW_MISSES * rows.n_rows or strength == 0:
            break
        nearer = minimise(rows, share * strength, model, _ROUGH)
        misses, model = nearer.at.sums.misses, nearer.model
    return bool(misses == 0)
