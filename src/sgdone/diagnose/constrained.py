"""Norm-constrained optima, which exist also if there is no finite unconstrained optimum."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.diagnose.constrained_newton import TAIL_LOSSES, TOLERANCE, MeanLoss, Point
from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.message_text import did_you_mean

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class ConstrainedOptimum:
    """Minimisers of the mean loss over balls. For a scalar radius the attributes are scalars and a vector.

    Parameters
    ----------
    radius : float or array, (radii,)
        The radii.
    coef : array, (features,) or (radii, features)
        w̄ with ‖w̄‖ ≤ radius.
    intercept : float or array, (radii,)
        0 without an intercept.
    objective, log_objective : float or array, (radii,)
        The mean loss and its logarithm. The logarithm is finite also if the mean loss underflows to 0.
    multiplier : float or array, (radii,)
        μ ≥ 0 with ∇R(w̄) + μw̄ = 0; 0 if w̄ is also an unconstrained minimiser.
    residual : float or array, (radii,)
        Residual of this condition, in units of the mean slope times the largest ‖x‖, and of "μ = 0 or ‖w̄‖ = radius",
        relative to the radius: below 1e-10.
    gap : float or array, (radii,)
        Upper bound on the excess of the mean loss over its minimum on the ball, relative to the mean loss: below 1e-10.
    """

    radius: Any
    coef: Array
    intercept: Any
    objective: Any
    log_objective: Any
    multiplier: Any
    residual: Any
    gap: Any


def constrained_optimum(
    X: Any, y: ArrayLike, radius: ArrayLike, loss: str = "logistic", fit_intercept: bool = False
) -> ConstrainedOptimum:
    """Minimise the mean loss over ‖w‖ ≤ radius: the optimal iterates of Ji, Telgarsky (2018), section 3.3.

    A minimiser exists for every radius, also on separable data. As the radius grows, its direction tends to the
    maximum-margin direction, and its component in S tends to the finite part of the optimum (see `separation`).

    Newton's method minimises the quadratic model over the ball: with the eigenvectors of the Hessian up to 400
    features, by Davidson's method otherwise. The step is halved until the loss decreases. All quantities are relative
    to the largest slope of a row, so that exponentially small ones are computed with full accuracy. If only some rows
    are separable, their loss is below the rounding error of the others at a large radius; a larger radius then changes
    nothing and the coefficients stay inside the ball. The radius is doubled from 1 over the largest ‖x‖, each
    minimisation starting from the one before.

    Parameters
    ----------
    X : array or sparse matrix, (rows, features)
        Neither centred nor scaled here: the radius is in units of these features.
    y : array, (rows,)
        Labels of two classes, or −1 and 1. The larger label is the positive class.
    radius : float or array, (radii,)
        Positive, in any order.
    loss : {"logistic", "exponential"}
        Loss of the margin.
    fit_intercept : bool
        Whether to fit an intercept, which is not part of the norm.

    Returns
    -------
    ConstrainedOptimum
        With relative gap and residual below 1e-10.

    Raises
    ------
    ArithmeticError
        If rounding errors prevent this accuracy.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.3], [-1.0, 0.1], [-2.0, -0.5]]), [1, -1, -1]
    >>> found = constrained_optimum(X, y, [1.0, 100.0])
    >>> [(round(float(a), 3), round(float(b), 3)) for a, b in found.coef]
    [(0.99, 0.14), (99.978, 2.091)]
    >>> bool(found.gap.max() < 1e-10)
    True
    """
    if loss not in TAIL_LOSSES:
        raise ValueError(
            f"loss={loss!r} is not supported.{did_you_mean(loss, TAIL_LOSSES)} Give "
            f"{' or '.join(map(repr, TAIL_LOSSES))}"
        )
    rows, labels = checked_rows(X, y, fit_intercept)
    radii = checked_radii(radius)
    norms = sparse.linalg.norm(rows, axis=1) if is_sparse(rows) else np.linalg.norm(rows, axis=1)
    largest = float(norms.max()) or 1.0
    mean_loss = MeanLoss(rows / largest, labels if fit_intercept else None, TAIL_LOSSES[loss])
    found = _path(mean_loss, np.atleast_1d(radii) * largest)
    return _as_given(found, radii, largest)


def _path(mean_loss: MeanLoss, radii: Array) -> list[tuple[Point, float]]:
    """Minimisers and radii, in the order of ``radii``."""
    n_features = mean_loss.rows.shape[1]
    before: list[tuple[float, Point]] = []
    found: dict[float, Point] = {}
    for radius in _with_steps(radii):
        point = mean_loss.minimise(radius, _start(mean_loss, before, radius, n_features))
        if radius in radii and max(point.residual(radius), point.gap(radius)) > TOLERANCE:
            raise ArithmeticError(
                f"the minimum over the ball of radius {radius:g} (in units of 1/max ‖x‖) was not found to "
                f"{TOLERANCE:g}: residual {point.residual(radius):.3g}, gap {point.gap(radius):.3g}. Standardise the "
                "features, or give a smaller radius"
            )
        found[radius] = point
        before = [*before, (radius, point)][-2:]
    return [(found[radius], radius) for radius in radii.tolist()]


def _with_steps(radii: Array) -> list[float]:
    """The radii and the powers of 2 from 1 up to the largest radius, in ascending order."""
    between = 2.0 ** np.arange(0, max(0, math.ceil(math.log2(radii.max()))))
    return sorted({*radii.tolist(), *between.tolist()})


def _start(mean_loss: MeanLoss, before: list[tuple[float, Point]], radius: float, n_features: int) -> Point:
    """The best of the last minimiser, the last minimiser scaled to the new radius, and a linear extrapolation."""
    if not before:
        return mean_loss.at(np.zeros(n_features), 0.0)
    last_radius, last = before[-1]
    guesses = [(last.coef, last.intercept), (last.coef * (radius / last_radius), last.intercept)]
    if len(before) > 1:
        first_radius, first = before[0]
        share = (radius - last_radius) / (last_radius - first_radius)
        ahead = last.coef + share * (last.coef - first.coef)
        ahead *= min(1.0, radius / float(np.linalg.norm(ahead) or 1.0))
        guesses.append((ahead, last.intercept + share * (last.intercept - first.intercept)))
    points = [mean_loss.at(coef, intercept) for coef, intercept in guesses]
    return min(points, key=lambda point: point.log_value)


def _as_given(found: list[tuple[Point, float]], radii: Array, largest: float) -> ConstrainedOptimum:
    points = [point for point, _ in found]
    logs = np.array([point.log_value for point in points])
    parts: dict[str, Any] = {
        "coef": np.array([point.coef / largest for point in points]),
        "intercept": np.array([point.intercept for point in points]),
        "objective": np.exp(logs),
        "log_objective": logs,
        "multiplier": np.array([_multiplier(point, radius) * largest**2 for point, radius in found]),
        "residual": np.array([point.residual(radius) for point, radius in found]),
        "gap": np.array([point.gap(radius) for point, radius in found]),
    }
    if radii.ndim == 0:
        parts = {name: part[0] if part.ndim == 2 else float(part[0]) for name, part in parts.items()}
        return ConstrainedOptimum(float(radii), **parts)
    return ConstrainedOptimum(radii, **parts)


def _multiplier(point: Point, radius: float) -> float:
    inside = float(np.linalg.norm(point.coef)) < radius * (1.0 - 1e-9)
    return 0.0 if inside else math.exp(point.shift) * point.multiplier()


def checked_rows(X: Any, y: ArrayLike, fit_intercept: bool) -> tuple[Any, Array]:
    """Validate X and y; return the rows y·x, dense or CSR, and the labels −1 and 1."""
    matrix: Any = sparse.csr_array(X, dtype=np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"X has the shape {matrix.shape}: give a matrix with at least one row and one feature")
    if not np.isfinite(matrix.data if is_sparse(matrix) else matrix).all():
        raise ValueError("X contains NaN or infinity: impute or drop these values")
    given = np.asarray(y)
    if given.shape != (matrix.shape[0],):
        raise ValueError(f"y has the shape {given.shape}, expected {(matrix.shape[0],)}: give one label per row")
    classes = np.unique(given)
    if len(classes) == 2:
        labels = np.where(given == classes[1], 1.0, -1.0)
    elif len(classes) == 1 and classes[0] in (-1, 1):
        labels = given.astype(np.float64)
    else:
        raise ValueError(f"y has {len(classes)} classes ({', '.join(map(str, classes[:3]))}…): give two, or −1 and 1")
    if fit_intercept and len(classes) == 1:
        raise ValueError(
            f"y has only the class {classes[0]}, so the intercept has no finite optimum: use fit_intercept=False"
        )
    signed = matrix.multiply(labels[:, None]).tocsr() if is_sparse(matrix) else matrix * labels[:, None]
    return signed, labels


def checked_radii(radius: ArrayLike) -> Array:
    """Validate the radius: a positive number or an array of positive numbers."""
    radii = np.asarray(radius, dtype=np.float64)
    if radii.ndim > 1 or radii.size == 0:
        raise ValueError(f"radius has the shape {radii.shape}: give a number or a one-dimensional array")
    wrong = ~((radii > 0.0) & np.isfinite(radii))
    if wrong.any():
        raise ValueError(f"radius={radii[wrong].flat[0]:g} is not a positive finite number")
    return radii
