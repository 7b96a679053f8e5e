"""Rows in partitions, for tests."""

import numpy as np

from sgdone.cluster import Partition


def logistic_problem(n_rows=20_000, n_features=10, seed=0):
    """Columns of very different units, far from 0, and labels that they explain in part."""
    rng = np.random.default_rng(seed)
    units = np.logspace(-2, 2, n_features)
    Z = rng.standard_normal((n_rows, n_features))
    Z[:, 1] += 0.9 * Z[:, 0]
    scores = Z @ rng.standard_normal(n_features) + 0.5
    return Z * units + 5.0 * units, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-scores)), "yes", "no")


def split(X, y, n_partitions, sample_weight=None, order=None):
    """Partitions of consecutive rows of an order."""
    order = np.arange(len(y)) if order is None else order
    return [
        Partition(number, X[rows], y[rows], None if sample_weight is None else sample_weight[rows])
        for number, rows in enumerate(np.array_split(order, n_partitions))
    ]
