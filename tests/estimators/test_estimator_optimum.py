"""Agreement with the optimum that scikit-learn's exact solvers find."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from sgdone import LinearClassifier, SGDClassifier, SGDRegressor
from tiers import fast_first


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def logistic_objective(X, y, model, alpha):
    margins = (X @ model.coef_.ravel() + model.intercept_) * np.where(y, 1.0, -1.0)
    return np.logaddexp(0.0, -margins).mean() + alpha / 2 * np.sum(model.coef_.astype(float) ** 2)


def squared_objective(X, y, coef, intercept, alpha):
    return np.mean((y - X @ coef - intercept) ** 2) / 2 + alpha / 2 * coef @ coef


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "passes"),
    [
        pytest.param("sgd", 300, marks=pytest.mark.slow),
        pytest.param("isgd", 300, marks=pytest.mark.slow),
        ("asgd", 1000),
        pytest.param("aisgd", 1000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_logistic_regression(form, solver, passes, cancer):
    X, y = cancer
    best = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
    model = SGDClassifier(solver=solver, stop=passes, random_state=0).fit(form(X), y)
    optimum = logistic_objective(X, y, best, 1 / len(y))
    reached = logistic_objective(X, y, model, 1 / len(y))
    assert optimum * (1 - 1e-9) <= reached <= optimum * (1 + 1e-3)


@pytest.mark.slow
def test_logistic_regression_in_float32(cancer):
    X, y = cancer
    best = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
    model = SGDClassifier(solver="asgd", stop=1000, random_state=0).fit(X.astype(np.float32), y)
    assert logistic_objective(X, y, model, 1 / len(y)) <= (1 + 1e-3) * logistic_objective(X, y, best, 1 / len(y))


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
@pytest.mark.slow
def test_logistic_regression_with_a_stronger_penalty(alpha, cancer):
    X, y = cancer
    best = LogisticRegression(C=1.0 / (alpha * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)
    model = SGDClassifier(solver="asgd", alpha=alpha, stop=300, random_state=0).fit(X, y)
    assert logistic_objective(X, y, model, alpha) <= (1 + 1e-3) * logistic_objective(X, y, best, alpha)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=0.02)


@pytest.mark.slow
def test_weighted_logistic_regression(cancer):
    X, y = cancer
    n = len(y)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, n)
    best = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=weight)
    model = SGDClassifier(solver="asgd", alpha=1 / n, stop=1000, random_state=0).fit(X, y, sample_weight=weight)

    def objective(fitted):
        margins = (X @ fitted.coef_.ravel() + fitted.intercept_) * np.where(y, 1.0, -1.0)
        return np.mean(weight * np.logaddexp(0.0, -margins)) + np.sum(fitted.coef_**2) / (2 * n)

    assert objective(best) * (1 - 1e-9) <= objective(model) <= objective(best) * (1 + 2e-3)


@pytest.mark.slow
def test_one_against_the_rest():
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    model = SGDClassifier(solver="asgd", stop=300, random_state=0, n_jobs=2).fit(X, y)
    for k in (0, 5, 9):
        best = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit(X, y == k)
        ours = LinearClassifier().fit(X[:2], [0, 1])
        ours.coef_, ours.intercept_ = model.coef_[[k]], model.intercept_[[k]]
        optimum = logistic_objective(X, y == k, best, 1 / len(y))
        assert logistic_objective(X, y == k, ours, 1 / len(y)) <= optimum * (1 + 1e-2)


@pytest.mark.parametrize("solver", fast_first(1, ["asgd", "aisgd"]))
@pytest.mark.parametrize("alpha", ["auto", 0.1])
@pytest.mark.slow
def test_ridge(alpha, solver, numbers):
    X, y = numbers
    penalty = 1 / 300 if alpha == "auto" else alpha
    best = Ridge(alpha=300 * penalty, tol=1e-12).fit(X, y)
    model = SGDRegressor(solver=solver, alpha=alpha, stop=300, random_state=0).fit(X, y)
    optimum = squared_objective(X, y, best.coef_, best.intercept_, penalty)
    reached = squared_objective(X, y, model.coef_, model.intercept_[0], penalty)
    assert optimum * (1 - 1e-9) <= reached <= optimum * (1 + 1e-3)


def test_more_passes_come_nearer(cancer):
    X, y = cancer
    models = [SGDClassifier(stop=k, random_state=0).fit(X, y) for k in (1, 10, 100)]
    reached = [logistic_objective(X, y, model, 1 / len(y)) for model in models]
    assert reached == sorted(reached, reverse=True)
