"""Results of fits: probabilities, scores, starts and the chosen penalty."""

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem
from scipy import sparse
from scipy.special import expit, log_softmax, softmax

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, losses
from sgdone.bank import CANDIDATES
from sgdone.stopping import MaxSamples
from tiers import fast_first

in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
by_fit_or_partial_fit = pytest.mark.parametrize("chunk", fast_first(1, [None, 150]), ids=["fit", "partial_fit"])


def test_two_classes_are_the_sigmoid_of_the_score():
    X, y = problem("two")
    model = fitted("two", X, y)
    assert model.multinomial_ is False
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-14)


@by_fit_or_partial_fit
@in_both_forms
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
@in_both_forms
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


# ---- probabilities and scores ----


@pytest.mark.parametrize("data", ["binary", "several"])
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
def test_probabilities(dtype, form, data, request):
    X, y = request.getfixturevalue(data)
    X = form(X.astype(dtype))
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (len(y), model.classes_.size)
    assert proba.min() >= 0.0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), rtol=1e-6)


def test_several_classes_are_sigmoids_that_sum_to_one(several):
    X, y = several
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    sigmoids = expit(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), sigmoids / sigmoids.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("score", [-800.0, 800.0, -1e6, 1e6])
def test_logarithms_are_finite_where_probabilities_underflow(score, binary, several):
    model = LinearClassifier().fit(*binary)
    model.coef_[:], model.intercept_[:] = 0.0, score
    logs = model.predict_log_proba(np.zeros((1, 5)))
    np.testing.assert_allclose(np.sort(logs[0]), [-abs(score), 0.0])
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 5))), [[float(score < 0), float(score > 0)]])
    model = LinearClassifier().fit(*several)
    model.coef_[:], model.intercept_[:] = 0.0, [score, -score, 0.0, score]
    for intercept in ([score, -score, 0.0, score], [score] * 4, [score, score / 2, score / 4, score / 8]):
        model.intercept_[:] = intercept
        logs = model.predict_log_proba(np.zeros((1, 6)))
        assert np.isfinite(logs).all()
        np.testing.assert_allclose(np.exp(logs).sum(), 1.0)
        np.testing.assert_allclose(model.predict_proba(np.zeros((1, 6))).sum(), 1.0)


@pytest.mark.parametrize(
    "loss", fast_first(1, ["hinge", "squared_hinge", "squared", "exponential", losses.Hinge()]), ids=str
)
def test_losses_without_probabilities(loss, binary):
    model = LinearClassifier(loss)
    for one in (model, model.fit(*binary)):
        assert not hasattr(one, "predict_proba")
        assert not hasattr(one, "predict_log_proba")
    with pytest.raises(AttributeError, match=r"predict_proba") as caught:
        model.predict_proba(binary[0])
    assert "probability estimates need a loss that has them: use loss='logistic'" in str(caught.value.__cause__)


def test_losses_with_probabilities():
    assert hasattr(LinearClassifier(), "predict_proba")
    assert hasattr(LinearClassifier(losses.Logistic()), "predict_log_proba")
    assert not hasattr(LinearRegressor(), "predict_proba")


def test_an_unknown_loss_does_not_break_hasattr():
    assert not hasattr(LinearClassifier("nonsense"), "predict_proba")


def test_a_score_of_zero_is_the_first_class(binary):
    model = LinearClassifier().fit(*binary)
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert model.predict(np.zeros((1, 5))).tolist() == [0]
    np.testing.assert_array_equal(model.predict_proba(np.zeros((1, 5))), [[0.5, 0.5]])
