"""Other losses than the default: any units of the targets, any number of classes."""

from dataclasses import dataclass

import numpy as np
import pytest
from automatic_problems import cubed, fitted, problem, slope_of_cubed
from scipy.special import expit

from sgdone import CustomLoss, LinearClassifier, LinearRegressor, losses
from sgdone.fit.options import FitOptions
from tiers import fast_first

UNITS = pytest.mark.parametrize("unit", fast_first(1, [1.0, 1e-6, 1e6]))


@UNITS
@pytest.mark.parametrize("q", [0.1, 0.9])
@pytest.mark.slow
def test_quantiles(unit, q):
    X, y = problem("numbers", 2000)
    model = LinearRegressor(losses.Quantile(q), random_state=0).fit(X, unit * (y - 50.0))
    assert np.mean(unit * (y - 50.0) < model.predict(X)) == pytest.approx(q, abs=0.03)
    slopes = model.coef_ / unit
    np.testing.assert_allclose(slopes, fitted("numbers", X, y).coef_, atol=0.25)


@UNITS
@pytest.mark.parametrize("loss", ["huber", losses.EpsilonInsensitive(0.1)], ids=str)
@pytest.mark.slow
def test_targets_in_any_units(loss, unit):
    """Whether all residuals are in the linear or in the quadratic part; ε is in the units of the targets."""
    X, y = problem("numbers")
    best = fitted("numbers", X, y).score(X, y)
    if loss != "huber":
        loss = losses.EpsilonInsensitive(0.1 * unit)
    model = LinearRegressor(loss, random_state=0).fit(X, unit * (y + 50.0))
    assert model.score(X, unit * (y + 50.0)) > best - 0.03


@pytest.mark.parametrize("size", [1e2, 1e6])
@pytest.mark.parametrize(
    "loss", fast_first(1, ["huber", losses.Quantile(0.5), losses.EpsilonInsensitive(0.01)]), ids=str
)
def test_outliers_among_the_targets(loss, size):
    X, y = problem("numbers", 2000)
    spoilt = y.copy()
    spoilt[::20] += size
    model, expected = LinearRegressor(loss, random_state=0).fit(X, spoilt), fitted("numbers", X, y)
    assert np.median(np.abs(model.predict(X) - y)) < 1.2 * np.median(np.abs(expected.predict(X) - y))


@pytest.mark.parametrize("loss", fast_first(1, ["hinge", "squared_hinge", "squared", "exponential"]))
@pytest.mark.parametrize("task", fast_first(1, ["two", "three"]))
def test_classes(task, loss):
    X, y = problem(task)
    model = fitted(task, X, y, loss=loss)
    assert model.verdict_.rule == ("Gain" if loss == "hinge" else "Decrement")
    assert model.multinomial_ is False
    assert not hasattr(model, "predict_proba")
    # One class against the rest cannot tell the middle one of three in a row.
    assert model.score(X, y) > fitted(task, X, y).score(X, y) - (0.05 if task == "two" else 0.2)


@pytest.mark.parametrize("chunk", [None, 100], ids=["fit", "partial_fit"])
@pytest.mark.slow
def test_hinge_of_clusters(chunk, several):
    X, y = several
    model = fitted("three", X * [1e6, 1, 1, 1e-6, 1, 1], y, chunk, loss="hinge")
    assert model.coef_.shape == (4, 6)
    assert model.score(X * [1e6, 1, 1, 1e-6, 1, 1], y) > 0.9


@dataclass(frozen=True)
class ProbabilisticLoss(losses.Loss):
    """A loss with probabilities that is not known to be the logistic one."""

    name = "probabilistic"
    task = "classification"
    probabilistic = True

    @property
    def kernel(self):
        return losses.Logistic().kernel

    @property
    def smoothness(self):
        return 0.25

    @property
    def lipschitz(self):
        return 1.0


@pytest.mark.slow
def test_probabilistic_losses_of_several_classes_are_trained_one_vs_rest(several):
    """The softmax is the generalisation of the logistic loss only."""
    X, y = several
    model = LinearClassifier(ProbabilisticLoss(), random_state=0).fit(X, y)
    assert model.multinomial_ is False
    assert model._fitted.results[0].objective.predicts == "one_vs_rest"
    scores = model.decision_function(X)
    one_vs_rest = expit(scores) / expit(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), one_vs_rest, rtol=1e-9)
    # Each class by itself has the probabilities of a model of two classes.
    for k in range(4):
        alone = LinearClassifier(random_state=0).fit(X, y == k).predict_proba(X)[:, 1]
        assert np.abs(expit(scores[:, k]) - alone).mean() < 0.03


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("logistic", "softmax"),
        ("hinge", "one_vs_rest"),
        (ProbabilisticLoss(), "one_vs_rest"),
        (CustomLoss(value=cubed, slope=slope_of_cubed), "one_vs_rest"),
    ],
)
def test_only_the_logistic_loss_has_a_softmax(loss, expected):
    objective = FitOptions.of("LinearClassifier", loss=loss).objective(10, 3)
    assert (objective.predicts, objective.n_outputs) == (expected, 3)
    assert FitOptions.of("LinearClassifier", loss=loss).objective(10, 2).predicts == "two_classes"


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [CustomLoss(value=cubed, slope=slope_of_cubed, task="classification", name="cubed"), "margin_pursuit"],
    ids=["custom", "margin pursuit"],
)
def test_columns_in_any_units(loss):
    X, y = problem("two")
    scaled = X * [1e6, 1, 1, 1, 1, 1e-6]
    model = fitted("two", scaled, y, loss=loss)
    assert model.verdict_.rule == "Decrement"
    assert model.score(scaled, y) > fitted("two", X, y).score(X, y) - 0.05
