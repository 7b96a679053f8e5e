"""Ji, Telgarsky (2018): gradient descent, SGD as a perceptron, the optimal iterates of section 3.3, and Theorem 3.1.

Rows are A_i = −y_i·x_i, divided by the largest norm, and losses are rising functions of ⟨A_i, w⟩, as in the paper. The
partition of Theorem 3.1 is found by exact linear programs in integers, one per row: for small problems.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import lcm

import numpy as np

from sgdone.papers.sgd_reference import Array

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


Vector = list[int]


def in_cone(target: Vector, rows: list[Vector], lines: list[Vector] | None = None) -> bool:
    """Whether target = Σ q_k·rows_k + Σ c_k·lines_k with q ≥ 0: phase 1 of the simplex method, by Bland's rule."""
    generators = rows + [[sign * x for x in line] for line in lines or [] for sign in (1, -1)]
    # A tableau of one line a coordinate: generators, then the right-hand side; the basis starts as artificial columns.
    table = [[g[j] for g in generators] + [target[j]] for j in range(len(target))]
    table = [[-x for x in line] if line[-1] < 0 else line for line in table]
    cost = [sum(column) for column in zip(*table, strict=True)]
    basis = [len(generators) + j for j in range(len(table))]
    common = 1  # Edmonds: every entry is an integer over the last pivot, and divisions leave no rest.
    while True:
        enter = next((k for k in range(len(generators)) if cost[k] > 0), None)
        if enter is None:
            return bool(cost[-1] == 0)
        falling = [(Fraction(line[-1], line[enter]), basis[j], j) for j, line in enumerate(table) if line[enter] > 0]
        leave = min(falling)[2]
        pivot = table[leave]
        table = [line if j == leave else _eliminated(line, pivot, enter, common) for j, line in enumerate(table)]
        cost, basis[leave], common = _eliminated(cost, pivot, enter, common), enter, pivot[enter]


def _eliminated(line: Vector, pivot: Vector, enter: int, common: int) -> Vector:
    factor, own = line[enter], pivot[enter]
    return [(own * x - factor * y) // common for x, y in zip(line, pivot, strict=True)]


def separable_rows(A: list[Vector]) -> list[bool]:
    """Row i is separable if some u has A·u ≤ 0 and A_i·u < 0: by Farkas, if −A_i is not in the cone of the rows."""
    distinct = [list(row) for row in dict.fromkeys(map(tuple, A))]
    answers = {tuple(row): not in_cone([-x for x in row], distinct) for row in distinct}
    return [answers[tuple(row)] for row in A]


def infinite(A: list[Vector], separable: list[bool]) -> list[int]:
    """The sign of u_j over the u in the span of the rows with A_S·u = 0, A_c·u < 0; 0 if always 0, 2 if open."""
    moving = [row for row, s in zip(A, separable, strict=True) if s]
    fixed = [row for row, s in zip(A, separable, strict=True) if not s]
    signs = []
    for column in _projections(A):
        # No u has column·u > 0 if column is in the cone of A_c plus the span of A_S; likewise for −column.
        up, down = (not in_cone([s * x for x in column], moving, fixed) for s in (1, -1))
        signs.append(2 if up and down else 1 if up else -1 if down else 0)
    return signs


def _projections(A: list[Vector]) -> list[Vector]:
    """The unit vectors projected onto the span of the rows, by Gram and Schmidt, scaled to integers."""
    basis: list[list[Fraction]] = []
    for row in A:
        rest = _rejected([Fraction(x) for x in row], basis)
        basis += [rest] if any(rest) else []
    units = [[Fraction(j == k) for k in range(len(A[0]))] for j in range(len(A[0]))]
    projections = [[x - y for x, y in zip(unit, _rejected(unit, basis), strict=True)] for unit in units]
    return [[int(x * lcm(*(y.denominator for y in column))) for x in column] for column in projections]


def _rejected(vector: list[Fraction], basis: list[list[Fraction]]) -> list[Fraction]:
    for base in basis:
        share = sum((x * y for x, y in zip(vector, base, strict=True)), Fraction(0)) / sum(x * x for x in base)
        vector = [x - share * y for x, y in zip(vector, base, strict=True)]
    return vector
