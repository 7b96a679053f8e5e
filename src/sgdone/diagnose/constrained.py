"""Norm-constrained optima, which exist also if there is no finite unconstrained optimum.

Newton's method minimises the mean loss over ‖w‖ ≤ r, and each quadratic model over the same ball. All quantities are
divided by the largest slope of a row, exp(``shift``): on separable data with a large radius the risk, gradient and
curvature are all of the order of exp(−γr), and only their ratios matter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.message_text import did_you_mean

Array = NDArray[np.float64]

_SECULAR_ITERATIONS = 100
#: Largest size of the basis. An inexact minimum is improved by the next Newton step.
_MOST = 200
_EPSILON = float(np.finfo(np.float64).eps)


class InBall(NamedTuple):
    """The minimiser u and the multiplier μ ≥ 0 of the constraint: the gradient at u is −μu."""

    point: Array
    multiplier: float


def minimum_in_ball(H: Array, gradient: Array, start: Array, radius: float, noise: float = 0.0) -> InBall:
    """Minimise gᵀ(u − w) + ½(u − w)ᵀH(u − w) over the ball, with the eigenvectors of H.

    Coordinates of u stay at those of w where the eigenvalue of H is 0 up to rounding and both the gradient and μw are
    at most ``noise``. Otherwise rounding errors would move them to the sphere.

    Examples
    --------
    >>> minimum_in_ball(np.diag([1.0, 3.0]), np.array([-1.0, 0.0]), np.zeros(2), 2.0)
    InBall(point=array([1., 0.]), multiplier=0.0)
    >>> minimum_in_ball(np.diag([1.0, 3.0]), np.array([-3.0, 0.0]), np.zeros(2), 2.0)
    InBall(point=array([2., 0.]), multiplier=0.5)
    """
    eigenvalues, axes = np.linalg.eigh(H)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    pull, place = axes.T @ gradient, axes.T @ start
    linear = pull - eigenvalues * place
    multiplier = _secular_multiplier(eigenvalues, linear, radius)
    force = np.maximum(np.abs(pull), multiplier * np.abs(place))
    held = (eigenvalues <= 8.0 * pull.size * _EPSILON * eigenvalues[-1]) & (force <= noise)
    left = radius**2 - float(place[held] @ place[held])
    free = ~held if left > 0.0 else np.ones_like(held)
    if free.any():
        if not free.all():
            multiplier = _secular_multiplier(eigenvalues[free], linear[free], math.sqrt(left))
        place[free] = _coordinates(eigenvalues[free], linear[free], multiplier)
    return InBall(axes @ place + 0.0, multiplier if free.any() else 0.0)


def minimum_in_ball_by_products(
    product: Callable[[Array], Array], diagonal: Array, gradient: Array, start: Array, radius: float, near: float
) -> InBall:
    """Minimise the same quadratic approximately for many features: Davidson's method, adapted to a ball.

    The minimum is found in a subspace to which the residual g + H(u − w) + μu is added, divided by the diagonal of H +
    μ, until its norm is at most ``near``. The subspace contains ``start``, so the result is at least as good.
    """
    most = min(_MOST, start.size)
    basis, images, within = np.empty((most, start.size)), np.empty((most, start.size)), np.empty((most, most))
    floor = _EPSILON * float(diagonal.max())
    found, count = InBall(start, 0.0), 0
    new = start if start.any() else gradient
    while True:
        unit = _orthogonal(new, basis[:count])
        if unit is None:
            return found
        basis[count], images[count] = unit, product(unit)
        within[count, : count + 1] = within[: count + 1, count] = basis[: count + 1] @ images[count]
        count += 1
        if count < most and count % max(1, count // 8):
            new = images[count - 1] / (diagonal + found.multiplier + floor)
            continue
        began = basis[:count] @ start
        small = minimum_in_ball(within[:count, :count], basis[:count] @ gradient, began, radius)
        found = InBall(small.point @ basis[:count], small.multiplier)
        left = (small.point - began) @ images[:count] + gradient + found.multiplier * found.point
        if count == most or np.linalg.norm(left) <= near:
            return found
        new = left / (diagonal + found.multiplier + floor)


def _orthogonal(new: Array, basis: Array) -> Array | None:
    """Component orthogonal to the basis, normalised; None if it is rounding error."""
    new = new / np.linalg.norm(new)
    for _ in range(2):  # "twice is enough": Kahan and Parlett
        new = new - (basis @ new) @ basis
    size = float(np.linalg.norm(new))
    return new / size if size > 1e3 * _EPSILON else None


def _secular_multiplier(eigenvalues: Array, along: Array, radius: float) -> float:
    """μ with ‖u(μ)‖ = r, or 0 if u(0) is in the ball: Newton's method from below on 1/‖u(μ)‖, which is concave."""
    flat = np.abs(along) > radius * eigenvalues
    if not flat.any() and np.linalg.norm(_coordinates(eigenvalues, along, 0.0)) <= radius:
        return 0.0
    # A lower bound: at least one coordinate of u(μ) alone has absolute value r.
    mu = max(0.0, float(np.max(np.abs(along) / radius - eigenvalues)))
    for _ in range(_SECULAR_ITERATIONS):
        u = _coordinates(eigenvalues, along, mu)
        norm = float(np.linalg.norm(u))
        if norm <= radius * (1.0 + 2.0 * _EPSILON):
            break
        pulled = u != 0.0
        bend = float(np.sum(u[pulled] ** 2 / (eigenvalues[pulled] + mu)))
        step = norm**2 / bend * (norm - radius) / radius
        if mu + step == mu:
            break
        mu += step
    return mu


