"""Rows sorted by label: harmless if they are shuffled, reported if not."""

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem
from sklearn.metrics import log_loss

from sgdone import LinearRegressor
from sgdone.interfaces.stop_rule import Status
from tiers import fast_first

#: The bank is tested here: large data are left to it.
pytestmark = pytest.mark.usefixtures("without_finish")


def sorted_rows(task, n_rows=4000):
    X, y = problem(task, n_rows)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def loss_of(task, model, X, y):
    return np.mean((model.predict(X) - y) ** 2) if task == "numbers" else log_loss(y, model.predict_proba(X))


@pytest.mark.parametrize("rows", [600, 6000])
@pytest.mark.parametrize("task", TASKS)
def test_shuffling_is_enough(task, rows):
    X, y = sorted_rows(task, rows)
    order = np.random.default_rng(5).permutation(rows)
    new, labels = problem(task, 4000, seed=1)
    sorted_fit, mixed_fit = fitted(task, X, y), fitted(task, X[order], y[order])
    assert loss_of(task, sorted_fit, new, labels) < 1.03 * loss_of(task, mixed_fit, new, labels)
    assert sorted_fit.verdict_.status is Status.CONVERGED
    assert "sorted" not in str(sorted_fit.verdict_)


@pytest.mark.parametrize("task", TASKS)
def test_without_shuffling_the_verdict_reports_it(task):
    X, y = sorted_rows(task)
    verdict = fitted(task, X, y, shuffle=False).verdict_
    assert verdict.status is Status.STALLED
    assert "sorted by label" in verdict.advice
    assert "shuffle" in verdict.advice
    assert str(verdict).startswith("Stalled after")


@pytest.mark.parametrize("chunk", [100])
@pytest.mark.parametrize("task", TASKS)
def test_sorted_streams_are_reported(task, chunk):
    X, y = sorted_rows(task)
    verdict = fitted(task, X, y, chunk).verdict_
    assert verdict.status is Status.STALLED
    assert "shuffle the file before streaming it" in verdict.advice


@pytest.mark.parametrize("chunk", fast_first(1, [100, 1]))
@pytest.mark.parametrize("task", TASKS)
def test_shuffled_streams_are_not_suspected(task, chunk):
    X, y = problem(task, 600 if chunk == 1 else 4000)
    model = fitted(task, X, y, chunk)
    assert model.verdict_.status is Status.IN_PROGRESS
    assert model.verdict_.rule == ""
    assert model.verdict_.reason == "all rows given to partial_fit are used"
    assert model.verdict_.advice == ""


@pytest.mark.parametrize("task", TASKS)
def test_rows_in_no_order_are_not_suspected(task):
    X, y = problem(task, 4000)
    verdict = fitted(task, X, y, shuffle=False).verdict_
    assert verdict.status is Status.CONVERGED
    assert verdict.advice == ""


def test_without_shuffling_as_good_as_with_it():
    new, labels = problem("two", 4000, seed=1)
    X, y = problem("two", 4000)
    shuffled, as_it_comes = (fitted("two", X, y, shuffle=shuffle) for shuffle in (True, False))
    assert loss_of("two", as_it_comes, new, labels) < 1.02 * loss_of("two", shuffled, new, labels)


def test_rare_classes_do_not_count_as_sorted(rng):
    X = rng.standard_normal((4000, 3))
    y = (rng.random(4000) < 0.005).astype(int)
    assert fitted("two", X, y, 200).verdict_.status is Status.IN_PROGRESS


def test_a_trend_of_the_target_is_reported(rng):
    X = rng.standard_normal((4000, 3))
    y = X[:, 0] + 0.01 * np.arange(4000)
    model = LinearRegressor(shuffle=False, random_state=0).fit(X, y)
    assert model.verdict_.status is Status.STALLED
