"""partial_fit: columns that appear late or grow, chunks of any size, dense and sparse rows."""

import copy

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem, scores_of
from scipy import sparse
from sklearn.metrics import log_loss

from sgdone import LinearClassifier, LinearRegressor
from tiers import fast_first

FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


def stream(task, change, rng, after=2000):
    """From row 2000 on the last column is not 0 any more, or a thousand times as large."""
    X = rng.standard_normal((2000 + after, 5))
    if change == "late":
        X[:2000, 4] = 0.0
        slope = 2.0
    else:
        X[2000:, 4] *= 1000.0
        slope = 0.002
    scores = X[:, :4] @ [1.0, -1.0, 0.5, 0.0] + slope * X[:, 4]
    if task == "numbers":
        return X, scores + rng.standard_normal(len(X))
    noisy = scores + rng.logistic(size=len(X))
    return X, np.digitize(noisy, [-2.0, 2.0]) if task == "three" else (noisy > 0).astype(int)


def learn(model, X, y, first, last, form, chunk=200):
    classes = {} if isinstance(model, LinearRegressor) else {"classes": np.unique(y)}
    for begin in range(first, last, chunk):
        part = slice(begin, min(begin + chunk, last))
        model.partial_fit(form(X[part]), y[part], **classes)
    return model


@FORMS
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("change", ["late", "grown"])
def test_a_change_of_a_column_hardly_changes_the_model(change, task, form, rng):
    X, y = stream(task, change, rng)
    model = learn((LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0), X, y, 0, 2000, form)
    before = scores_of(model, form(X[:2000]))
    model.partial_fit(form(X[2000:2001]), y[2000:2001])
    moved = np.abs(scores_of(model, form(X[:2000])) - before).max(axis=0) / before.std(axis=0)
    assert np.all(moved < 0.2)


@FORMS
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("change", ["late", "grown"])
def test_a_column_that_changes_gets_its_weight(change, task, form, rng):
    # The weight of a small column is far too large once the column has grown: it takes longer to correct.
    X, y = stream(task, change, rng, 2000 if change == "late" else 30_000)
    rows, labels = stream(task, change, rng)
    model = learn((LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0), X, y, 0, len(X), form)
    expected = fitted(task, X[2000:], y[2000:]).score(rows[2000:], labels[2000:])
    assert model.score(form(rows[2000:]), labels[2000:]) > expected - 0.03


@FORMS
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("chunk", [None, 300], ids=["after fit", "after partial_fit"])
def test_a_few_more_rows_hardly_change_the_model(chunk, task, form):
    """Neither step size nor penalty is chosen by the last few rows alone."""
    X, y = problem(task, 600 if chunk is None else 3000)
    model = fitted(task, form(X), y, chunk)
    before = scores_of(model, form(X))
    for seed in range(10):
        rows = np.random.default_rng(seed).integers(0, 600, 3)
        again = copy.deepcopy(model).partial_fit(form(X[rows]), y[rows])
        moved = np.abs(scores_of(again, form(X)) - before).max(axis=0) / before.std(axis=0)
        assert np.all(moved < 0.2)


@pytest.mark.parametrize("chunk", fast_first(1, [100, 1, 10]))
def test_small_chunks_learn_as_well_as_large_ones(chunk, rng):
    slopes = rng.standard_normal(10)
    X, new = rng.standard_normal((2000, 10)), rng.standard_normal((5000, 10))
    y, labels = (rows @ slopes + rng.logistic(size=len(rows)) > 0 for rows in (X, new))
    small, large = (fitted("two", X, y, size) for size in (chunk, 1000))
    best = log_loss(labels, 1 / (1 + np.exp(-new @ slopes)))
    excess = [log_loss(labels, model.predict_proba(new)) - best for model in (small, large)]
    assert excess[0] < 2 * excess[1] + 0.005


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("first", [np.asarray, sparse.csr_array], ids=["dense first", "csr first"])
def test_dense_and_sparse_rows_in_turn(first, task):
    X, y = problem(task, density=0.4)
    second = sparse.csr_array if first is np.asarray else np.asarray
    classes = {} if task == "numbers" else {"classes": np.unique(y)}
    model = (LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0)
    for k in range(6):
        part = slice(100 * k, 100 * k + 100)
        model.partial_fit((first, second)[k % 2](X[part]), y[part], **classes)
    assert model.verdict_.step == 600
    assert model.score(X, y) > fitted(task, first(X), y, 100).score(X, y) - 0.05


@pytest.mark.usefixtures("without_finish")
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("second", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_partial_fit_after_fit(second, task):
    X, y = problem(task)
    model = fitted(task, X, y)
    before, steps = model.score(X, y), model.verdict_.step
    model.partial_fit(second(X), y)
    assert model.verdict_.step == steps + 600
    assert model.score(X, y) > before - 0.02


def test_base_rates_of_a_stream(rng):
    """Chunks have few rows of the second class; the mean probability is still its frequency."""
    X = rng.standard_normal((20_000, 5))
    y = (X @ [1.0, -0.5, 0.5, 0.0, 0.0] - 4.0 + rng.logistic(size=20_000) > 0).astype(int)
    model = fitted("two", X, y, 500)
    assert 0.01 < y.mean() < 0.05
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.15)