def _coordinates(eigenvalues: Array, along: Array, mu: float) -> Array:
    """u(μ) = −b/(λ + μ), b the linear part; 0 where b is 0."""
    u: Array = np.divide(-along, eigenvalues + mu, out=np.zeros_like(along), where=along != 0.0)
    return u


#: Largest number of features for an eigendecomposition of H; beyond, only products with H are used.
DIRECTLY = 400
#: Residual, in units of the mean slope, at which to stop, and above which to raise an error.
_ENOUGH, TOLERANCE = 1e-13, 1e-10
_ITERATIONS, _HALVINGS = 200, 50
#: Rounding error of the gradient, in units of the mean slope.
_NOISE = 1e-15
#: Rounding error of the logarithm of the mean loss, relative to the margins.
_ROUNDING = 1e-15
#: Beyond this margin ln(1 + exp(−m)) equals exp(−m) up to rounding.
_TAIL = 37.0


class TailLoss(NamedTuple):
    """Logarithms of a loss with an exponential tail, of its absolute slope and of its curvature.

    As functions of the margin they are accurate also where the loss itself underflows.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    curvature: Callable[[Array], Array]


def _log_logistic(margins: Array) -> Array:
    return np.where(margins > _TAIL, -margins, np.log(np.logaddexp(0.0, -np.minimum(margins, _TAIL))))


def _log_logistic_slope(margins: Array) -> Array:
    return -np.logaddexp(0.0, margins)


def _log_logistic_curvature(margins: Array) -> Array:
    size = np.abs(margins)
    return np.asarray(-size - 2.0 * np.log1p(np.exp(-size)))


_LOSSES = {
    "logistic": TailLoss(_log_logistic, _log_logistic_slope, _log_logistic_curvature),
    "exponential": TailLoss(np.negative, np.negative, np.negative),
}


@final
@dataclass(frozen=True)
class EvaluatedPoint:
    """A point with the value, gradient and curvature of the mean loss."""

    coef: Array
    intercept: float
    shift: float
    #: All divided by exp(shift): mean loss, gradient, derivative by the intercept, mean slope, curvature of each row.
    value: float
    gradient: Array
    gradient_intercept: float
    slope: float
    curvatures: Array

    @property
    def log_value(self) -> float:
        """Logarithm of the mean loss."""
        return self.shift + float(np.log(self.value))

    def multiplier(self) -> float:
        """The μ ≥ 0 that minimises ‖∇R + μw‖."""
        square = float(self.coef @ self.coef)
        return max(0.0, -float(self.gradient @ self.coef) / square) if square > 0.0 else 0.0

    def residual(self, radius: float) -> float:
        """Residual of the optimality conditions ∇R + μw = 0, "μ = 0 or ‖w‖ = r" and ∂R/∂b = 0, per mean slope."""
        mu, norm = self.multiplier(), float(np.linalg.norm(self.coef))
        left = float(np.linalg.norm(self.gradient + mu * self.coef)) + abs(self.gradient_intercept)
        return left / self.slope + min(mu * norm / self.slope, abs(radius - norm) / radius)

    def gap(self, radius: float) -> float:
        """Upper bound on the relative excess of the mean loss over its minimum on the ball, for this intercept.

        By convexity R(z) ≥ R(w) + ∇R(w)ᵀ(z − w) ≥ R(w) − r‖∇R(w)‖ − ∇R(w)ᵀw.
        """
        norm, steepness = float(np.linalg.norm(self.coef)), float(np.linalg.norm(self.gradient))
        if norm == 0.0 or steepness == 0.0:
            return radius * steepness / self.value
        apart = self.gradient / steepness + self.coef / norm
        # This form avoids cancellation when w is on the sphere and opposite to the gradient.
        return (steepness * max(radius - norm, 0.0) + 0.5 * norm * steepness * float(apart @ apart)) / self.value


@final
@dataclass(frozen=True)
class MeanLoss:
    """The mean loss of rows y·x of norm at most 1; the labels are given if there is an intercept."""

    rows: Any
    labels: Array | None
    loss: TailLoss

    def at(self, coef: Array, intercept: float) -> EvaluatedPoint:
        """Evaluate the mean loss and its derivatives at a point."""
        margins = self.rows @ coef
        if self.labels is not None:
            margins = margins + intercept * self.labels
        log_slopes = self.loss.slope(margins)
        shift = float(log_slopes.max())
        slopes = np.exp(log_slopes - shift)
        value = float(np.mean(np.exp(self.loss.value(margins) - shift)))
        gradient = np.asarray(-(self.rows.T @ slopes) / margins.size)
        by_intercept = 0.0 if self.labels is None else -float(np.mean(self.labels * slopes))
        curvatures = np.exp(self.loss.curvature(margins) - shift)
        return EvaluatedPoint(coef, intercept, shift, value, gradient, by_intercept, float(slopes.mean()), curvatures)

    def minimise(self, radius: float, start: EvaluatedPoint) -> EvaluatedPoint:
        """Minimise over ‖w‖ ≤ radius, starting from a point of the ball."""
        point = start
        for _ in range(_ITERATIONS):
            residual = point.residual(radius)
            if max(residual, point.gap(radius)) <= _ENOUGH:
                break
            better = self._step(point, radius, residual)
            if better is None:
                break
            point = better
        return point

    def _step(self, point: EvaluatedPoint, radius: float, residual: float) -> EvaluatedPoint | None:
        """Step towards the minimiser of the quadratic model with backtracking; None if only rounding is left."""
        coef, intercept = self._quadratic_minimum(point, radius, residual)
        move, shift = coef - point.coef, intercept - point.intercept
        promised = (float(point.gradient @ move) + point.gradient_intercept * shift) / point.value
        fraction = 1.0
        for _ in range(_HALVINGS):
            tried = self.at(
                point.coef + fraction * move if fraction < 1.0 else coef, point.intercept + fraction * shift
            )
            change = tried.log_value - point.log_value
            if promised < 0.0 and change <= 1e-4 * fraction * promised and change < 0.0:
                return tried
            if abs(change) <= _ROUNDING * (10.0 + radius) and tried.residual(radius) <= 0.9 * residual:
                return tried
            fraction /= 2.0
        return None

    def _quadratic_minimum(self, point: EvaluatedPoint, radius: float, residual: float) -> tuple[Array, float]:
        weights = point.curvatures / point.curvatures.size
        total = float(weights.sum())
        # With an intercept, H is the Schur complement: the weighted covariance of the rows.
        mean = np.zeros_like(point.coef) if self.labels is None else (self.rows.T @ (weights * self.labels)) / total

        def product(u: Array) -> Array:
            along = self.rows @ u
            return np.asarray(self.rows.T @ (weights * along)) - total * float(mean @ u) * mean

        gradient = point.gradient - point.gradient_intercept * mean
        if point.coef.size <= DIRECTLY:
            H = self._hessian(weights) - total * np.outer(mean, mean)
            found = minimum_in_ball(H, gradient, point.coef, radius, _NOISE * point.slope)
        else:
            diagonal = np.maximum(np.asarray(self._squares.T @ weights) - total * mean**2, 0.0)
            # A forcing term proportional to the residual keeps the convergence superlinear.
            near = 0.1 * min(1.0, residual) * residual * point.slope
            found = minimum_in_ball_by_products(product, diagonal, gradient, point.coef, radius, near)
        follows = 0.0 if self.labels is None else point.gradient_intercept / total
        return found.point, point.intercept - follows - float(mean @ (found.point - point.coef))

    def _hessian(self, weights: Array) -> Array:
        if is_sparse(self.rows):
            return np.asarray((self.rows.T @ self.rows.multiply(weights[:, None]).tocsr()).toarray())
        return np.asarray(self.rows.T @ (self.rows * weights[:, None]))

    @cached_property
    def _squares(self) -> Any:
        return self.rows.multiply(self.rows).tocsr() if is_sparse(self.rows) else self.rows**2


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
    if loss not in _LOSSES:
        raise ValueError(
            f"loss={loss!r} is not supported.{did_you_mean(loss, _LOSSES)} Give {' or '.join(map(repr, _LOSSES))}"
        )
    rows, labels = _checked_rows(X, y, fit_intercept)
    radii = _checked_radii(radius)
    norms = sparse.linalg.norm(rows, axis=1) if is_sparse(rows) else np.linalg.norm(rows, axis=1)
    largest = float(norms.max()) or 1.0
    mean_loss = MeanLoss(rows / largest, labels if fit_intercept else None, _LOSSES[loss])
    return _as_given(_path(mean_loss, np.atleast_1d(radii) * largest), radii, largest)


def _path(mean_loss: MeanLoss, radii: Array) -> list[tuple[EvaluatedPoint, float]]:
    """Minimisers and radii, in the order of ``radii``."""
    n_features = mean_loss.rows.shape[1]
    before: list[tuple[float, EvaluatedPoint]] = []
    found: dict[float, EvaluatedPoint] = {}
    # The radii and the powers of 2 from 1 up to the largest radius.
    between = 2.0 ** np.arange(0, max(0, math.ceil(math.log2(radii.max()))))
    for radius in sorted({*radii.tolist(), *between.tolist()}):
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


def _start(
    mean_loss: MeanLoss, before: list[tuple[float, EvaluatedPoint]], radius: float, n_features: int
) -> EvaluatedPoint:
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


def _as_given(found: list[tuple[EvaluatedPoint, float]], radii: Array, largest: float) -> ConstrainedOptimum:
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


def _multiplier(point: EvaluatedPoint, radius: float) -> float:
    inside = float(np.linalg.norm(point.coef)) < radius * (1.0 - 1e-9)
    return 0.0 if inside else math.exp(point.shift) * point.multiplier()


def _checked_rows(X: Any, y: ArrayLike, fit_intercept: bool) -> tuple[Any, Array]:
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


def _checked_radii(radius: ArrayLike) -> Array:
    """Validate the radius: a positive number or an array of positive numbers."""
    radii = np.asarray(radius, dtype=np.float64)
    if radii.ndim > 1 or radii.size == 0:
        raise ValueError(f"radius has the shape {radii.shape}: give a number or a one-dimensional array")
    wrong = ~((radii > 0.0) & np.isfinite(radii))
    if wrong.any():
        raise ValueError(f"radius={radii[wrong].flat[0]:g} is not a positive finite number")
    return radii
