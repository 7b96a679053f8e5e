"""Standard errors that would be wrong are refused, with the reason; the others are given."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse

from inference.summary_problems import (
    assert_within,
    classifier_summary,
    kinds,
    regressor_summary,
    several_classes,
    targets,
    two_classes,
)
from sgdone import LinearClassifier, LinearRegressor, datasets
from sgdone.inference import estimate
from sgdone.inference.refusals import FEWEST_GROUPS, FEWEST_OF_CLASS, FEWEST_ROWS, MOST_PER_ROW
from sgdone.sums.second_order import SecondOrderAt
from tiers import slow

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
N_ROWS = 600


def others_agree(found, expected, places):
    """Coefficients at some places are those of another summary."""
    assert_within(found.coef[places], expected.coef, expected.std_err, 1e-6)
    np.testing.assert_allclose(found.std_err[places], expected.std_err, rtol=1e-6)
    assert not expected.refused


def separated(n_separated=60):
    """Rows in which the last column is 1, all of them of class 1, and rows in which it is 0."""
    X, y = two_classes(N_ROWS)
    first = np.arange(N_ROWS) < n_separated
    y[first] = 1
    return np.column_stack([X, first]), y, first


@FORMS
@pytest.mark.parametrize(("reference", "limit"), [(0, np.inf), (1, -np.inf)])
def test_an_infinite_coefficient_leaves_those_of_the_other_rows(form, reference, limit):
    X, y, first = separated()
    found = classifier_summary(form(X), y, reference=reference)
    assert kinds(found) == {"x3": "infinite"}
    assert found.coef[4] == limit
    assert found.refused[4].sign == np.sign(limit)
    assert np.isnan([found.std_err[4], found.z[4], found.p[4], found.low[4], found.high[4]]).all()
    assert "a direction predicts 60 of 600 rows without error (proved in exact arithmetic;" in found.refused[4].reason
    assert "Use the penalised coefficients of the model, or more rows" in found.refused[4].reason
    others_agree(found, classifier_summary(X[~first, :3], y[~first], reference=reference), slice(0, 4))


@pytest.mark.parametrize("weights", ["frequency", "sampling"])
def test_the_other_rows_keep_their_weights(weights):
    X, y, first = separated()
    weight = np.random.default_rng(0).integers(0, 4, N_ROWS)
    model, rest = LinearClassifier().fit(X, y), LinearClassifier().fit(X[~first, :3], y[~first])
    found = model.summary(X, y, weight, weights=weights)
    assert kinds(found) == {"x3": "infinite"}
    others_agree(found, rest.summary(X[~first, :3], y[~first], weight[~first], weights=weights), slice(0, 4))


def test_an_intercept_that_moves_with_an_infinite_coefficient_is_refused_too():
    X, y, _ = separated()
    X[:, 3] = 1.0 - X[:, 3]
    found = classifier_summary(X, y)
    assert kinds(found) == {"(intercept)": "infinite", "x3": "infinite"}
    assert found.coef[[0, 4]].tolist() == [np.inf, -np.inf]


def test_rows_that_are_not_separated_are_those_of_a_column_that_count():
    X, y, _ = separated(N_ROWS // 2)
    rare = np.zeros(N_ROWS)
    rare[: N_ROWS // 2 + 10] = 1.0
    y[N_ROWS // 2 : N_ROWS // 2 + 10] = np.arange(10) % 2
    found = classifier_summary(np.column_stack([X, rare]), y)
    assert kinds(found) == {"x3": "infinite", "x4": "few_nonzeros"}
    assert found.refused[5].detail.startswith("10")


def test_rows_that_are_not_separated_are_those_that_count():
    few, numbers = round(2.5 / MOST_PER_ROW), np.arange(N_ROWS)
    side = np.where(numbers < few, 0.0, np.where(numbers % 2, 1.0, -1.0))
    y = np.where(side == 0, numbers // 2 % 2, side > 0).astype(int)
    X = np.column_stack([two_classes(N_ROWS)[0][:, :2], side])
    found = classifier_summary(X, y)
    assert (kinds(found)["(intercept)"], kinds(found)["x2"]) == ("few_rows", "infinite")
    assert f"There are 3 coefficients for {few} rows" in found.refused[0].reason


def test_groups_of_rows_that_are_separated_do_not_count():
    X, y, first = separated()
    groups = np.where(first, np.arange(N_ROWS), N_ROWS + np.arange(N_ROWS) % (FEWEST_GROUPS - 1))
    found = classifier_summary(X, y, cov="cluster", groups=groups)
    assert (kinds(found)["x0"], kinds(found)["x3"]) == ("few_groups", "infinite")


def test_complete_separation_refuses_all_coefficients():
    X, _ = two_classes(N_ROWS)
    found = classifier_summary(X, (X[:, 0] > 0).astype(int))
    assert set(kinds(found).values()) == {"infinite"}
    assert len(found.refused) == 4
    assert found.coef[1] == np.inf
    assert np.isnan(found.coef[[0, 2, 3]]).all()
    assert "complete separation, a direction predicts 600 of 600 rows" in found.refused[0].reason
    with pytest.raises(ValueError, match=r"'x0' is refused: There is no finite optimum"):
        found.wald("x0")


def test_endometrial_data_are_those_of_the_rows_without_neovascularization():
    try:
        data = datasets.load("endometrial", subset="all")
    except datasets.DatasetNotFound as reason:
        pytest.skip(str(reason))
    import pandas as pd

    X = pd.DataFrame(data.X, columns=data.feature_names)
    found = LinearClassifier().fit(X, data.y).summary(X, data.y, cov="classical")
    assert kinds(found) == {"NV": "infinite"}
    assert found.coef[1] == np.inf
    assert "a direction predicts 13 of 79 rows without error" in found.refused[1].reason
    rest, given = data.X[:, 0] == 0, [0, 2, 3]
    other = sm.Logit(data.y[rest], sm.add_constant(data.X[rest, 1:])).fit(disp=0, tol=1e-12)
    assert_within(found.coef[given], other.params, other.bse, 1e-6)
    np.testing.assert_allclose(found.std_err[given], other.bse, rtol=1e-6)
    assert found.head.log_likelihood == pytest.approx(other.llf, rel=1e-8)


@FORMS
def test_the_dummy_trap(form):
    X, y = two_classes(N_ROWS)
    both = np.column_stack([X, np.eye(3)[np.arange(N_ROWS) % 3]])
    found = classifier_summary(form(both), y)
    assert kinds(found) == dict.fromkeys(["(intercept)", "x3", "x4", "x5"], "collinear")
    assert "columns are linearly dependent (x3, x4, x5" in found.refused[4].reason
    assert "Drop x" in found.refused[4].reason
    assert "Drop x" in found.refused[0].reason
    without = classifier_summary(form(both[:, :5]), y, columns=[0, 1, 2])
    assert_within(found.coef[1:4], without.coef[1:], without.std_err[1:], 1e-6)
    np.testing.assert_allclose(found.std_err[1:4], without.std_err[1:], rtol=1e-6)
    assert found.head.coefficients == 6
    assert found.head.log_likelihood == pytest.approx(without.head.log_likelihood, rel=1e-9)


def test_columns_that_depend_on_each_other_are_named_together():
    X, y = targets(N_ROWS, 6)
    X = np.column_stack([X, X[:, 0] + 2.0 * X[:, 1], X[:, 3] - X[:, 4]])
    found = regressor_summary(X - X.mean(axis=0), y, cov="classical")
    reasons = {refusal.reason.split("): ")[0] for refusal in found.refused.values()}
    assert reasons == {f"3 columns are linearly dependent ({names}" for names in ("x0, x1, x6", "x3, x4, x7")}
    expected = regressor_summary((X - X.mean(axis=0))[:, :6], y, cov="classical")
    np.testing.assert_allclose(found.std_err[[0, 3, 6]], expected.std_err[[0, 3, 6]], rtol=1e-6)


def test_predictions_along_collinear_columns_have_intervals_where_the_rows_determine_them():
    X, y = two_classes(N_ROWS)
    both = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = LinearClassifier().fit(both, y)
    rows = np.array([[1.0, 2.0, 0.0, 3.0], [1.0, 2.0, 0.0, 2.5]])
    found = model.predict_interval(rows, model.summary(both, y))
    without = LinearClassifier().fit(X, y)
    expected = without.predict_interval(rows[:, :3], without.summary(X, y))
    np.testing.assert_allclose([part[0] for part in found], [part[0] for part in expected], rtol=1e-6)
    assert np.isnan([part[1] for part in found]).all()


@FORMS
@pytest.mark.parametrize("value", [0.1, 1e100])
def test_a_constant_column_has_no_coefficient(form, value):
    X, y = two_classes(N_ROWS)
    both = form(np.column_stack([X[:, 0], np.full(N_ROWS, value), X[:, 1:]]))
    model = LinearClassifier().fit(both, y)
    found = model.summary(both, y)
    assert kinds(found) == {"x1": "constant"}
    assert "x1 has one value in all rows" in found.refused[2].reason
    assert "Drop the column" in found.refused[2].reason
    others_agree(found, classifier_summary(X, y), [0, 1, 3, 4])
    rows = np.array([[0.0, value, 0.0, 0.0], [0.0, 2.0 * value, 0.0, 0.0]])
    assert np.isnan(model.predict_interval(rows, found).low).tolist() == [False, True]


def test_without_an_intercept_a_constant_column_is_one():
    X, y = two_classes(N_ROWS)
    found = classifier_summary(np.column_stack([np.ones(N_ROWS), X]), y, fit_intercept=False)
    others_agree(found, classifier_summary(X, y), slice(None))


def test_too_few_rows_a_coefficient():
    X, y = targets(N_ROWS)
    limit = round(4 / MOST_PER_ROW)
    assert not regressor_summary(X[:limit], y[:limit]).refused
    found = regressor_summary(X[: limit - 1], y[: limit - 1])
    assert set(kinds(found).values()) == {"few_rows"}
    assert f"There are 4 coefficients for {limit - 1} rows. Intervals need 8 rows" in found.refused[0].reason
    assert "Use fewer columns or more rows" in found.refused[0].reason
    assert not regressor_summary(X[:6], y[:6], cov="classical").refused


@pytest.mark.parametrize("cov", ["robust", "classical"])
def test_rows_of_classes_count_by_their_information(cov):
    X, y = two_classes(N_ROWS)
    for rows in range(24, 120, 4):
        found = classifier_summary(X[:rows], y[:rows], cov=cov)
        if set(kinds(found).values()) == {"infinite"}:
            continue
        other = sm.Logit(y[:rows], sm.add_constant(X[:rows])).fit(disp=0, tol=1e-12)
        likely = other.predict()
        counting = 4 * (likely * (1 - likely)).sum()
        assert ("few_rows" in kinds(found).values()) == (MOST_PER_ROW * min(rows, counting) < 4)
        if "few_rows" in kinds(found).values() and MOST_PER_ROW * rows >= 4:
            assert f"as much information as {counting:.0f} rows of equally likely classes" in found.refused[0].reason
            assert_within(found.coef, other.params, other.bse, 1e-6)


def test_the_bias_is_that_of_the_third_derivatives(monkeypatch):
    X, y = several_classes(3, n_rows=200)
    kept = []
    found = estimate.first_order_bias
    monkeypatch.setattr(estimate, "first_order_bias", lambda *given: kept.append((given, found(*given))) or kept[-1][1])
    classifier_summary(X, y)
    (sample, optimum, inverse), bias = kept[0]
    size, step, flat = bias.size, 1e-4, optimum.model.T.ravel()
    third = np.empty((size, size, size))
    for k in range(size):
        moved = [(flat + sign * step * np.eye(size)[k]).reshape(optimum.model.shape[::-1]).T for sign in (1, -1)]
        ahead, behind = (sample.sum(SecondOrderAt(sample.system, model)).curvature for model in moved)
        third[k] = (ahead - behind) / (2 * step)
    expected = -0.5 * inverse @ np.einsum("kab,ab->k", third, inverse)
    np.testing.assert_allclose(bias, expected, rtol=1e-5, atol=1e-9)


def test_a_coefficient_with_a_large_bias_is_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 60))
    y = rng.random(3000) < 1.0 / (1.0 + np.exp(3.5 - X[:, 0]))
    found = classifier_summary(X, y)
    assert kinds(found)["(intercept)"] == "biased"
    assert found.coef[0] < -3.5
    assert "Use more rows or fewer columns" in found.refused[0].reason
    assert len(found.refused) < 5


def test_the_variation_of_a_column_is_counted_in_rows():
    """The number of ones, a third of the rows for a normal distribution, 1 for an outlier."""
    X, y = targets(N_ROWS)
    X[:, 1] = np.arange(N_ROWS) < 30
    X[0, 2] = 1e6
    for form in (np.asarray, sparse.csr_array):
        found = regressor_summary(form(X), y)
        assert kinds(found) == {"x1": "few_nonzeros", "x2": "few_nonzeros"}
        assert found.refused[3].detail == "1 rows"
        q = 30 / N_ROWS
        rows = N_ROWS * q * (1 - q) / (1 - 3 * q * (1 - q))
        assert found.refused[2].detail == f"{rows:.3g} rows"
        assert f"{FEWEST_ROWS} are needed" in found.refused[2].reason
        assert "use cov='classical'" in found.refused[2].reason
    assert not regressor_summary(X, y, cov="classical").refused


@pytest.mark.parametrize("cov", ["robust", "classical"])
def test_fewer_rows_than_columns(cov):
    X, y = targets(20, 30)
    found = regressor_summary(X, y, cov=cov)
    assert set(kinds(found).values()) == {"few_rows"}
    assert np.isnan(found.coef).all()
    assert "There are 31 coefficients for 20 rows" in found.refused[0].reason
    with pytest.raises(ValueError, match="no intervals of predictions: There are 31 coefficients"):
        LinearRegressor().fit(X, y).predict_interval(X, found)


@FORMS
def test_a_column_with_few_nonzeros_is_refused_and_still_adjusted_for(form):
    X, y = two_classes(N_ROWS)
    numbers = np.arange(N_ROWS)
    fewest = FEWEST_OF_CLASS["robust"] / min(y.mean(), 1 - y.mean())
    X = np.column_stack([X, numbers < fewest - 2, numbers >= N_ROWS - fewest])
    model = LinearClassifier().fit(form(X), y)
    found = model.summary(form(X), y)
    assert kinds(found) == {"x3": "few_nonzeros"}
    assert f"{fewest:.0f} are needed, so that 10 of them are of the rarer class" in found.refused[4].reason
    assert "Merge a rare level with others" in found.refused[4].reason
    other = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-12, cov_type="HC0")
    assert_within(found.coef, other.params, other.bse, 1e-6)
    given = [0, 1, 2, 3, 5]
    np.testing.assert_allclose(found.std_err[given], other.bse[given] * np.sqrt(N_ROWS / (N_ROWS - 6)), rtol=1e-6)


def test_frequencies_count_as_rows_of_a_column_and_sampling_weights_do_not():
    X, y = two_classes(N_ROWS)
    X = np.column_stack([X, np.arange(N_ROWS) < 10])
    frequency = np.ones(N_ROWS)
    model = LinearClassifier().fit(X, y)
    assert kinds(model.summary(X, y, frequency)) == {"x3": "few_nonzeros"}
    frequency[:10] = 5
    assert not model.summary(X, y, frequency).refused
    assert kinds(model.summary(X, y, frequency, weights="sampling")) == {"x3": "few_nonzeros"}


def test_few_groups():
    X, y = two_classes(N_ROWS)
    found = classifier_summary(X, y, cov="cluster", groups=np.arange(N_ROWS) % (FEWEST_GROUPS - 1))
    assert set(kinds(found).values()) == {"few_groups"}
    assert f"There are {FEWEST_GROUPS - 1} groups; a cluster covariance needs {FEWEST_GROUPS}" in (
        found.refused[0].reason
    )
    assert "Use cov='robust' if rows are independent, or smaller groups" in found.refused[0].reason
    assert np.isfinite(found.coef).all()
    assert not classifier_summary(X, y, cov="cluster", groups=np.arange(N_ROWS) % FEWEST_GROUPS).refused


def test_groups_of_rows_that_are_not_used_do_not_count():
    X, y = two_classes(N_ROWS)
    groups = np.arange(N_ROWS) % FEWEST_GROUPS
    found = LinearClassifier().fit(X, y).summary(X, y, (groups > 0) * 1.0, cov="cluster", groups=groups)
    assert set(kinds(found).values()) == {"few_groups"}


@pytest.mark.parametrize(
    ("loss", "instead"),
    [("hinge", "'logistic' or 'squared_hinge'"), pytest.param("quantile", "'squared' or 'huber'", marks=slow)],
)
def test_losses_with_kinks(loss, instead):
    X, y = two_classes(100) if loss == "hinge" else targets(100)
    model = (LinearClassifier if loss == "hinge" else LinearRegressor)(loss=loss).fit(X, y)
    found = model.summary(X, y)
    assert set(kinds(found).values()) == {"not_smooth"}
    assert f"The slope of the {loss} loss jumps" in found.refused[0].reason
    assert f"Fit with loss={instead}" in found.refused[0].reason


def test_a_class_that_can_be_separated():
    X, y = several_classes(3)
    X[y == 2] += 20.0
    groups = np.arange(y.size) % 50
    rest = y != 2
    for cov in ("robust", "classical", "cluster"):
        options = {"cov": cov, "groups": groups if cov == "cluster" else None}
        found = classifier_summary(X, y, **options)
        assert kinds(found) == {f"2: {name}": "infinite" for name in ("(intercept)", "x0", "x1")}
        separated_pairs = 2 * (y == 2).sum() + rest.sum()
        assert f"separated in {separated_pairs:,} of {2 * y.size:,} pairs" in found.refused[3].reason
        assert "Use the penalised coefficients" in found.refused[3].reason
        own = {"cov": cov, "groups": groups[rest] if cov == "cluster" else None}
        expected = classifier_summary(X[rest], y[rest], **own)
        assert_within(found.coef[:3], expected.coef, expected.std_err, 1e-6)
        # The factor n/(n − k) counts all rows.
        np.testing.assert_allclose(found.std_err[:3], expected.std_err, rtol=0.003)
        assert set(kinds(classifier_summary(X, y, reference=2, **options)).values()) == {"infinite"}


def test_classes_that_are_separated_in_some_rows_only():
    """A rare indicator of one class: its contrasts are infinite, and all others are those of a model without it."""
    X, y = several_classes(3)
    only = (y == 1) & (np.arange(y.size) % 3 == 0)
    found = classifier_summary(np.column_stack([X, only]), y, reference=2, cov="classical")
    assert kinds(found) == {"0: x2": "collinear", "1: x2": "infinite"} or kinds(found) == dict.fromkeys(
        ["0: x2", "1: x2"], "infinite"
    )
    expected = classifier_summary(X[~only], y[~only], reference=2, cov="classical")
    assert_within(np.delete(found.coef, [3, 7]), expected.coef, expected.std_err, 1e-6)
    np.testing.assert_allclose(np.delete(found.std_err, [3, 7]), expected.std_err, rtol=1e-6)


def test_collinear_columns_of_several_classes():
    X, y = several_classes(3, n_features=3)
    both = np.column_stack([X, X[:, 0] - X[:, 1]])
    found = classifier_summary(both, y)
    refused = [f"{label}: {name}" for label in (1, 2) for name in ("x0", "x1", "x3")]
    assert kinds(found) == dict.fromkeys(refused, "collinear")
    expected = classifier_summary(X, y)
    np.testing.assert_allclose(found.std_err[[0, 3, 5, 8]], expected.std_err[[0, 3, 4, 7]], rtol=1e-6)


def test_a_combination_with_a_refused_coefficient_is_not_tested():
    X, y, _ = separated()
    found = classifier_summary(X, y)
    with pytest.raises(ValueError, match=r"the coefficient 'x3' is refused: There is no finite optimum: quasi"):
        found.wald({"x0": 1.0, "x3": -1.0})
    assert found.wald({"x0": 1.0, "x1": -1.0}).estimate == pytest.approx(found.coef[1] - found.coef[2])


@pytest.mark.parametrize("coef", [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
def test_a_fit_without_errors_has_no_standard_errors(coef):
    X, _ = targets(N_ROWS)
    found = regressor_summary(X, X @ coef + 4.0)
    np.testing.assert_allclose(found.coef, [4.0, *coef], atol=1e-12)
    assert set(kinds(found).values()) == {"no_errors"}
    assert np.isnan(found.std_err).all()


def test_targets_far_from_0_keep_their_digits():
    X, y = targets(N_ROWS)
    found, expected = regressor_summary(X, y + 1e9), regressor_summary(X, y)
    np.testing.assert_allclose(found.std_err, expected.std_err, rtol=1e-6)
    assert_within(found.coef[1:], expected.coef[1:], expected.std_err[1:], 1e-6)
    assert found.coef[0] - 1e9 == pytest.approx(expected.coef[0], abs=1e-6)


def test_a_rare_class_does_not_refuse_the_others():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 3)), rng.integers(0, 2, 2000)
    y[:6] = 2
    found = classifier_summary(X, y)
    assert kinds(found) == {f"2: {name}": "few_rows" for name in ("(intercept)", "x0", "x1", "x2")}
    assert "4 coefficients of class 2" in found.refused[4].reason
