"""Newton's method for the mean loss over ‖w‖ ≤ r; each quadratic model is minimised over the ball.

All quantities are divided by the largest slope of a row, exp(``shift``): on separable data with a large radius the
risk, gradient and curvature are all of the order of exp(−γr), and only their ratios matter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.quadratic_in_ball import minimum_in_ball, minimum_in_ball_by_products
from sgdone.diagnose.separability.least_squares import is_sparse

Array = NDArray[np.float64]

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


TAIL_LOSSES = {
    "logistic": TailLoss(_log_logistic, _log_logistic_slope, _log_logistic_curvature),
    "exponential": TailLoss(np.negative, np.negative, np.negative),
}


@final
@dataclass(frozen=True)
class Point:
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

    def at(self, coef: Array, intercept: float) -> Point:
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
        return Point(coef, intercept, shift, value, gradient, by_intercept, float(slopes.mean()), curvatures)

    def minimise(self, radius: float, start: Point) -> Point:
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

    def _step(self, point: Point, radius: float, residual: float) -> Point | None:
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

    def _quadratic_minimum(self, point: Point, radius: float, residual: float) -> tuple[Array, float]:
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
