"""Least squares for all penalties at once, against scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge, RidgeCV

from exact_problems import found_by, numbers, pieces_of, system_of
from running import objective_of
from sgdone.losses import Squared
from sgdone.newton.ridge_path import RidgePath
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
INTERCEPTS = pytest.mark.parametrize("fit_intercept", [True, False])
WEIGHTS = np.tile([0.5, 1.0, 2.0, 3.0], 10)


def path_of(X, y, weights=None, alpha=None, fit_intercept=True, scaling=None, **options):
    objective = objective_of(Squared(), None, fit_intercept, alpha)
    pieces = pieces_of(X, y, weights, scaling)
    return RidgePath(system_of(objective, pieces), pieces, **options)


def ridge(X, y, strength, weights=None, fit_intercept=True):
    return Ridge(strength, fit_intercept=fit_intercept, solver="cholesky").fit(X, y, sample_weight=weights)


def assert_is(best, exact, rtol=1e-9):
    np.testing.assert_allclose(best.model[:-1, 0], exact.coef_, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(best.model[-1, 0], exact.intercept_, rtol=rtol, atol=1e-12)


@FORMS
@INTERCEPTS
def test_a_given_penalty_leads_to_the_optimum_of_scikit_learn(fit_intercept, form):
    X, y = numbers()
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    best = found_by(path_of(form(X), y, WEIGHTS, alpha=0.2, fit_intercept=fit_intercept))
    assert best.lam == pytest.approx(0.2 * WEIGHTS.sum())
    assert_is(best, ridge(X, y, best.lam, WEIGHTS, fit_intercept))


@FORMS
@INTERCEPTS
def test_the_losses_are_those_of_fitting_again(fit_intercept, form):
    X, y = numbers()
    best = found_by(path_of(form(X), y, WEIGHTS, fit_intercept=fit_intercept))
    exact = []
    for row, weight in enumerate(WEIGHTS):
        rest = WEIGHTS.copy()
        rest[row] -= min(weight, 1.0)
        model = ridge(X, y, best.lam, rest, fit_intercept)
        exact.append(0.5 * (y[row] - model.predict(X[[row]])[0]) ** 2)
    np.testing.assert_allclose(best.losses, exact, rtol=1e-8)


@FORMS
def test_the_penalty_is_that_of_cross_validation_and_leads_to_its_optimum(form):
    X, y = numbers(60, 20)
    y = y + 20.0 * np.random.default_rng(1).standard_normal(60)
    path = path_of(form(X), y)
    best = found_by(path)
    expected = RidgeCV(alphas=10.0 ** np.arange(-4.0, 6.0, 0.5)).fit(X, y)
    assert best.lam == pytest.approx(expected.alpha_)
    assert path.grid.end == ""
    assert_is(best, ridge(X, y, best.lam))


def test_in_other_units_the_penalty_acts_on_scaled_columns():
    X, y = numbers()
    scaling = Scaling(np.array([2.0, 0.1, 1.0]), np.array([5.0, 0.0, -1.0]))
    best = found_by(path_of(X, y, alpha=0.1, scaling=scaling))
    assert_is(best, ridge((X - scaling.shift) / scaling.scale, y, 4.0))


def passes_of(path):
    return sum(1 for _ in path.evaluations())


def test_few_rows_take_two_passes_and_many_or_unreadable_ones_one():
    X, y = numbers(PIECE + 1)
    assert passes_of(path_of(X[:40], y[:40])) == 2
    assert passes_of(path_of(X[:40], y[:40], one_pass=True)) == 1
    assert passes_of(path_of(X, y)) == 1


def test_generalised_cross_validation_chooses_the_penalty_of_one_pass():
    X, y = numbers(300, 20)
    y = y + 100.0 * np.random.default_rng(1).standard_normal(300)
    path = path_of(X, y, one_pass=True)
    best = found_by(path)
    centred, strengths = X - X.mean(axis=0), 10.0 ** np.arange(-4.0, 6.0, 0.5)
    scores = []
    for strength in strengths:
        hat = centred @ np.linalg.solve(centred.T @ centred + strength * np.eye(20), centred.T)
        left = y - ridge(X, y, strength).predict(X)
        scores.append(0.5 * np.mean(left**2) / (1.0 - (np.trace(hat) + 1.0) / 300) ** 2)
    assert best.lam == pytest.approx(strengths[np.argmin(scores)])
    assert path.loss == pytest.approx(min(scores), rel=1e-9)
    assert best.losses.size == 0
    assert_is(best, ridge(X, y, best.lam))


@FORMS
def test_repeated_columns_share_their_coefficient_and_constant_ones_have_none(form):
    X, y = numbers()
    more = np.column_stack([X, X[:, 0], np.full(40, 7.0)])
    scaling = Scaling(np.array([1.0, 1.0, 1.0, 1.0, np.inf]))
    for alpha in (0.0, 0.1):
        best = found_by(path_of(form(more), y, alpha=alpha, scaling=scaling))
        assert best.model[0, 0] == pytest.approx(best.model[3, 0], rel=1e-6)
        assert best.model[4, 0] == 0.0
        exact = ridge(more, y, 40.0 * alpha or 1e-10).predict(more)
        np.testing.assert_allclose(more @ best.model[:-1, 0] + best.model[-1, 0], exact, rtol=1e-6)
