"""As good as a scaler and an exact solver with its default penalty."""

import numpy as np
import pytest
from automatic_problems import fitted
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgdone import LinearClassifier, LinearRegressor

pytestmark = pytest.mark.slow


def splits(load):
    X, y = load(return_X_y=True)
    stratify = y if np.unique(y).size < 20 else None
    for seed in range(3):
        yield seed, train_test_split(X, y, test_size=0.3, random_state=seed, stratify=stratify)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_wine, load_iris], ids=lambda f: f.__name__)
def test_log_losses_on_new_rows(load):
    ours, theirs = [], []
    for seed, (X, new, y, labels) in splits(load):
        ours.append(log_loss(labels, LinearClassifier(random_state=seed).fit(X, y).predict_proba(new)))
        exact = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y)
        theirs.append(log_loss(labels, exact.predict_proba(new)))
    assert np.mean(ours) < 1.06 * np.mean(theirs)


def test_squared_errors_on_new_rows():
    ours, theirs = [], []
    for seed, (X, new, y, targets) in splits(load_diabetes):
        ours.append(LinearRegressor(random_state=seed).fit(X, y).score(new, targets))
        theirs.append(make_pipeline(StandardScaler(), Ridge()).fit(X, y).score(new, targets))
    assert np.mean(ours) > np.mean(theirs) - 0.02


def test_one_pass_over_chunks_is_not_far_behind():
    ours, theirs = [], []
    for _, (X, new, y, labels) in splits(load_digits):
        ours.append(fitted("three", X, y, 100).score(new, labels))
        theirs.append(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y).score(new, labels))
    assert np.mean(ours) > np.mean(theirs) - 0.03


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_base_rates(form, rate, rng):
    X = 1e3 * rng.standard_normal((20_000, 5)) + 1e4 * (form is np.asarray)
    scores = (X - X.mean(axis=0)) @ [1e-3, -5e-4, 5e-4, 0.0, 0.0] + np.log(rate / (1 - rate))
    y = (rng.random(20_000) < expit(scores)).astype(int)
    model = LinearClassifier(random_state=0).fit(form(X), y)
    assert model.predict_proba(form(X))[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)


def test_base_rates_of_several_classes(rng):
    X = rng.standard_normal((20_000, 4))
    logits = X @ rng.standard_normal((4, 3)) * 0.5 + [2.0, 0.0, -2.0]
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    found = LinearClassifier(random_state=0).fit(X, y).predict_proba(X).mean(axis=0)
    np.testing.assert_allclose(found, np.bincount(y) / 20_000, rtol=0.1)


def test_probabilities_are_calibrated(rng):
    """Predicted probabilities are close to the true ones."""
    X = rng.standard_normal((30_000, 8))
    truth = expit(X @ rng.standard_normal(8))
    y = (rng.random(30_000) < truth).astype(int)
    found = LinearClassifier(random_state=0).fit(X[:20_000], y[:20_000]).predict_proba(X[20_000:])[:, 1]
    assert np.abs(found - truth[20_000:]).mean() < 0.02


def test_slopes_of_a_regression_in_different_units(rng):
    X = rng.standard_normal((5000, 4)) * [1e5, 1.0, 1e-5, 10.0] + [1e6, 0.0, 1.0, -100.0]
    slopes = np.array([1e-5, 2.0, -1e5, 0.3])
    y = X @ slopes + 0.5 * rng.standard_normal(5000)
    model = LinearRegressor(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_ / slopes, 1.0, atol=0.05)


def test_words_of_a_text(rng):
    """A thousand columns, a few frequent and most rare."""
    frequency = 0.3 / np.arange(1, 1001)
    X = sparse.csr_array(rng.random((3000, 1000)) < frequency, dtype=float)
    slopes = rng.standard_normal(1000) * (rng.random(1000) < 0.3)
    y = (X @ slopes + 0.5 * rng.logistic(size=3000) > 0).astype(int)
    model = LinearClassifier(random_state=0).fit(X[:2000], y[:2000])
    exact = LogisticRegression(max_iter=2000).fit(X[:2000], y[:2000])
    losses = [log_loss(y[2000:], each.predict_proba(X[2000:])) for each in (model, exact)]
    assert losses[0] < 1.03 * losses[1]
