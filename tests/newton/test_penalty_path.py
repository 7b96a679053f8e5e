"""Paths of penalties: the grid, losses of rows left out, and rows in their own units."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize

from exact_problems import classes, found_by, log_losses, logistic, numbers, pieces_of, system_of
from running import objective_of
from sgdone import LinearClassifier, LinearRegressor
from sgdone.losses import Logistic, Squared
from sgdone.newton.exact_path import ExactPath
from sgdone.newton.penalty_path import LARGEST, PenaltyGrid, lam_at, leave_one_out
from sgdone.newton.search import Factors
from sgdone.sums.second_order import second_order
from sgdone.sums.system import contrasts
from tiers import examples


def searched(loss, least_gain=0.0, **ends):
    grid = PenaltyGrid(**ends)
    while (k := grid.next()) is not None:
        assert k not in grid.losses
        grid.record(k, loss(k), least_gain)
    return grid


@examples(30)
@given(best=st.integers(-12, 12))
def test_the_best_of_a_curve_with_one_minimum_is_found(best):
    grid = searched(lambda k: abs(k - best + 0.1))
    assert (grid.best, grid.end) == (best, "")
    assert {best - 1, best + 1} <= set(grid.losses)
    assert len(grid.losses) <= abs(best) + 3


@pytest.mark.parametrize(("slope", "best", "end"), [(-1.0, 5, "largest"), (1.0, -4, "smallest")])
def test_a_best_penalty_at_an_end_is_reported(slope, best, end):
    grid = searched(lambda k: slope * k, lowest=-4.5, highest=5.0)
    assert (grid.best, grid.end) == (best, end)
    assert set(grid.losses) <= set(range(-4, 6))


def test_of_equal_losses_the_largest_penalty_is_the_best():
    assert searched(lambda k: max(abs(k) - 2, 0), highest=9.0).best == 2


def test_what_is_not_a_number_is_never_the_best():
    grid = searched(lambda k: math.nan if k > 0 else k * k - k)
    assert (grid.best, grid.losses[1]) == (0, math.inf)


def test_a_search_ends_where_little_is_gained():
    assert searched(lambda k: 2.0**k, lowest=-20.0).best == -20
    assert searched(lambda k: 2.0**k, lowest=-20.0, least_gain=0.01).best == -7


def test_a_loss_that_falls_for_ever_ends_the_search():
    """Targets that depend on nothing: each larger penalty is a little better."""
    grid = searched(lambda k: -k)
    assert (grid.best, grid.end) == (LARGEST, "largest")
    assert math.isfinite(lam_at(grid.best) ** 2)


# ---- approximate leave-one-out losses against those of models that are fitted again ----


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
    return leave_one_out(objective, pieces, model, inverse).losses


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


def test_losses_of_classes_are_those_of_the_definition():
    """Row by row: uA(I − uLA)⁻¹s in the free scores."""
    n_classes, weights = 6, np.tile([0.5, 1.0, 2.0], 30)
    X, y = classes(n_classes, 90)
    objective, pieces = objective_of(Logistic(), n_classes), pieces_of(X, y, weights)
    basis, rng = contrasts(objective), np.random.default_rng(0)
    model, half = rng.standard_normal((4, n_classes - 1)), rng.standard_normal((100, 4 * (n_classes - 1)))
    inverse = np.linalg.inv(half.T @ half)
    found = leave_one_out(objective, pieces, model, inverse)
    for row, (x, label, weight) in enumerate(zip(X, y.astype(int), weights, strict=True)):
        x, u, scores = np.append(x, 1.0), min(weight, 1.0), basis @ (np.append(x, 1.0) @ model)
        p, own = softmax(scores), np.arange(n_classes) == label
        A = np.einsum("i,aibj,j->ab", x, inverse.reshape(n_classes - 1, 4, n_classes - 1, 4), x)
        L = basis.T @ (np.diag(p) - np.outer(p, p)) @ basis
        changed = scores + basis @ (u * A @ np.linalg.solve(np.eye(len(A)) - u * L @ A, basis.T @ (p - own)))
        assert found.losses[row] == pytest.approx(-np.log(softmax(changed)[label]), rel=1e-10, abs=1e-10)
        assert found.training[row] == pytest.approx(-np.log(p[label]), rel=1e-10)


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


# ---- rows of norm 1: the given units compete with those of the default fit ----


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
