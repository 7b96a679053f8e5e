"""Approximate leave-one-out losses against those of models that are fitted again."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from exact_problems import classes, found_by, log_losses, logistic, numbers, pieces_of, system_of
from running import objective_of
from sgdone.losses import Logistic, Squared
from sgdone.newton.direction import Factors
from sgdone.newton.exact_path import ExactPath
from sgdone.newton.penalty_path import leave_one_out
from sgdone.sums.second_order import second_order

WEIGHTS = np.tile([0.5, 1.0, 2.0, 3.0], 15)
TASKS = pytest.mark.parametrize("n_classes", [2, 3])


def rows_of(n_classes, n_rows=60):
    return numbers(n_rows) if n_classes is None else classes(n_classes, n_rows)


def approximate(n_classes, X, y, weights, strength=3.0):
    """Losses of rows left out, at the optimum of a penalty."""
    pieces = pieces_of(X, y, weights)
    loss = Squared() if n_classes is None else Logistic()
    objective = objective_of(loss, n_classes, alpha=strength / weights.sum())
    model = found_by(ExactPath(system_of(objective, pieces), pieces, np.zeros((4, objective.n_free_outputs)))).model
    penalties = np.array([strength, strength, strength, 0.0])
    curvature = second_order(objective, pieces, model).curvature
    inverse = Factors.of(curvature, penalties, model.shape[1]).inverse()
    return leave_one_out(objective, pieces, model, inverse)


def left_out(weights):
    """Weights of each fit: min(v, 1) of a row is removed."""
    for row, weight in enumerate(weights):
        rest = weights.copy()
        rest[row] -= min(weight, 1.0)
        yield rest, slice(row, row + 1)


@TASKS
def test_losses_are_close_to_those_of_fitting_again(n_classes):
    X, y = rows_of(n_classes)
    exact = [log_losses(logistic(X, y, 3.0, rest), X[row], y[row])[0] for rest, row in left_out(WEIGHTS)]
    found = approximate(n_classes, X, y, WEIGHTS)
    training = log_losses(logistic(X, y, 3.0, WEIGHTS), X, y)
    assert np.average(found, weights=WEIGHTS) == pytest.approx(np.average(exact, weights=WEIGHTS), rel=4e-3)
    # Of the difference that leaving out a row makes, a few per cent remain.
    assert np.abs(found - exact).max() < 0.1 * np.abs(training - exact).max()


def test_losses_of_least_squares_are_exact():
    X, y = rows_of(None)
    exact = []
    for rest, row in left_out(WEIGHTS):
        model = Ridge(3.0, solver="cholesky").fit(X, y, sample_weight=rest)
        exact.append(0.5 * ((y[row] - model.predict(X[row])) ** 2).item())
    np.testing.assert_allclose(approximate(None, X, y, WEIGHTS), exact, rtol=1e-8)


@TASKS
def test_sparse_rows_are_as_dense_ones(n_classes):
    X, y = rows_of(n_classes)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    dense, csr = (approximate(n_classes, form(X), y, WEIGHTS) for form in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(csr, dense, rtol=1e-9)


@TASKS
def test_a_row_that_alone_determines_its_prediction_has_a_large_loss(n_classes):
    """With a column of its own and hardly any penalty."""
    X, y = rows_of(n_classes)
    X[:, 2] = 0.0
    X[7, 2] = 1.0
    found = approximate(n_classes, X, y, np.ones(60), strength=1e-6)
    rest = np.arange(60) != 7
    others = logistic(X[rest], y[rest], 1e-6)
    training = log_losses(logistic(X, y, 1e-6), X, y)
    assert training[7] < 1e-3
    assert found[7] > 0.5 * log_losses(others, X[[7]], y[[7]])[0]
