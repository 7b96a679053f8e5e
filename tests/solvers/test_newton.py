"""Newton's method: the exact optimum, whatever the units, the storage or the way its equations are solved."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from sgdone import SGDClassifier, SGDRegressor
from sgdone.interfaces.stop_rule import Status
from sgdone.losses import Exponential, Huber, SquaredHinge
from sgdone.solvers import newton
from sgdone.stopping import Decrement, MaxPasses, MaxSeconds

ALPHA = 0.01


@pytest.fixture(name="data", scope="module")
def two_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = (rng.random(300) < 1 / (1 + np.exp(-2.0 * X[:, 0] + X[:, 1] + 0.5))).astype(int)
    return X, y


def fitted(X, y, **options):
    return SGDClassifier(**{"solver": "newton", "alpha": ALPHA} | options).fit(X, y)


def objective_of(model, X, y):
    """Mean loss and penalty, with labels ±1."""
    scores = model.decision_function(X)
    loss = np.mean(model._fitted.options.loss.value(scores, np.where(y == 1, 1.0, -1.0)))
    return loss + 0.5 * ALPHA * (model.coef_**2).sum()


def test_it_is_the_optimum_that_scikit_learn_finds(data):
    X, y = data
    model = fitted(X, y)
    exact = LogisticRegression(C=1 / (ALPHA * len(y)), solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=1e-7)
    assert (model.verdict_.status, model.verdict_.rule) == (Status.CONVERGED, "Decrement")
    assert model.verdict_.evidence["decrement"] <= 5e-9


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_targets_take_two_updates(fit_intercept, data):
    """One for the step, one that sees that nothing is left."""
    X, _ = data
    y, weights = X @ np.arange(5.0) + 3.0, np.arange(300.0)
    model = SGDRegressor(solver="newton", alpha=ALPHA, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    exact = Ridge(ALPHA * 299, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-9)
    assert model.verdict_.step == 2


@pytest.mark.slow
@pytest.mark.parametrize("loss", [SquaredHinge(), Exponential(), Huber(0.5)], ids=lambda loss: loss.name)
def test_no_direction_lowers_the_objective(loss, data):
    X, y = data
    if loss.task == "regression":
        model = SGDRegressor(loss, solver="newton", alpha=ALPHA).fit(X, X @ np.arange(5.0))
        assert model.verdict_.evidence["decrement"] <= 5e-9
        return
    model = fitted(X, y, loss=loss)
    least = objective_of(model, X, y)
    for direction in np.random.default_rng(0).standard_normal((10, 6)):
        coef, intercept = model.coef_, model.intercept_
        model.coef_, model.intercept_ = coef + 1e-3 * direction[:5], intercept + 1e-3 * direction[5:]
        assert objective_of(model, X, y) > least
        model.coef_, model.intercept_ = coef, intercept


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_conjugate_gradients_find_the_same_optimum(form, data, monkeypatch):
    X, y = data
    exact = fitted(X, y)
    monkeypatch.setattr(newton, "MOST_FACTORISED", 3)
    model = fitted(form(X), y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6)
    assert model.verdict_.status is Status.CONVERGED


def test_columns_far_from_0_in_odd_units(data):
    """Predictions of an unpenalised model do not depend on units or origins."""
    X, y = data
    plain = fitted(X, y, alpha=0)
    moved = X * 10.0 ** np.array([-6, -3, 0, 3, 6]) + 10.0 ** np.array([-2, 1, 4, 7, 10])
    model = fitted(moved, y, alpha=0)
    np.testing.assert_allclose(model.decision_function(moved), plain.decision_function(X), atol=1e-4)


def test_constant_and_repeated_columns_without_a_penalty(data):
    """The shortest solution: copies share a coefficient, and a constant column has none."""
    X, y = data
    model = fitted(np.column_stack([X, X[:, 0], np.full(300, 7.0)]), y, alpha=0)
    plain = fitted(X, y, alpha=0)
    np.testing.assert_allclose(model.coef_[0, [0, 5]], plain.coef_[0, 0] / 2, rtol=1e-4)
    assert model.coef_[0, 6] == 0.0


def test_separable_rows_without_a_penalty_have_no_optimum():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    assert fitted(X, [0, 0, 1, 1], alpha=0).verdict_.status is Status.NO_OPTIMUM


def test_a_start_from_far_away(data):
    """The whole step would raise the objective: it is halved."""
    X, y = data
    model = fitted(X, y)
    far = SGDClassifier(solver="newton", alpha=ALPHA).fit(X, y, coef_init=np.full((1, 5), 30.0))
    np.testing.assert_allclose(far.coef_, model.coef_, atol=1e-6)
    assert far.verdict_.step > model.verdict_.step


def test_budgets_and_weights_of_0(data):
    X, y = data
    model = fitted(X, y, stop=MaxPasses(3))
    assert (model.verdict_.step, model.verdict_.status) == (3, Status.BUDGET_SPENT)
    assert fitted(X, y, stop=Decrement() | MaxSeconds(60)).verdict_.rule == "Decrement"
    weights = np.r_[np.ones(200), np.zeros(100)]
    part = SGDClassifier(solver="newton", alpha=ALPHA).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(part.coef_, fitted(X[:200], y[:200]).coef_, rtol=1e-9)


def test_several_classes_are_trained_one_against_the_rest(data):
    X, _ = data
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = fitted(X, y)
    np.testing.assert_allclose(model.coef_[1], fitted(X, y == 1).coef_[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "newton needs second derivatives of a convex loss, and 'hinge' has kinks"),
        ({"center": True}, "newton finds the intercept together with the coefficients: use center=False"),
        ({"step": 0.1}, "newton has no step size"),
        ({"solver": "sgd", "stop": "decrement"}, r'SGDRegressor\(solver="newton"\), or another rule'),
    ],
)
def test_what_it_does_not_do(options, message, data):
    with pytest.raises(ValueError, match=message):
        fitted(*data, **options)


@pytest.mark.parametrize("tol", [-1, np.nan, "small", None])
def test_a_bad_tolerance(tol):
    with pytest.raises(ValueError, match="tol must be a non-negative number; got"):
        Decrement(tol)
