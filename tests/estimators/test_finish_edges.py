"""Edges of the exact phase that estimators meet."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from estimators.automatic_problems import problem
from exact_problems import log_losses, logistic
from sgdone import LinearClassifier, LinearRegressor
from sgdone.losses import Huber


def test_leave_one_out_without_an_intercept():
    X, y = problem("two", 40)
    model = LinearClassifier(fit_intercept=False).fit(X, y)
    scaled = X / np.sqrt((X**2).mean(axis=0))
    rows = np.arange(40)
    losses = [
        log_losses(
            logistic(scaled[rows != k], y[rows != k], model.alpha_ * 40, fit_intercept=False), scaled[[k]], y[[k]]
        )[0]
        for k in rows
    ]
    assert model.verdict_.evidence["loss"] == pytest.approx(np.mean(losses), rel=0.02)


@pytest.mark.slow
def test_huber_of_targets_in_large_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = 1e6 * X[:, 0] + rng.standard_normal(60)
    model = LinearRegressor(loss="huber").fit(X, y)
    assert model.score(X, y) > 0.9


def test_tiny_sparse_columns_of_a_regression():
    X, y = problem("numbers", 200)
    models = [LinearRegressor().fit(sparse.csr_array(unit * X), y) for unit in (1.0, 1e-170)]
    np.testing.assert_allclose(1e-170 * models[1].coef_, models[0].coef_, rtol=1e-6)


def test_an_interrupted_regression_predicts_the_mean():
    X, y = problem("numbers", 200)

    def hook(progress):
        raise KeyboardInterrupt

    model = LinearRegressor()
    model._progress_hook = lambda number: hook
    model.fit(X, y + 100.0)
    assert model.score(X, y + 100.0) > -0.01


def test_the_penalty_of_a_state_is_the_one_chosen():
    X, y = problem("numbers", 200)
    model = LinearRegressor(loss=Huber(0.5)).fit(X, y)
    assert model._results[0].state.alpha == pytest.approx(model.alpha_)


def test_noise_in_more_columns_than_rows_gets_a_large_penalty(rng):
    X, y = rng.standard_normal((40, 120)), rng.standard_normal(40)
    model = LinearRegressor().fit(X, y)
    scaled, rows = (X - X.mean(axis=0)) / X.std(axis=0), np.arange(40)
    losses = []
    for k in rows:
        without = Ridge(model.alpha_ * 40).fit(scaled[rows != k], y[rows != k])
        losses.append(0.5 * float(without.predict(scaled[[k]])[0] - y[k]) ** 2)
    assert model.alpha_ * 40 > 10
    assert model.verdict_.evidence["loss"] == pytest.approx(np.mean(losses), rel=1e-6)


def test_labels_without_a_reason_in_more_columns_than_rows_get_the_largest_penalty(rng):
    model = LinearClassifier().fit(rng.standard_normal((40, 400)), rng.permutation(np.tile([0, 1], 20)))
    assert model.verdict_.evidence["loss"] > 0.69
    assert model.alpha_ * 40 > 100


@pytest.mark.parametrize("size", [1e-4, 1e-2])
def test_small_targets_of_a_huber_loss_have_the_penalty_of_larger_ones(size):
    X, y = problem("numbers", 100)
    small, large = (LinearRegressor(loss="huber").fit(X, unit * y) for unit in (1e-2 * size, 1e-2))
    assert small.alpha_ == pytest.approx(large.alpha_)
    np.testing.assert_allclose(small.coef_ / size, large.coef_, rtol=1e-4, atol=1e-7)


def test_a_constant_model_is_not_called_worse_than_a_constant_prediction(rng):
    model = LinearClassifier().fit(np.ones((60, 2)), rng.permutation(np.repeat([0, 1], [25, 35])))
    assert "of a constant prediction" not in str(model.verdict_)


def test_a_budget_that_was_not_spent_does_not_end_a_stream():
    X, y = problem("two", 100)
    model = LinearClassifier(stop=100).fit(X, y)
    assert model.verdict_.rule == "Decrement"
    assert model.partial_fit(X, y).verdict_.status == "in progress"
