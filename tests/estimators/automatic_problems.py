"""Rows for tests of the default fit, and how to fit and use either of its two estimators."""

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier, LinearRegressor
from tiers import fast_first

#: Two classes, three classes, and numbers.
TASKS = fast_first(1, ["two", "three", "numbers"])
#: A test with an argument `form` runs with dense and with sparse rows.
in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
SLOPES = np.array([1.0, -0.5, 2.0, 0.0, 0.7, -0.3])


def problem(task, n_rows=600, seed=0, density=1.0):
    """Rows of six columns of different means and spreads, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 6)) * [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]
    if density == 1.0:
        X += [0.0, 1.0, 0.0, -2.0, 0.0, 0.0]
    else:
        X *= rng.random(X.shape) < density
    scores = X @ SLOPES
    noisy = scores + rng.logistic(size=n_rows)
    if task == "two":
        return X, (noisy > 0).astype(int)
    if task == "three":
        return X, np.digitize(noisy, [-2.0, 2.0])
    return X, scores + rng.standard_normal(n_rows)


def estimator(task, **options):
    return (LinearRegressor if task == "numbers" else LinearClassifier)(**{"random_state": 0} | options)


def fitted(task, X, y, chunk=None, **options):
    """An estimator of the task after ``fit``, or after ``partial_fit`` of chunks."""
    model = estimator(task, **options)
    return model.fit(X, y) if chunk is None else in_chunks(model, X, y, chunk)


def in_chunks(model, X, y, chunk):
    """The estimator after ``partial_fit`` of chunks."""
    classes = {} if isinstance(model, LinearRegressor) else {"classes": np.unique(y)}
    for first in range(0, X.shape[0], chunk):
        model.partial_fit(X[first : first + chunk], y[first : first + chunk], **classes)
    return model


def pressing_at(call):
    """Make a hook that presses Ctrl-C at its call with this number."""
    calls = []

    def hook(progress):
        calls.append(progress)
        if len(calls) == call:
            raise KeyboardInterrupt

    return lambda number: hook


def scores_of(model, X):
    """Predicted numbers, or scores of classes."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def assert_same_scores(found, expected, tolerance=1e-6):
    """Equal up to a small share of their spread."""
    assert np.abs(found - expected).max() <= tolerance * expected.std()


def cubed(z, y):
    return max(0.0, 1.0 - y * z) ** 3


def slope_of_cubed(z, y):
    return -3.0 * y * max(0.0, 1.0 - y * z) ** 2
