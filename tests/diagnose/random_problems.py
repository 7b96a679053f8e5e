"""Small integer problems of every kind."""

import numpy as np


def random_problem(seed):
    """Rows, labels and whether there is an intercept: up to 40 × 6, with repeated, combined and zero columns."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 41)), int(rng.integers(1, 7))
    largest = int(rng.integers(1, 5))
    X = rng.integers(-largest, largest + 1, size=(n, d))
    X[rng.random(X.shape) < rng.choice([0.0, 0.3, 0.7])] = 0
    fate = rng.random(4)
    if d > 1 and fate[0] < 0.25:
        X[:, 0] = X[:, 1] * rng.integers(-2, 3)
    if d > 2 and fate[1] < 0.25:
        X[:, 2] = X[:, 0] + X[:, 1]
    if fate[2] < 0.15:
        X[:, rng.integers(d)] = 0
    if n > 4 and fate[3] < 0.2:
        X[: n // 2] = X[-(n // 2) :]
    scores = X @ rng.integers(-2, 3, size=d) + rng.integers(-1, 2)
    y = np.where(scores > 0, 1, -1)
    kind = rng.integers(5)
    if kind == 0:
        y = rng.choice([-1, 1], n)
    elif kind in (1, 2):
        y = np.where(scores == 0, rng.choice([-1, 1], n), y)
    elif kind == 3:
        y = np.where(rng.random(n) < 0.05, -y, y)
    return X, y, bool(rng.random() < 0.7)
