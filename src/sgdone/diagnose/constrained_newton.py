"""Newton's method on the mean loss over ‖w‖ ≤ r, every quadratic minimised over the ball itself.

All numbers are divided by the largest slope of a row, exp(``shift``): on separable data and a large radius risk,
gradient and curvature are all of the size of exp(−γr), and only their ratios count.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.diagnose.quadratic_in_ball import minimum_in_ball, minimum_in_ball_by_products
from sgdone.diagnose.tail_losses import TailLoss

Array = NDArray[np.float64]

#: Up to so many features H is formed and its eigenvectors found; beyond them, products with H.
DIRECTLY = 400
#: What is left of the conditions, in units of the mean slope, at which to end, and beyond which to complain.
_ENOUGH, TOLERANCE = 1e-13, 1e-10
_ITERATIONS, _HALVINGS = 200, 50
#: Rounding of the gradient, in units of the mean slope.
_NOISE = 1e-15
#: A change of the logarithm of the mean loss that may be rounding, by the size of margins.
_ROUNDING = 1e-15


def is_sparse(matrix: Any) -> bool:
    """Whether SciPy made it."""
    return bool(sparse.issparse(matrix))


@final
@dataclass(frozen=True)
class Point:
    """A point, and the mean loss around it."""

    coef: Array
    intercept: float
    shift: float
    #: Divided by exp(shift): mean loss, gradient, derivative by the intercept, mean slope; curvatures by row.
    value: float
    gradient: Array
    gradient_intercept: float
    slope: float
    curvatures: Array

    @property
    def log_value(self) -> float:
        """The logarithm of the mean loss."""
        return self.shift + float(np.log(self.value))

    def multiplier(self) -> float:
        """The best μ ≥ 0 for ∇R + μw = 0."""
        square = float(self.coef @ self.coef)
        return max(0.0, -float(self.gradient @ self.coef) / square) if square > 0.0 else 0.0

    def residual(self, radius: float) -> float:
        """What is left of ∇R + μw = 0, of "μ = 0 or ‖w‖ = r" and of ∂R/∂b = 0, in units of the mean slope."""
        mu, norm = self.multiplier(), float(np.linalg.norm(self.coef))
        left = float(np.linalg.norm(self.gradient + mu * self.coef)) + abs(self.gradient_intercept)
        return left / self.slope + min(mu * norm / self.slope, abs(radius - norm) / radius)

    def gap(self, radius: float) -> float:
        """No point of the ball, with the intercept as it is, has a mean loss lower by more, in units of this one.

        By convexity R(z) ≥ R(w) + ∇R(w)ᵀ(z − w) ≥ R(w) − r‖∇R(w)‖ − ∇R(w)ᵀw.
        """
        norm, steepness = float(np.linalg.norm(self.coef)), float(np.linalg.norm(self.gradient))
        if norm == 0.0 or steepness == 0.0:
            return radius * steepness / self.value
        apart = self.gradient / steepness + self.coef / norm
        # Without cancellation where w is on the sphere and opposite to the gradient.
        return (steepness * max(radius - norm, 0.0) + 0.5 * norm * steepness * float(apart @ apart)) / self.value


@final
@dataclass(frozen=True)
class MeanLoss:
    """The mean loss of rows y·x, of norm 1 or less, with labels beside them for the intercept."""

    rows: Any
    labels: Array | None
    loss: TailLoss

    def at(self, coef: Array, intercept: float) -> Point:
        """Everything that the method needs of a point."""
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
        """The minimiser over ‖w‖ ≤ radius, from a point of that ball."""
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
        """Towards the quadratic's minimiser, as far as it pays; none if nothing is left but rounding."""
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
        # With an intercept H is what is left when it follows: the rows' covariance, weighted.
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
            # A forcing term that falls with the residual keeps Newton's method faster than linear.
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
