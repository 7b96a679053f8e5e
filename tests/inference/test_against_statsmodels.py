"""Coefficients, standard errors and likelihoods are those of statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from scipy.special import expit
from statsmodels.robust.norms import HuberT

from inference.summary_problems import (
    assert_within,
    classifier_summary,
    groups_of,
    regressor_summary,
    several_classes,
    targets,
    two_classes,
)
from sgdone import LinearClassifier, LinearRegressor, losses

RELATIVE = 1e-6
OPTIONS = {"disp": 0, "method": "newton", "tol": 1e-14, "maxiter": 100}


def agree(found, coef, errors):
    errors = np.ravel(errors, order="F")
    assert_within(found.coef, np.ravel(coef, order="F"), errors, RELATIVE)
    np.testing.assert_allclose(found.std_err, errors, rtol=RELATIVE)
    assert not found.refused


def of_statsmodels(model, cov, y, groups, **options):
    """Its fit; where it leaves out the factor n/(n − k) of HC1, with that factor."""
    if cov == "classical":
        return model.fit(**options), 1.0
    if cov == "cluster":
        return model.fit(cov_type="cluster", cov_kwds={"groups": groups}, **options), 1.0
    fitted = model.fit(cov_type="HC0", **options)
    return fitted, np.sqrt(len(y) / (len(y) - fitted.params.size))


@pytest.mark.parametrize("cov", ["classical", "robust", "cluster"])
def test_two_classes_are_as_in_logit(cov):
    X, y = two_classes()
    groups = groups_of(len(y)) if cov == "cluster" else None
    other, factor = of_statsmodels(sm.Logit(y, sm.add_constant(X)), cov, y, groups, **OPTIONS)
    found = classifier_summary(X, y, cov=cov, groups=groups)
    agree(found, other.params, factor * other.bse)
    if cov != "robust":
        np.testing.assert_allclose(found.p, other.pvalues, rtol=1e-5)
        assert_within(np.stack([found.low, found.high]), other.conf_int().T, other.bse, RELATIVE)


@pytest.mark.parametrize("cov", ["classical", "robust", "cluster"])
@pytest.mark.parametrize("n_classes", [3, 4])
def test_several_classes_are_as_in_mnlogit(n_classes, cov):
    X, y = several_classes(n_classes)
    groups = groups_of(len(y)) if cov == "cluster" else None
    other, factor = of_statsmodels(sm.MNLogit(y, sm.add_constant(X)), cov, y, groups, **OPTIONS)
    errors = np.sqrt(np.diag(other.cov_params())).reshape(other.params.shape, order="F")
    agree(classifier_summary(X, y, cov=cov, groups=groups), other.params, factor * errors)


def test_classes_are_compared_with_the_reference():
    X, y = several_classes(3)
    numbers = np.array([1, 2, 0])[y]
    other, _ = of_statsmodels(sm.MNLogit(numbers, sm.add_constant(X)), "classical", y, None, **OPTIONS)
    found = classifier_summary(X, np.array(["a", "b", "c"])[y], cov="classical", reference="c")
    agree(found, other.params, other.bse)
    assert found.classes == ["a"] * 3 + ["b"] * 3


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-3.0, 8.0]], ids=["text", "bool", "numbers"])
def test_two_labels_of_any_kind_and_the_second_as_reference(labels):
    X, y = two_classes(seed=1)
    other = sm.Logit(y, sm.add_constant(X)).fit(**OPTIONS)
    named = np.array(labels)[y]
    agree(classifier_summary(X, named, cov="classical"), other.params, other.bse)
    agree(classifier_summary(X, named, cov="classical", reference=labels[1]), -other.params, other.bse)


def test_least_squares_are_as_in_ols_with_quantiles_of_t():
    X, y = targets(n_rows=200)
    other = sm.OLS(y, sm.add_constant(X)).fit()
    found = regressor_summary(X, y, cov="classical", level=0.9)
    agree(found, other.params, other.bse)
    np.testing.assert_allclose(found.z, other.tvalues, rtol=RELATIVE, atol=RELATIVE)
    np.testing.assert_allclose(found.p, other.pvalues, rtol=1e-5)
    assert_within(np.stack([found.low, found.high]), other.conf_int(0.1).T, other.bse, RELATIVE)


@pytest.mark.parametrize("cov", ["robust", "cluster"])
def test_sandwiches_of_least_squares_are_as_in_ols(cov):
    X, y = targets()
    groups = groups_of(len(y)) if cov == "cluster" else None
    kind = {"cov_type": "HC1"} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    other = sm.OLS(y, sm.add_constant(X)).fit(**kind, use_t=False)
    found = regressor_summary(X, y, cov=cov, groups=groups)
    agree(found, other.params, other.bse)
    np.testing.assert_allclose(found.p, other.pvalues, rtol=1e-5, atol=1e-300)


def test_huber_losses_are_as_in_rlm():
    rng = np.random.default_rng(0)
    X, y = targets()
    y = y + 5.0 * rng.standard_t(2, len(y))
    model = sm.RLM(y, sm.add_constant(X), M=HuberT(t=1.345))
    other = model.fit(update_scale=False, tol=1e-14, conv="coefs", maxiter=500, cov="H1")
    loss = losses.Huber(delta=1.345 * other.scale)
    agree(LinearRegressor(loss=loss).fit(X, y).summary(X, y, cov="classical"), other.params, other.bse)


@pytest.mark.parametrize("cov", ["classical", "robust", "cluster"])
def test_a_frequency_is_the_row_repeated(cov):
    X, y = two_classes(n_rows=300, seed=2)
    frequency = np.random.default_rng(0).integers(0, 4, len(y))
    groups = groups_of(len(y)) if cov == "cluster" else None
    repeated = None if groups is None else np.repeat(groups, frequency)
    rows, labels = np.repeat(X, frequency, axis=0), np.repeat(y, frequency)
    other, factor = of_statsmodels(sm.Logit(labels, sm.add_constant(rows)), cov, labels, repeated, **OPTIONS)
    found = LinearClassifier().fit(X, y, sample_weight=frequency).summary(X, y, frequency, cov=cov, groups=groups)
    agree(found, other.params, factor * other.bse)
    assert found.head.rows == frequency.sum()
    assert found.head.bic == pytest.approx(other.bic, rel=1e-9)


def test_frequencies_that_are_not_whole_are_as_in_glm():
    X, y = two_classes(n_rows=300, seed=3)
    frequency = np.random.default_rng(0).uniform(0.5, 4.0, len(y))
    model = sm.GLM(y, sm.add_constant(X), sm.families.Binomial(), freq_weights=frequency)
    other = model.fit(tol=1e-14)
    found = LinearClassifier().fit(X, y, sample_weight=frequency).summary(X, y, frequency, cov="classical")
    agree(found, other.params, other.bse)
    assert found.head.log_likelihood == pytest.approx(other.llf, rel=1e-9)


@pytest.mark.parametrize("cov", ["robust", "cluster"])
def test_sampling_weights_are_in_the_gradients(cov):
    X, y = two_classes(n_rows=500, seed=4)
    weight = np.random.default_rng(0).uniform(0.2, 5.0, len(y))
    groups = groups_of(len(y)) if cov == "cluster" else None
    design = sm.add_constant(X)
    coef = sm.GLM(y, design, sm.families.Binomial(), freq_weights=weight).fit(tol=1e-14).params
    likely = expit(design @ coef)
    inverse = np.linalg.inv(design.T @ (design * (weight * likely * (1 - likely))[:, None]))
    gradients = design * (weight * (likely - y))[:, None]
    n, k = design.shape
    factor = n / (n - k)
    if groups is not None:
        gradients = np.stack([gradients[groups == g].sum(axis=0) for g in np.unique(groups)])
        count = len(gradients)
        factor = count / (count - 1) * (n - 1) / (n - k)
    variances = factor * np.diag(inverse @ gradients.T @ gradients @ inverse)
    model = LinearClassifier().fit(X, y, sample_weight=weight)
    found = model.summary(X, y, weight, cov=cov, groups=groups, weights="sampling")
    agree(found, coef, np.sqrt(variances))
    assert found.head.rows == n
    assert found.head.log_likelihood is None


def test_columns_of_unequal_scale_far_from_0():
    X, y = two_classes(n_rows=800, seed=5)
    design = sm.add_constant(X)
    other = sm.Logit(y, design).fit(**OPTIONS)
    scale, shift = np.array([1e-6, 1e5, 1.0]), np.array([3e-4, -2e7, 50.0])
    found = classifier_summary(X * scale + shift, y, cov="classical")
    # x̃ = sx + m: the coefficients are those of x over s, the intercept that of x less Σβm/s.
    back = np.vstack([np.append(1.0, -shift / scale), np.column_stack([np.zeros(3), np.diag(1.0 / scale)])])
    agree(found, back @ other.params, np.sqrt(np.diag(back @ other.cov_params() @ back.T)))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows(fit_intercept):
    rng = np.random.default_rng(6)
    X = rng.exponential(size=(700, 4)) * (rng.random((700, 4)) < 0.3)
    y = (rng.random(700) < expit(X @ [1.0, -1.0, 0.5, 0.0] - 0.2)).astype(int)
    design = sm.add_constant(X) if fit_intercept else X
    other, factor = of_statsmodels(sm.Logit(y, design), "robust", y, None, **OPTIONS)
    agree(classifier_summary(sparse.csr_array(X), y, fit_intercept=fit_intercept), other.params, factor * other.bse)


def test_least_squares_without_an_intercept():
    X, y = targets(seed=7)
    other = sm.OLS(y, X).fit(cov_type="HC1")
    found = regressor_summary(X, y, fit_intercept=False)
    agree(found, other.params, other.bse)
    assert found.features == ["x0", "x1", "x2"]


def test_each_class_against_the_rest_has_the_errors_of_its_own_fit():
    X, y = several_classes(3)
    model = LinearClassifier(loss="squared_hinge").fit(X, y)
    found = model.summary(X, y)
    one = LinearClassifier(loss="squared_hinge").fit(X, y == 2).summary(X, y == 2)
    last = np.array(found.classes) == 2
    assert_within(found.coef[last], one.coef, one.std_err, RELATIVE)
    np.testing.assert_allclose(found.std_err[last], one.std_err, rtol=RELATIVE)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_likelihood_of_classes(n_classes):
    X, y = two_classes() if n_classes == 2 else several_classes(3)
    model = sm.Logit if n_classes == 2 else sm.MNLogit
    other = model(y, sm.add_constant(X)).fit(**OPTIONS)
    head = classifier_summary(X, y).head
    expected = [other.llf, other.llnull, other.llr, other.df_model, other.prsquared, other.aic, other.bic]
    found = [head.log_likelihood, head.null_log_likelihood, head.likelihood_ratio, head.likelihood_ratio_df]
    found += [head.r2, head.aic, head.bic]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert head.likelihood_ratio_p == pytest.approx(other.llr_pvalue, rel=1e-5, abs=0)
    assert (head.rows, head.coefficients) == (len(y), other.params.size)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_likelihood_of_least_squares(fit_intercept):
    X, y = targets(n_rows=200)
    y = y if fit_intercept else y - y.mean() + 0.3
    other = sm.OLS(y, sm.add_constant(X) if fit_intercept else X).fit()
    head = regressor_summary(X, y, fit_intercept=fit_intercept).head
    found = [head.log_likelihood, head.r2, head.aic, head.bic]
    np.testing.assert_allclose(found, [other.llf, other.rsquared, other.aic, other.bic], rtol=1e-8)
    if fit_intercept:
        null = sm.OLS(y, np.ones(len(y))).fit()
        ratio, p, _ = other.compare_lr_test(null)
        assert head.likelihood_ratio == pytest.approx(ratio, rel=1e-8)
        assert head.likelihood_ratio_p == pytest.approx(p, rel=1e-5, abs=0)
