"""As good as exact solvers with their default penalties, and named methods as near to the optimum as they promise."""

import tracemalloc
from contextlib import contextmanager

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

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from sgdone.bank.models import Models
from tiers import fast_first

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


# ---- agreement with the optimum that scikit-learn's exact solvers find ----


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def logistic_objective(X, y, model, alpha):
    margins = (X @ model.coef_.ravel() + model.intercept_) * np.where(y, 1.0, -1.0)
    return np.logaddexp(0.0, -margins).mean() + alpha / 2 * np.sum(model.coef_.astype(float) ** 2)


def squared_objective(X, y, coef, intercept, alpha):
    return np.mean((y - X @ coef - intercept) ** 2) / 2 + alpha / 2 * coef @ coef


@pytest.mark.parametrize(
    ("solver", "passes"),
    [
        ("sgd", 300),
        ("isgd", 300),
        ("asgd", 1000),
        ("aisgd", 1000),
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


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_logistic_regression_with_a_stronger_penalty(alpha, cancer):
    X, y = cancer
    best = LogisticRegression(C=1.0 / (alpha * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)
    model = SGDClassifier(solver="asgd", alpha=alpha, stop=300, random_state=0).fit(X, y)
    assert logistic_objective(X, y, model, alpha) <= (1 + 1e-3) * logistic_objective(X, y, best, alpha)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=0.02)


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
def test_ridge(alpha, solver, numbers):
    X, y = numbers
    penalty = 1 / 300 if alpha == "auto" else alpha
    best = Ridge(alpha=300 * penalty, tol=1e-12).fit(X, y)
    model = SGDRegressor(solver=solver, alpha=alpha, stop=300, random_state=0).fit(X, y)
    optimum = squared_objective(X, y, best.coef_, best.intercept_, penalty)
    reached = squared_objective(X, y, model.coef_, model.intercept_[0], penalty)
    assert optimum * (1 - 1e-9) <= reached <= optimum * (1 + 1e-3)


# ---- memory of default fits with very many columns, in vectors of one number per column ----


#: More columns than any other array of these fits has numbers.
N_COLUMNS = 500_000
VECTOR = 8 * N_COLUMNS


@contextmanager
def traced_memory():
    """Bytes of NumPy's arrays and of Python's objects: those at the end, and the largest number."""
    found = {}
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield found
        now, peak = tracemalloc.get_traced_memory()
        found |= {"now": now - before, "peak": peak - before}
    finally:
        tracemalloc.stop()


@pytest.fixture(name="largest_bank")
def largest_bank_of_models(monkeypatch):
    """The bytes of all models of a bank when they were the most."""
    sizes, select = [], Models._select

    def selected(models, chosen):
        sizes.append(models.weights.nbytes)
        select(models, chosen)
        sizes.append(models.weights.nbytes)

    monkeypatch.setattr(Models, "_select", selected)
    return lambda: max(sizes)


def wide_rows(n_rows, n_columns=N_COLUMNS, per_row=30):
    rng = np.random.default_rng(0)
    columns = np.sort((n_columns * rng.random((n_rows, per_row)) ** 3).astype(np.int32), axis=1)
    indptr = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_array((rng.random(n_rows * per_row), columns.ravel(), indptr), (n_rows, n_columns))
    X.sum_duplicates()
    return X, (X @ rng.standard_normal(n_columns) + rng.standard_normal(n_rows) > 0).astype(int)


@pytest.mark.parametrize("n_rows", [3_000, 6_000])
def test_ten_vectors_beside_the_models(n_rows, largest_bank):
    X, y = wide_rows(n_rows)
    model = LinearClassifier(random_state=0)
    model.fit(X[:, :50_000], y)  # compiles
    with traced_memory() as found:
        model.fit(X, y)
    assert model.verdict_.finish_passes == 0
    assert largest_bank() >= 20 * VECTOR
    assert found["peak"] - largest_bank() <= 10 * VECTOR
