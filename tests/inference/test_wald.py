"""Tests of combinations of coefficients, and intervals of predictions."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, stats
from scipy.special import expit, logit, softmax

from inference.summary_problems import (
    assert_within,
    classifier_summary,
    groups_of,
    regressor_summary,
    several_classes,
    targets,
    two_classes,
)
from sgdone import LinearClassifier, LinearRegressor

R = np.array([[0.0, 1.0, -1.0, 0.0], [1.0, 0.0, 0.0, 2.0]])


def test_combinations_of_logistic_coefficients_are_as_in_statsmodels():
    X, y = two_classes()
    groups = groups_of(len(y))
    fitted = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, cov_type="cluster", cov_kwds={"groups": groups})
    other = fitted.wald_test((R, [0.5, -0.2]), scalar=True)
    found = classifier_summary(X, y, cov="cluster", groups=groups).wald(R, [0.5, -0.2])
    assert found.statistic == pytest.approx(other.statistic, rel=1e-6)
    assert found.p == pytest.approx(other.pvalue, rel=1e-5, abs=0)
    np.testing.assert_allclose(found.estimate, R @ fitted.params, rtol=1e-6)
    np.testing.assert_allclose(found.std_err, np.sqrt(np.diag(R @ fitted.cov_params() @ R.T)), rtol=1e-6)
    assert (found.df, found.df_residual) == (2, np.inf)


def test_classical_least_squares_are_tested_by_f():
    X, y = targets(100)
    values = R @ [2.2, 1.0, 2.0, 3.0]
    other = sm.OLS(y, sm.add_constant(X)).fit().f_test((R, values))
    found = regressor_summary(X, y, cov="classical").wald(R, values)
    assert found.statistic / found.df == pytest.approx(other.statistic, rel=1e-6)
    assert found.p == pytest.approx(other.pvalue, rel=1e-5, abs=0)
    assert found.df_residual == 96


def test_combinations_may_be_named():
    X, y = two_classes()
    summary = classifier_summary(X, y)
    by_name = summary.wald({"x0": 1.0, "x1": -1.0})
    assert by_name.statistic == pytest.approx(summary.wald(R[:1]).statistic, rel=1e-12)
    both = summary.wald(["x0", "x2"])
    assert both.statistic == pytest.approx(summary.wald(np.eye(4)[[1, 3]]).statistic, rel=1e-12)
    one = summary.wald("x1")
    assert one.statistic == pytest.approx(summary.z[2] ** 2, rel=1e-10)
    assert one.p == pytest.approx(summary.p[2], rel=1e-8, abs=0)


def test_a_feature_of_several_classes_is_tested_in_all_of_them():
    X, y = several_classes()
    summary = classifier_summary(X, y)
    assert summary.wald("x1").df == 2
    assert summary.wald("2: x1").df == 1
    # What is tested does not depend on the class that the others are compared with.
    again = classifier_summary(X, y, reference=2)
    assert summary.wald("x1").statistic == pytest.approx(again.wald("x1").statistic, rel=1e-8)
    between = summary.wald({"2: x1": 1.0, "1: x1": -1.0})
    with pytest.raises(ValueError, match="'x1' has a coefficient for each class: name one, as '1: x1'"):
        summary.wald({"x1": 1.0})
    other = classifier_summary(X, y, reference=1)
    assert between.std_err == pytest.approx(other.std_err[other.names.index("2: x1")], rel=1e-8)


@pytest.mark.parametrize(
    ("given", "value", "message"),
    [
        ("x9", 0.0, "has no coefficient 'x9'"),
        ([[1.0, 2.0]], 0.0, r"R has shape \(1, 2\), but the summary has 4 coefficients"),
        ([[0.0, np.nan, 0.0, 0.0]], 0.0, "R contains NaN"),
        (np.zeros((1, 4)), 0.0, "a row of R is zero"),
        (["x0", "x0"], 0.0, "the rows of R are linearly dependent"),
        ([["a"]], 0.0, "R cannot be read as numbers"),
        (["x0", "x1"], [1.0, 2.0, 3.0], "one for each of the 2 rows of R"),
        ("x0", np.nan, "give one finite number"),
    ],
)
def test_combinations_that_cannot_be_tested(given, value, message):
    X, y = two_classes(200)
    summary = classifier_summary(X, y)
    with pytest.raises(ValueError, match=message):
        summary.wald(given, value)


@pytest.mark.parametrize("cov", ["classical", "robust"])
def test_intervals_of_means_are_as_in_ols(cov):
    X, y = targets(100)
    kind = {"classical": {}, "robust": {"cov_type": "HC1", "use_t": False}}[cov]
    fitted = sm.OLS(y, sm.add_constant(X)).fit(**kind)
    rows = 2.0 * X[:7] + 1.0
    other = fitted.get_prediction(sm.add_constant(rows, has_constant="add"))
    model = LinearRegressor().fit(X, y)
    found = model.predict_interval(rows, model.summary(X, y, cov=cov))
    expected = np.vstack([other.predicted_mean, other.conf_int().T])
    assert_within(np.stack([found.estimate, found.low, found.high]), expected, other.se_mean, 1e-6)


def test_intervals_of_probabilities_are_those_of_the_log_odds():
    X, y = two_classes()
    fitted = sm.GLM(y, sm.add_constant(X), sm.families.Binomial()).fit(tol=1e-14)
    rows = 2.0 * X[:7] + 1.0
    other = fitted.get_prediction(sm.add_constant(rows, has_constant="add"))
    model = LinearClassifier().fit(X, y)
    summary = model.summary(X, y, cov="classical", level=0.9)
    found = model.predict_interval(rows, summary)
    np.testing.assert_allclose(found.estimate, other.predicted, rtol=1e-6)
    np.testing.assert_allclose(np.column_stack([found.low, found.high]), other.conf_int(alpha=0.1), rtol=1e-6)
    wider = model.predict_interval(rows, summary, level=0.95)
    np.testing.assert_allclose(np.column_stack([wider.low, wider.high]), other.conf_int(), rtol=1e-6)
    # They are those of classes_[1], whatever the reference of the summary.
    again = model.predict_interval(rows, model.summary(X, y, cov="classical", level=0.9, reference=1))
    np.testing.assert_allclose(np.stack(again), np.stack(found), rtol=1e-10)


@pytest.mark.parametrize("cov", ["classical", "robust"])
def test_intervals_of_several_probabilities_are_by_the_delta_method(cov):
    X, y = several_classes(3)
    model = LinearClassifier().fit(X, y)
    summary = model.summary(X, y, cov=cov)
    rows = np.column_stack([np.ones(4), X[:4]])
    covariance = summary.covariance.between(np.eye(6))
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), summary.std_err, rtol=1e-9)

    def log_odds(coef):
        scores = np.column_stack([np.zeros(4), rows @ coef.reshape(2, 3).T])
        return logit(softmax(scores, axis=1))

    step = 1e-5
    slopes = np.stack(
        [(log_odds(summary.coef + step * e) - log_odds(summary.coef - step * e)) / (2 * step) for e in np.eye(6)]
    )
    wide = stats.norm.ppf(0.975) * np.sqrt(np.einsum("aik,ab,bik->ik", slopes, covariance, slopes))
    found, odds = model.predict_interval(X[:4], summary), log_odds(summary.coef)
    np.testing.assert_allclose(found.estimate, expit(odds), rtol=1e-7)
    np.testing.assert_allclose(found.low, expit(odds - wide), rtol=1e-6)
    np.testing.assert_allclose(found.high, expit(odds + wide), rtol=1e-6)
    stored = model.predict_interval(sparse.csr_array(X[:4]), summary)
    np.testing.assert_allclose(np.stack(stored), np.stack(found), rtol=1e-9)
