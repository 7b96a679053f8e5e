"""Rows of norm 1: the given units compete with those of the default fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from sgdone import LinearClassifier, LinearRegressor


def texts(n_rows, n_words, seed=0):
    """Rows of norm 1, with frequent words that matter and rare ones that do not."""
    rng = np.random.default_rng(seed)
    frequencies = np.geomspace(0.5, 0.02, n_words)
    X = (rng.random((n_rows, n_words)) < frequencies) * rng.random((n_rows, n_words))
    X[np.arange(n_rows), rng.integers(0, 5, n_rows)] += 0.5
    X = normalize(X)
    return X, X[:, :5] @ [6.0, -6.0, 4.0, -4.0, 2.0]


@pytest.mark.parametrize("n_words", [20, 200])
def test_a_model_in_given_units_is_the_optimum_there(n_words):
    X, scores = texts(120, n_words)
    y = scores + np.random.default_rng(1).logistic(size=120) > 0
    model = LinearClassifier().fit(sparse.csr_array(X), y)
    assert "their own units were better" in str(model.verdict_)
    exact = LogisticRegression(C=1.0 / (model.alpha_ * 120), tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-5)
    assert np.isfinite(model.partial_fit(sparse.csr_array(X), y).coef_).all()


def test_rows_of_other_norms_are_scaled():
    X, scores = texts(120, 20)
    y = scores + np.random.default_rng(1).logistic(size=120) > 0
    assert "their own units" not in str(LinearClassifier().fit(sparse.csr_array(2.0 * X), y).verdict_)


def test_numbers():
    X, scores = texts(120, 20)
    y = scores + np.random.default_rng(1).standard_normal(120)
    model = LinearRegressor().fit(sparse.csr_array(X), y)
    assert "their own units were better" in str(model.verdict_)
    assert model.score(sparse.csr_array(X), y) > 0.5


def test_scaled_units_that_are_better():
    """Rare words that matter as much as frequent ones."""
    rng = np.random.default_rng(3)
    X = (rng.random((300, 60)) < np.geomspace(0.9, 0.03, 60)) * 1.0
    X[X.sum(axis=1) == 0, 0] = 1.0
    y = X[:, 30:] @ rng.choice([-3.0, 3.0], 30) + rng.logistic(size=300) > 0
    assert "their own units" not in str(LinearClassifier().fit(sparse.csr_array(normalize(X)), y).verdict_)
