"""The quadratic problem of section 6.1 of Xu (2011): methods and their expectations.

The gradient A(θ − x) is not that of a linear model on rows, so that the methods are written out here, in the
eigenvectors of A.
"""

import numpy as np

from sgdone.kernels.jit import compiled
from sgdone.papers.averaging.curves import BATCH, Array, Points
from sgdone.papers.averaging.theory import Schedule, expected_errors

GOOD, BAD, PLAIN = "ASGD", "ASGD_BAD", "SGD"
SCHEDULES = {GOOD: Schedule(1.0, 0.02, 2 / 3), BAD: Schedule(1.0, 1.0, 1 / 2), PLAIN: Schedule(1.0, 0.02, 1.0)}
EIGENVALUES = np.array([1.0] * 3 + [0.02] * 97)
_ROWS_IN_BLOCK = 1024


def expected_risks(method: str, points: Points) -> Array:
    """Expected excess risk at the points."""
    if method == BATCH:
        return np.asarray(EIGENVALUES.sum() / points)
    A, start = np.diag(EIGENVALUES), np.ones(EIGENVALUES.size)
    errors = expected_errors(points, A=A, S=A @ A, start_error=start, **SCHEDULES[method]._asdict())
    return errors.last if method == PLAIN else errors.averaged


def courses(points: Points, rng: np.random.Generator) -> dict[str, Array]:
    """Excess risk θᵀAθ of every method at the points, all on the same samples."""
    iterates = {method: np.ones(EIGENVALUES.size) for method in SCHEDULES}
    totals = {method: np.zeros(EIGENVALUES.size) for method in (*SCHEDULES, BATCH)}
    risks = {method: np.empty(points.size) for method in (*SCHEDULES, BATCH)}
    used = 0
    for k, point in enumerate(points):
        while used < point:
            x = rng.standard_normal((min(_ROWS_IN_BLOCK, point - used), EIGENVALUES.size))
            for method, schedule in SCHEDULES.items():
                steps = schedule(np.arange(used + 1, used + 1 + len(x)))
                advance(iterates[method], totals[method], x, steps, EIGENVALUES)
            totals[BATCH] += x.sum(axis=0)
            used += len(x)
        for method, total in totals.items():
            theta = iterates[PLAIN] if method == PLAIN else total / used
            risks[method][k] = EIGENVALUES @ theta**2
    return risks


@compiled()
def advance(theta: Array, total: Array, x: Array, steps: Array, eigenvalues: Array) -> None:
    """Make the steps θ ← θ − γA(θ − x), A diagonal, and add every θ to the total.

    Examples
    --------
    >>> theta, total = np.ones(1), np.zeros(1)
    >>> advance(theta, total, np.zeros((2, 1)), np.array([0.5, 0.5]), np.ones(1))
    >>> theta, total
    (array([0.25]), array([0.75]))
    """
    for i in range(x.shape[0]):
        for j in range(theta.size):
            theta[j] -= steps[i] * eigenvalues[j] * (theta[j] - x[i, j])
            total[j] += theta[j]
