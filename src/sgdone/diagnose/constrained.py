"""The best coefficients of a given norm, which exist whether or not there is a finite optimum."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.diagnose.constrained_arguments import checked_radii, checked_rows
from sgdone.diagnose.constrained_newton import TOLERANCE, MeanLoss, Point, is_sparse
from sgdone.diagnose.tail_losses import TAIL_LOSSES
from sgdone.registry import did_you_mean

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class ConstrainedOptimum:
    """Minimisers of the mean loss over balls; with one radius numbers and a vector, else arrays, a radius a row.

    Parameters
    ----------
    radius : float or array, (radii,)
        As given.
    coef : array, (features,) or (radii, features)
        w̄, ‖w̄‖ ≤ radius.
    intercept : float or array, (radii,)
        0 without one.
    objective, log_objective : float or array, (radii,)
        The mean loss, and its logarithm, which is finite where the mean loss has come to 0.
    multiplier : float or array, (radii,)
        μ ≥ 0 with ∇R(w̄) + μw̄ = 0; 0 if w̄ is a minimiser without the ball as well.
    residual : float or array, (radii,)
        What is left of that, and of "μ = 0 or ‖w̄‖ = radius", in units of the mean slope times the largest ‖x‖, and of
        the radius: below 1e-10.
    gap : float or array, (radii,)
        By how much the mean loss exceeds the least over the ball, at most, in units of the mean loss: below 1e-10.
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

    A minimiser exists for every radius, on separable data too; as the radius grows its direction goes to the one that
    separates with the largest margin, and the part that a finite optimum determines goes to that.

    Newton's method: the quadratic around a point is minimised over the ball itself (by the eigenvectors of the Hessian
    up to 400 features, beyond by products with it in a growing subspace, Davidson's method), and the step halved until
    the loss falls. All is done relative to the largest slope of a row, so that what is exponentially small is found as
    exactly as the rest. Where only some rows are separable, their loss is lost in the others' rounding once the radius
    is large enough; a larger one then adds nothing, and the coefficients stay inside the ball. Radii are approached by
    doubling from 1 over the largest ‖x‖, each from the one before.

    Parameters
    ----------
    X : array or sparse matrix, (rows, features)
        Not centred or scaled; the radius is in its units.
    y : array, (rows,)
        Labels of two classes, the larger one the positive; or −1 and 1.
    radius : float or array, (radii,)
        Positive, in any order.
    loss : {"logistic", "exponential"}
        Of the margin.
    fit_intercept : bool
        Whether to fit an intercept, which is not part of the norm.

    Returns
    -------
    ConstrainedOptimum
        Right to 1e-10 in the objective, relatively, and in the conditions of a minimum; `ArithmeticError` if rounding
        does not let it be.

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
            f"loss={loss!r} is not one with an exponential tail.{did_you_mean(loss, TAIL_LOSSES)} Give "
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
    """The minimisers, each radius with its own, in their order."""
    n_features = mean_loss.rows.shape[1]
    before: list[tuple[float, Point]] = []
    found: dict[float, Point] = {}
    for radius in _with_steps(radii):
        point = mean_loss.minimise(radius, _start(mean_loss, before, radius, n_features))
        if radius in radii and max(point.residual(radius), point.gap(radius)) > TOLERANCE:
            raise ArithmeticError(
                f"no minimum to {TOLERANCE:g} over the ball of radius {radius:g} (the largest ‖x‖ being 1): residual "
                f"{point.residual(radius):.3g}, gap {point.gap(radius):.3g}; bring the features to one scale, or take "
                "a smaller radius"
            )
        found[radius] = point
        before = [*before, (radius, point)][-2:]
    return [(found[radius], radius) for radius in radii.tolist()]


def _with_steps(radii: Array) -> list[float]:
    """The radii in rising order with powers of 2 between them, from 1 on."""
    between = 2.0 ** np.arange(0, max(0, math.ceil(math.log2(radii.max()))))
    return sorted({*radii.tolist(), *between.tolist()})


def _start(mean_loss: MeanLoss, before: list[tuple[float, Point]], radius: float, n_features: int) -> Point:
    """The best of: the last minimiser, the same on the new sphere, and the line through the last two."""
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
