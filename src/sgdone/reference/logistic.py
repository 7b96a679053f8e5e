"""Ji, Telgarsky (2018): gradient descent, SGD as a perceptron runs, and the optimal iterates of section 3.3.

Rows are A_i = −y_i·x_i, divided by the largest norm, and losses are rising functions of ⟨A_i, w⟩, as in the paper.
"""

from collections.abc import Callable, Iterable

import numpy as np

from sgdone.reference.averaged_sgd import Array

#: ℓ, ℓ′ and ℓ″ of ⟨A_i, w⟩.
Derivatives = tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]


def _share(r: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0.0, -r)))


LOSSES: dict[str, Derivatives] = {
    "logistic": (lambda r: np.logaddexp(0.0, r), _share, lambda r: _share(r) * _share(-r)),
    "exponential": (np.exp, np.exp, np.exp),
}


def scaled_rows(X: Array, y: Array) -> tuple[Array, float]:
    """A with rows of norm 1 or less, and the norm they were divided by: A·w is −y·x·(w/norm)."""
    largest = float(np.sqrt((X**2).sum(axis=1).max()))
    return -y[:, None] * X / largest, largest


def constant_step(j: int) -> float:
    """η_j = 1."""
    return 1.0


def inverse_root_step(j: int) -> float:
    """η_j = 1/√(j + 1)."""
    return float((j + 1) ** -0.5)


def risk(A: Array, w: Array, loss: str = "logistic") -> float:
    """The mean loss."""
    return float(LOSSES[loss][0](A @ w).mean())


def gradient(A: Array, w: Array, loss: str = "logistic") -> Array:
    """Its gradient, Aᵀ∇L(Aw)."""
    return np.asarray(A.T @ LOSSES[loss][1](A @ w) / len(A))


def gradient_descent(A: Array, eta: Callable[[int], float], steps: int, loss: str = "logistic") -> Array:
    """w_0, …, w_steps of section 3."""
    path = [np.zeros(A.shape[1])]
    for j in range(steps):
        path.append(path[-1] - eta(j) * gradient(A, path[-1], loss))
    return np.array(path)


def perceptron_sgd(rows: Iterable[Array], features: int, eta: Callable[[int], float], loss: str = "logistic") -> Array:
    """w_0, w_1, … of section 2, one row z_j = −y_j·x_j a step."""
    path = [np.zeros(features)]
    for j, z in enumerate(rows):
        path.append(path[-1] - eta(j) * LOSSES[loss][1](z @ path[-1]) * z)
    return np.array(path)


def penalised_optimum(A: Array, mu: float, loss: str = "logistic") -> Array:
    """The arg min of R(w) + μ‖w‖²/2, μ > 0: Newton's method with halved steps."""
    w = np.zeros(A.shape[1])
    for _ in range(500):
        slope = gradient(A, w, loss) + mu * w
        curvature = (A.T * LOSSES[loss][2](A @ w)) @ A / len(A) + mu * np.eye(len(w))
        step, fraction = -np.linalg.solve(curvature, slope), 1.0
        here = risk(A, w, loss) + mu * w @ w / 2
        while risk(A, w + fraction * step, loss) + mu * np.sum((w + fraction * step) ** 2) / 2 > here + 1e-15:
            fraction /= 2
        w = w + fraction * step
        if np.linalg.norm(fraction * step) <= 1e-14 * np.linalg.norm(w):
            break
    return w


def constrained_optimum(A: Array, radius: float, loss: str = "logistic") -> Array:
    """w̄: arg min of R over ‖w‖ ≤ radius, by bisection of the multiplier μ, with which the norm falls."""
    low, high = -40.0, 0.0  # ln μ; at w = 0 the gradient's norm is at most 1
    while np.linalg.norm(penalised_optimum(A, np.exp(high), loss)) > radius:
        high += 1.0
    if np.linalg.norm(penalised_optimum(A, np.exp(low), loss)) <= radius:
        return penalised_optimum(A, np.exp(low), loss)
    for _ in range(100):
        middle = (low + high) / 2
        inside = np.linalg.norm(penalised_optimum(A, np.exp(middle), loss)) <= radius
        low, high = (low, middle) if inside else (middle, high)
    return penalised_optimum(A, np.exp(high), loss)
