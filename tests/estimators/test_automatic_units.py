"""The units of columns and targets do not matter."""

import numpy as np
import pytest
from automatic_problems import TASKS, assert_same_scores, fitted, problem, scores_of
from scipy import sparse

from tiers import fast_first

FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
WAYS = pytest.mark.parametrize("chunk", fast_first(1, [None, 100]), ids=["fit", "partial_fit"])
FACTORS = [
    10.0 ** np.array([8, -8, 3, -5, 0, 6]),
    -(10.0 ** np.array([-1, 1, -2, 2, -7, 7])),
    10.0 ** np.array([0, -150, -170, -300, -300, 100]),
]


@WAYS
@FORMS
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("factors", FACTORS, ids=["positive", "negative", "squares underflow"])
def test_columns_in_other_units(factors, task, form, chunk):
    X, y = problem(task, density=1.0 if form is np.asarray else 0.4)
    plain, scaled = fitted(task, form(X), y, chunk), fitted(task, form(X * factors), y, chunk)
    assert_same_scores(scores_of(scaled, form(X * factors)), scores_of(plain, form(X)))
    if task != "numbers":
        assert_same_scores(scaled.predict_proba(form(X * factors)), plain.predict_proba(form(X)))
        np.testing.assert_array_equal(scaled.predict(form(X * factors)), plain.predict(form(X)))
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-6, atol=1e-9)
    assert scaled.verdict_.step == plain.verdict_.step


@WAYS
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("distance", [1.0, 1e6])
def test_columns_moved(distance, task, chunk):
    X, y = problem(task)
    moved = X + distance * np.array([1.0, -1.0, 0.5, 1.0, 0.0, -0.1]) * X.std(axis=0)
    plain, other = fitted(task, X, y, chunk), fitted(task, moved, y, chunk)
    assert_same_scores(scores_of(other, moved), scores_of(plain, X))
    if task != "numbers":
        assert_same_scores(other.predict_proba(moved), plain.predict_proba(X))


@FORMS
@pytest.mark.parametrize("task", TASKS)
def test_without_an_intercept(task, form):
    X, y = problem(task)
    plain, scaled = (fitted(task, form(rows), y, fit_intercept=False) for rows in (X, X * FACTORS[0]))
    assert_same_scores(scores_of(scaled, form(X * FACTORS[0])), scores_of(plain, form(X)))


@FORMS
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.slow
def test_in_float32(task, form):
    X, y = problem(task)
    X = X.astype(np.float32)
    factors = 2.0 ** np.array([20, -20, 7, -13, 0, 30]).astype(np.float32)
    plain, scaled = fitted(task, form(X), y), fitted(task, form(X * factors), y)
    assert_same_scores(scores_of(scaled, form(X * factors)), scores_of(plain, form(X)), 1e-4)


@WAYS
@FORMS
@pytest.mark.parametrize("task", TASKS)
def test_columns_in_another_order(task, form, chunk):
    X, y = problem(task)
    order = np.random.default_rng(1).permutation(6)
    plain, other = fitted(task, form(X), y, chunk), fitted(task, form(X[:, order]), y, chunk)
    np.testing.assert_allclose(other.coef_, plain.coef_[..., order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.intercept_, plain.intercept_, rtol=1e-9, atol=1e-12)


@WAYS
@FORMS
@pytest.mark.parametrize(("factor", "shift"), [(1e-6, 3e-6), (-2.0, 1e3), (1e8, -1e10)], ids=str)
def test_targets_in_other_units(factor, shift, form, chunk):
    X, y = problem("numbers")
    plain, other = fitted("numbers", form(X), y, chunk), fitted("numbers", form(X), factor * y + shift, chunk)
    assert_same_scores((other.predict(form(X)) - shift) / factor, plain.predict(form(X)))
    assert other.verdict_.step == plain.verdict_.step


@pytest.mark.slow
@pytest.mark.parametrize("loss", fast_first(1, ["hinge", "squared_hinge"]))
def test_other_losses(loss):
    X, y = problem("three")
    plain, scaled = (fitted("three", rows, y, loss=loss) for rows in (X, X * FACTORS[0]))
    assert_same_scores(scores_of(scaled, X * FACTORS[0]), scores_of(plain, X))
