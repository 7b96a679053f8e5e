"""Newton's method in rounds: by the summed curvature of few coefficients, by its products with directions of many."""

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone import newton
from sgdone.newton import EXACT, Minimum, Position, Problem
from sgdone.newton.direction import ByFactors, ByProducts, Directions
from sgdone.newton.search import Search
from sgdone.sums.row_sum import RowSum

Array = NDArray[np.float64]

#: Largest number of coefficients whose curvature is summed; that of more takes too many bytes.
MOST_COEFFICIENTS = 1024
#: Conjugate gradients: residual relative to the gradient, that of rough searches, and products after which a direction
#: is used as it is.
_RESIDUAL, _ROUGH_RESIDUAL, _MOST_PRODUCTS = 0.1, 0.3, 50
#: Whether classes can be separated: shares of the penalty, and of rows that the minimum may be wrong about; and the
#: decrement up to which optima are found.
_SMALLER_PENALTIES, _FEW_MISSES, _ROUGH = (1e-3, 1e-6), 0.02, 0.1


def minimise(problem: Problem, start: Array, tol: float, position: Position | None = None) -> Search:
    """Minimise until the decrement is at most ``tol``, with directions that take few rounds."""
    system = problem.system
    if system.n_coefficients <= MOST_COEFFICIENTS:
        directions: Directions = ByFactors(system)
    else:
        directions = ByProducts(system, _RESIDUAL if tol <= EXACT else _ROUGH_RESIDUAL, _MOST_PRODUCTS)
    return newton.minimise(problem, start, tol, directions, position=position)


def separates(problem: Problem, found: Minimum, strength: float) -> Generator[RowSum, Any, bool]:
    """Whether a model with a smaller penalty is found that classifies all rows without error.

    Only of two classes, few coefficients, and a minimum that is wrong about few rows: it takes some rounds.
    """
    system, objective = problem.system, problem.system.objective
    possible = objective.loss.fades and objective.predicts == "two_classes"
    if not possible or system.n_coefficients > MOST_COEFFICIENTS:
        return False
    misses, model = found.at.sums.misses, found.model
    for share in _SMALLER_PENALTIES:
        if misses == 0 or not misses <= _FEW_MISSES * problem.n_rows or strength == 0:
            break
        nearer: Minimum = yield from minimise(problem.penalised(share * strength), model, _ROUGH)
        misses, model = nearer.at.sums.misses, nearer.model
    return bool(misses == 0)
