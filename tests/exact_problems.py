"""Small problems with exact optima, and optima that others find."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from sgdone.newton import SearchRunner
from sgdone.rows import ArraySource
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import BlockPieces
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.system import System


def pieces_of(X, y, weights=None, scaling=None, frequency=1.0, threads=1):
    """Rows in other units; as they are by default."""
    block = next(ArraySource(X, y, weights, shuffle=False).blocks(np.random.default_rng(0)))
    return BlockPieces(block, scaling or Scaling(np.ones(X.shape[1])), frequency, threads)


def classes(n_classes, n_rows=40, n_features=3, seed=0):
    """Rows of classes that overlap: −1 and 1 if there are two of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.standard_normal((n_rows, n_features)) + np.eye(n_classes, n_features)[y]
    return X, np.where(y == 1, 1.0, -1.0) if n_classes == 2 else y.astype(float)


def numbers(n_rows=40, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, X @ np.arange(1.0, n_features + 1.0) + 2.0 + rng.standard_normal(n_rows)


def system_of(objective, pieces):
    """An objective in the units of pieces."""
    return System(objective, pieces.scaling)


def found_by(path):
    """The optimum at the end of a path."""
    readings = SearchRunner(MemoryRows(path.pieces.block, path.pieces.frequency), path.evaluations())
    while not readings.done:
        readings.read()
    return path.best


def logistic(X, y, strength, weights=None, **options):
    """The optimum of Σvℓ + ½λ‖w‖² that scikit-learn finds."""
    model = LogisticRegression(C=1.0 / strength, solver="newton-cholesky", tol=1e-12, max_iter=1000, **options)
    model.fit(X, y, sample_weight=weights)
    if len(model.coef_) > 1:  # the coefficients of an optimum sum to 0; without an intercept scikit-learn's do roughly
        model.coef_ -= model.coef_.mean(axis=0)
    return model


def log_losses(model, X, y):
    """The loss of each row."""
    places = np.searchsorted(model.classes_, y)
    return -model.predict_log_proba(X)[np.arange(len(y)), places]
