"""Minimisation of a convex quadratic over a ball around 0, by an eigendecomposition of H or by products with H."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SECULAR_ITERATIONS = 100
#: Largest size of the basis. An inexact minimum is improved by the next Newton step.
_MOST = 200
_ROUNDING = float(np.finfo(np.float64).eps)


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
    multiplier = _multiplier(eigenvalues, linear, radius)
    force = np.maximum(np.abs(pull), multiplier * np.abs(place))
    held = (eigenvalues <= 8.0 * pull.size * _ROUNDING * eigenvalues[-1]) & (force <= noise)
    left = radius**2 - float(place[held] @ place[held])
    free = ~held if left > 0.0 else np.ones_like(held)
    if free.any():
        if not free.all():
            multiplier = _multiplier(eigenvalues[free], linear[free], math.sqrt(left))
        place[free] = _coordinates(eigenvalues[free], linear[free], multiplier)
    return InBall(axes @ place + 0.0, multiplier if free.any() else 0.0)


def minimum_in_ball_by_products(
    product: Callable[[Array], Array], diagonal: Array, gradient: Array, start: Array, radius: float, near: float
) -> InBall:
    """Minimise the same quadratic approximately for many features: Davidson's method, adapted to a ball.

    The minimum is found in a subspace to which the residual g + H(u − w) + μu is added, divided by the diagonal of
    H + μ. The subspace contains ``start``, so the result is at least as good.

    Parameters
    ----------
    product : callable
        u → Hu.
    diagonal : array, (features,)
        Diagonal of H.
    gradient, start : array, (features,)
        g and w.
    radius : float
        r.
    near : float
        Norm of the residual at which to stop.
    """
    most = min(_MOST, start.size)
    basis, images, within = np.empty((most, start.size)), np.empty((most, start.size)), np.empty((most, most))
    floor = _ROUNDING * float(diagonal.max())
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
    return new / size if size > 1e3 * _ROUNDING else None


def _multiplier(eigenvalues: Array, along: Array, radius: float) -> float:
    """μ with ‖u(μ)‖ = r, or 0 if u(0) is in the ball: Newton's method from below on 1/‖u(μ)‖, which is concave."""
    flat = np.abs(along) > radius * eigenvalues
    if not flat.any() and np.linalg.norm(_coordinates(eigenvalues, along, 0.0)) <= radius:
        return 0.0
    # A lower bound: at least one coordinate of u(μ) alone has absolute value r.
    mu = max(0.0, float(np.max(np.abs(along) / radius - eigenvalues)))
    for _ in range(_SECULAR_ITERATIONS):
        u = _coordinates(eigenvalues, along, mu)
        norm = float(np.linalg.norm(u))
        if norm <= radius * (1.0 + 2.0 * _ROUNDING):
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
