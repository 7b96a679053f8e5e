"""Results of the default fit: coefficients in the user's units, probabilities, the chosen penalty."""

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem
from scipy import sparse
from scipy.special import expit, log_softmax, softmax

from sgdone import LinearClassifier, LinearRegressor
from sgdone.bank import CANDIDATES
from sgdone.stopping import MaxSamples
from tiers import fast_first

FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
WAYS = pytest.mark.parametrize("chunk", fast_first(1, [None, 150]), ids=["fit", "partial_fit"])


def test_two_classes_are_the_sigmoid_of_the_score():
    X, y = problem("two")
    model = fitted("two", X, y)
    assert model.multinomial_ is False
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-14)


@WAYS
@FORMS
def test_several_classes_are_the_softmax_of_the_scores(form, chunk):
    X, y = problem("three")
    model = fitted("three", form(X), y, chunk)
    assert model.multinomial_ is True
    assert model.verdict_.per_class == {}
    scores = model.decision_function(form(X))
    assert scores.shape == (600, 3)
    np.testing.assert_allclose(model.predict_proba(form(X)), softmax(scores, axis=1), rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(form(X)), log_softmax(scores, axis=1), rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(form(X)).sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(form(X)), scores.argmax(axis=1))


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
def test_a_chosen_penalty_is_one_of_the_candidates(make):
    X, y = problem("two")
    model = make(random_state=0).fit(X, y)
    # The same for the squared loss, whose curvature is 1.
    tried = {candidate.penalty for candidate in CANDIDATES} | {1000.0}
    assert min(abs(model.alpha_ * 600 / penalty - 1) for penalty in tried) < 1e-9
    assert model.verdict_.evidence["alpha"] == model.alpha_


@pytest.mark.usefixtures("without_finish")
@FORMS
@pytest.mark.parametrize("task", TASKS)
def test_a_start_predicts_the_first_row_as_it_would_have(task, form):
    """The trace has the losses of rows before they are trained on: with one row, the loss of the start."""
    X, y = problem(task)
    X = (X + 3.0) * [1e3, 1.0, 1e-3, 1.0, 1.0, 1.0]
    good = fitted(task, X, y)
    make = LinearRegressor if task == "numbers" else LinearClassifier
    options = {"coef_init": good.coef_, "intercept_init": good.intercept_}
    whole = make(stop=1, shuffle=False, random_state=0).fit(form(X[:30]), y[:30], **options)
    first = make(stop=MaxSamples(1), shuffle=False, random_state=0).fit(form(X[:30]), y[:30], **options)
    assert first.verdict_.step == 1
    assert first.trace_[0].loss == pytest.approx(_loss(task, good, X[:1], y[:1]), rel=1e-6)
    assert whole.verdict_.step == 30


def test_a_warm_start_continues_from_the_last_fit():
    X, y = problem("two")
    model = LinearClassifier(warm_start=True, stop=MaxSamples(1), shuffle=False, random_state=0)
    good = fitted("two", X, y)
    model.fit(X, y, coef_init=good.coef_, intercept_init=good.intercept_)
    again = _loss("two", model, X[:1], y[:1])
    assert model.fit(X, y).trace_[0].loss == pytest.approx(again, rel=1e-6)


def _loss(task, model, X, y):
    if task == "numbers":
        return float(np.mean((model.predict(X) - y) ** 2) / 2)
    if task == "three":
        return float(-model.predict_log_proba(X)[np.arange(len(y)), y].mean())
    margins = model.decision_function(X) * np.where(y, 1.0, -1.0)
    return float(np.logaddexp(0.0, -margins).mean())


@pytest.mark.parametrize("given", ["coef_init", "warm_start"])
def test_a_start_keeps_what_it_knows_of_columns_that_come_late(given, rng):
    """Units are estimated from the first rows; a column without an entry there would lose its weight."""
    X = rng.standard_normal((6000, 4)) * (rng.random((6000, 4)) < 0.3)
    X[:5500, 3] = 0.0
    y = X @ [1.0, -1.0, 0.5, 2.0] + rng.logistic(size=6000) > 0
    start = np.array([[1.0, -1.0, 0.5, 2.0]])
    model = LinearClassifier(shuffle=False, stop=MaxSamples(300), random_state=0, warm_start=True)
    if given == "coef_init":
        model.fit(sparse.csr_array(X), y, coef_init=start, intercept_init=[0.0])
    else:
        model.fit(sparse.csr_array(X), y)
        model.coef_ = start
        model.fit(sparse.csr_array(X), y)
    assert model.coef_[0, 3] == pytest.approx(2.0, rel=0.2)
