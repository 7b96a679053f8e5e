"""Problems with many rows a coefficient, so that nothing is refused."""

import numpy as np

from sgdone import LinearClassifier, LinearRegressor


def two_classes(n_rows=600, n_features=3, seed=0):
    """Rows of two classes that overlap, labelled 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) @ (np.eye(n_features) + 0.4)
    scores = 0.3 + X @ np.linspace(0.8, -0.6, n_features)
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-scores))).astype(int)


def several_classes(n_classes=3, n_rows=900, n_features=2, seed=0):
    """Rows of classes that overlap, labelled 0, 1, ..."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    scores = X @ rng.standard_normal((n_features, n_classes)) + rng.gumbel(size=(n_rows, n_classes))
    return X, scores.argmax(axis=1)


def targets(n_rows=400, n_features=3, seed=0):
    """Rows with a number each, whose errors have unequal variances."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) @ (np.eye(n_features) + 0.4)
    errors = rng.standard_normal(n_rows) * (0.5 + np.abs(X[:, 0]))
    return X, 2.0 + X @ np.arange(1.0, n_features + 1.0) + errors


def groups_of(n_rows, count=60, seed=1):
    """A group for each row."""
    return np.random.default_rng(seed).integers(0, count, n_rows)


def classifier_summary(X, y, *arguments, fit_intercept=True, **options):
    """The summary of the default classifier."""
    return LinearClassifier(fit_intercept=fit_intercept).fit(X, y).summary(X, y, *arguments, **options)


def regressor_summary(X, y, *arguments, fit_intercept=True, **options):
    """The summary of the default regressor."""
    return LinearRegressor(fit_intercept=fit_intercept).fit(X, y).summary(X, y, *arguments, **options)


def kinds(summary):
    """The kind of refusal by the name of the coefficient."""
    return {summary.names[k]: refusal.kind for k, refusal in summary.refused.items()}


def assert_within(found, expected, std_err, tol):
    """Coefficients or limits differ by at most ``tol`` standard errors; by that share of themselves without an error.

    Other rounding errors move a coefficient by a share of its standard error, whatever its size.
    """
    found, expected, std_err = (np.asarray(values, dtype=float) for values in (found, expected, std_err))
    sizes = np.where(np.isfinite(expected) & (expected != 0), np.abs(expected), 1.0)
    units = np.where(np.isfinite(std_err), std_err, sizes)
    np.testing.assert_allclose(found / units, expected / units, rtol=0, atol=tol)
