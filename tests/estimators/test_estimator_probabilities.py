"""Probabilities and scores."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sgdone import CustomLoss, LinearClassifier, LinearRegressor, SGDClassifier, losses
from tiers import fast_first


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
    for fitted in (model, model.fit(*binary)):
        assert not hasattr(fitted, "predict_proba")
        assert not hasattr(fitted, "predict_log_proba")
    with pytest.raises(AttributeError, match=r"predict_proba") as caught:
        model.predict_proba(binary[0])
    assert "probability estimates need a loss that has them: use loss='logistic'" in str(caught.value.__cause__)


def test_losses_with_probabilities():
    assert hasattr(LinearClassifier(), "predict_proba")
    assert hasattr(LinearClassifier(losses.Logistic()), "predict_log_proba")
    assert not hasattr(LinearRegressor(), "predict_proba")


def test_an_unknown_loss_does_not_break_hasattr():
    assert not hasattr(LinearClassifier("nonsense"), "predict_proba")


@pytest.mark.slow
def test_a_loss_of_the_users_own(binary):
    loss = CustomLoss(
        value=lambda z, y: max(0.0, 1.0 - y * z) ** 3,
        slope=lambda z, y: -3.0 * y * max(0.0, 1.0 - y * z) ** 2,
        task="classification",
        name="cubed_hinge",
    )
    model = SGDClassifier(loss, step=0.01, random_state=0).fit(*binary)
    assert model.score(*binary) > 0.9
    assert not hasattr(model, "predict_proba")


def test_a_score_of_zero_is_the_first_class(binary):
    model = LinearClassifier().fit(*binary)
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert model.predict(np.zeros((1, 5))).tolist() == [0]
    np.testing.assert_array_equal(model.predict_proba(np.zeros((1, 5))), [[0.5, 0.5]])
