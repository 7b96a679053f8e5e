"""The exact minimiser of the objectives of Xu (2011), section 6.3: a horizontal line in the figures."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.losses import Hinge
from sgdone.losses.loss import Loss
from sgdone.papers.runs import fired, fit, weights
from sgdone.rows import ArraySource
from sgdone.solvers import Liblinear
from sgdone.stopping import MaxPasses

Array = NDArray[np.float64]

#: Up to this number of features the Newton equations are solved directly.
_DIRECTLY = 2000
#: LIBLINEAR's tolerance, and its largest number of iterations.
_TOLERANCE, _MOST = 1e-6, 100_000
#: Widths in which the hinge's corner is rounded off, one after the other: the last costs 1/2000 at most.
WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_ITERATIONS, _HALVINGS = 200, 40
#: The predicted decrease of a Newton step that ends the iteration, as a part of the objective: at the last width, and
#: before.
_NEGLIGIBLE, _NEARLY = 1e-9, 1e-4


class Parts(NamedTuple):
    """A loss at each row: its value, slope and curvature."""

    values: Array
    slopes: Array
    curvatures: Array


#: From predictions and labels.
Rounded = Callable[[Array, Array], Parts]


class ExactOptimum(NamedTuple):
    """Weights and intercept."""

    coef: Array
    intercept: float


def minimise(loss: Loss, X: Any, labels: Array, alpha: float) -> ExactOptimum:
    """The minimiser of mean loss + α/2·‖w‖², the intercept not penalised.

    With few features it is found by Newton's method. The hinge is rounded off for it, (1 − m)²/(2δ) for margins m
    from 1 − δ to 1, for decreasing δ; the objective found is at most δ/2 above the minimum. With many features, as
    texts have, LIBLINEAR finds it.

    Parameters
    ----------
    loss : Loss
        Hinge, or one that has a curvature.
    X : ndarray or CSR matrix of float64
    labels : array of float64
        −1 and 1.
    alpha : float
        Positive.

    Examples
    --------
    >>> from sgdone.losses import SquaredHinge
    >>> X, y = np.array([[-1.0], [1.0], [-2.0], [2.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    >>> found = minimise(SquaredHinge(), X, y, alpha=0.5)  # (1/2)(1 − w) = w/2 while 2w ≥ 1
    >>> found.coef, abs(found.intercept) < 1e-9
    (array([0.5]), True)
    """
    if X.shape[1] > _DIRECTLY:
        return _by_liblinear(loss, X, labels, alpha)
    point = np.zeros(X.shape[1] + 1)
    *before, last = [_rounded_hinge(width) for width in WIDTHS] if isinstance(loss, Hinge) else [_parts_of(loss)]
    for rounded in (*before, last):
        point = _newton(rounded, X, labels, alpha, point, _NEGLIGIBLE if rounded is last else _NEARLY)
    return ExactOptimum(point[:-1], float(point[-1]))


def _by_liblinear(loss: Loss, X: Any, labels: Array, alpha: float) -> ExactOptimum:
    solver = Liblinear(tol=_TOLERANCE, max_iter=_MOST)
    result = fit(ArraySource(X, labels), loss, solver, MaxPasses(100 * _MOST), alpha=alpha)
    if not fired(result):
        raise ArithmeticError(f"no minimiser with alpha={alpha:g}: {result.verdict.reason}")
    coef, intercept = weights(result.model)
    return ExactOptimum(np.asarray(coef, np.float64), intercept)


def _parts_of(loss: Loss) -> Rounded:
    return lambda z, y: Parts(loss.value(z, y), loss.slope(z, y), loss.curvature(z, y))


def _rounded_hinge(width: float) -> Rounded:
    def parts(z: Array, y: Array) -> Parts:
        short = np.maximum(0.0, 1.0 - y * z)
        bent = short < width
        values = np.where(bent, short**2 / (2.0 * width), short - width / 2.0)
        return Parts(values, -y * np.minimum(1.0, short / width), np.where(bent & (short > 0.0), 1.0 / width, 0.0))

    return parts


def _newton(rounded: Rounded, X: Any, labels: Array, alpha: float, point: Array, near: float) -> Array:
    """Newton's method from a point; steps are halved until the objective decreases enough."""
    transposed = X.T.tocsr() if hasattr(X, "tocsr") else X.T
    z = X @ point[:-1] + point[-1]
    parts = rounded(z, labels)
    value = float(np.mean(parts.values)) + 0.5 * alpha * float(point[:-1] @ point[:-1])
    for _ in range(_ITERATIONS):
        slopes = parts.slopes / labels.size
        gradient = np.append(transposed @ slopes + alpha * point[:-1], np.sum(slopes))
        move = -_solve(X, parts.curvatures / labels.size, alpha, gradient)
        promised = -float(gradient @ move)
        if promised <= near * value:
            return point
        change, fraction = X @ move[:-1] + move[-1], 1.0
        for _ in range(_HALVINGS):
            tried = point + fraction * move
            found = rounded(z + fraction * change, labels)
            lower = float(np.mean(found.values)) + 0.5 * alpha * float(tried[:-1] @ tried[:-1])
            if lower <= value - 1e-4 * fraction * promised:
                break
            fraction /= 2.0
        else:
            return point
        point, z, parts, value = tried, z + fraction * change, found, lower
    raise ArithmeticError(f"no minimiser after {_ITERATIONS} Newton steps with alpha={alpha:g}")


def _solve(X: Any, curvatures: Array, alpha: float, gradient: Array) -> Array:
    """(XᵀDX + α)⁻¹ times the gradient, both with the intercept's place at the end."""
    bent = np.flatnonzero(curvatures)
    rows, weights = X[bent], curvatures[bent]
    penalty = np.append(np.full(X.shape[1], alpha), 0.0)
    # Without a row of positive curvature nothing determines the intercept.
    penalty[-1] = max(1e-9, 1e-9 * float(np.sum(weights)))
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    scaled = dense * np.sqrt(weights)[:, np.newaxis]
    matrix = np.empty((penalty.size, penalty.size))
    matrix[:-1, :-1] = scaled.T @ scaled
    matrix[-1, :-1] = matrix[:-1, -1] = rows.T @ weights
    matrix[-1, -1] = np.sum(weights)
    matrix[np.diag_indices_from(matrix)] += penalty
    return np.asarray(np.linalg.solve(matrix, gradient))
