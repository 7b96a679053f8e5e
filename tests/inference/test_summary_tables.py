"""Summaries of tables: contrasts with a reference level, and one test a column."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from inference.summary_problems import assert_within, classifier_summary, kinds, regressor_summary
from sgdone import LinearClassifier, LinearRegressor, TableEncoder
from sgdone.cli.summary import _columns
from sgdone.inference import estimate
from sgdone.inference.coefficients import SummarisedModel
from sgdone.inference.reference_coding import reference_coding
from sgdone.rows.blocks import rows_of

RELATIVE = 1e-6
EXACT = {"disp": 0, "method": "newton", "tol": 1e-14, "maxiter": 100}
JOBS = ["Craft", "Office", "Sales", "Tech"]


def table(n_rows=900, seed=0):
    """A number, a category with an order of levels that is not that of their counts, and a second category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n_rows),
            "job": rng.choice(JOBS, n_rows, p=[0.2, 0.4, 0.25, 0.15]),
            "sex": rng.choice(["f", "m"], n_rows, p=[0.45, 0.55]),
        }
    )
    scores = 0.05 * (frame["age"] - 40) + frame["job"].map(dict(zip(JOBS, [0.5, 0, -0.4, 0.2], strict=True)))
    return frame, scores.to_numpy(), rng


def two_classes(**options):
    frame, scores, rng = table(**options)
    return frame, (rng.random(len(frame)) < 1.0 / (1.0 + np.exp(-scores))).astype(int)


def targets(**options):
    frame, scores, rng = table(**options)
    return frame, scores + rng.standard_normal(len(frame)) * (0.5 + frame["sex"].eq("f"))


def formula_name(feature):
    """The name that patsy gives a feature."""
    if feature == "(intercept)":
        return "Intercept"
    column, _, level = feature.partition("=")
    return f"C({column}, Treatment({REFERENCE[column]!r}))[T.{level}]" if level else column


REFERENCE = {"job": "Office", "sex": "m"}
FORMULA = "y ~ age + C(job, Treatment('Office')) + C(sex, Treatment('m'))"


def agree(found, other, factor=1.0):
    """Coefficients and standard errors are those of a fit with a formula."""
    names = [formula_name(feature) for feature in found.features]
    assert_within(found.coef, other.params[names], other.bse[names], RELATIVE)
    np.testing.assert_allclose(found.std_err, factor * other.bse[names], rtol=RELATIVE)
    assert len(names) == other.params.size
    assert not found.refused


@pytest.mark.parametrize("cov", ["classical", "robust"])
def test_two_classes_are_as_with_a_formula(cov):
    frame, y = two_classes()
    found = classifier_summary(frame, y, cov=cov)
    other = smf.logit(FORMULA, frame.assign(y=y)).fit(
        cov_type={"classical": "nonrobust", "robust": "HC0"}[cov], **EXACT
    )
    factor = np.sqrt(900 / (900 - 6)) if cov == "robust" else 1.0
    agree(found, other, factor)
    assert found.references == REFERENCE
    terms = other.wald_test_terms(scalar=True).table
    for column, test in found.column_tests.items():
        expected = terms.loc[f"C({column}, Treatment({REFERENCE[column]!r}))"]
        assert test.test.statistic == pytest.approx(expected["statistic"] / factor**2, rel=RELATIVE)
        assert (test.df, test.levels, test.levels_tested) == (expected["df_constraint"], test.df + 1, test.df + 1)
        assert found.wald(column).p == test.p
    assert found.column_tests["sex"].statistic == pytest.approx(found.z[found.features.index("sex=f")] ** 2)


@pytest.mark.parametrize("cov", ["classical", "robust"])
def test_least_squares_are_as_with_a_formula(cov):
    frame, y = targets()
    found = regressor_summary(frame, y, cov=cov)
    kind = {"classical": {}, "robust": {"cov_type": "HC1", "use_t": False}}[cov]
    other = smf.ols(FORMULA, frame.assign(y=y)).fit(**kind)
    agree(found, other)
    expected = other.wald_test_terms(scalar=True).table.loc["C(job, Treatment('Office'))"]
    test = found.column_tests_frame().loc["job"]
    assert (test["statistic"], test["p"]) == pytest.approx((expected["statistic"], expected["pvalue"]), rel=RELATIVE)
    assert (test["reference"], test["levels"], test["df"], test["reason"]) == ("Office", 4, 3, "")
    assert found.to_frame()["reference"].to_dict() == {
        feature: REFERENCE.get(feature.partition("=")[0], "") if "=" in feature else "" for feature in found.features
    }


@pytest.mark.parametrize("cov", ["classical", "robust"])
def test_several_classes_are_tested_together(cov):
    frame, scores, rng = table()
    y = (np.column_stack([np.zeros(900), scores, 0.5 * scores]) + rng.gumbel(size=(900, 3))).argmax(axis=1)
    found = classifier_summary(frame, y, cov=cov)
    columns = [frame["age"], *(frame["job"].eq(job) for job in ("Craft", "Sales", "Tech")), frame["sex"].eq("f")]
    X = sm.add_constant(np.column_stack(columns).astype(float))
    other = sm.MNLogit(y, X).fit(cov_type={"classical": "nonrobust", "robust": "HC0"}[cov], **EXACT)
    factor = 1.0 if cov == "classical" else 900 / (900 - 12)
    assert found.features[:6] == ["(intercept)", "age", "job=Craft", "job=Sales", "job=Tech", "sex=f"]
    covariance = factor * other.cov_params()
    errors = np.sqrt(np.diag(covariance))
    assert_within(found.coef, other.params.ravel(order="F"), errors, RELATIVE)
    np.testing.assert_allclose(found.std_err, errors, rtol=RELATIVE)
    own = [2, 3, 4, 8, 9, 10]
    values = other.params.ravel(order="F")[own]
    test = found.column_tests["job"]
    assert test.statistic == pytest.approx(values @ np.linalg.solve(covariance[np.ix_(own, own)], values), rel=RELATIVE)
    assert (test.df, test.levels_tested) == (6, 4)


def test_months_weekdays_and_missing_dates_are_as_with_a_formula():
    frame, y = targets()
    rng = np.random.default_rng(1)
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, 900), unit="D")
    gone = rng.random(900) < 0.1
    frame["day"] = pd.Series(dates).mask(gone)
    found = regressor_summary(frame[["age", "day"]], y)
    month, weekday = frame["day"].dt.month.fillna(0).astype(int), frame["day"].dt.day_of_week.fillna(-1).astype(int)
    days = (frame["day"] - pd.Timestamp("1970-01-01")).dt.days
    data = {"y": y, "age": frame["age"], "gone": gone.astype(float), "days": days.fillna(days.mean())}
    months = [m for m in (1, 2, 3) if str(m) != found.references["day.month"]]
    names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    weekdays = [d for d in range(7) if names[d] != found.references["day.weekday"]]
    data |= {f"m{m}": month.eq(m).astype(float) for m in months} | {
        f"w{d}": weekday.eq(d).astype(float) for d in weekdays
    }
    formula = "y ~ age + days + " + " + ".join([f"m{m}" for m in months] + [f"w{d}" for d in weekdays]) + " + gone"
    other = smf.ols(formula, pd.DataFrame(data)).fit(cov_type="HC1", use_t=False)
    assert_within(found.coef, other.params, other.bse, RELATIVE)
    np.testing.assert_allclose(found.std_err, other.bse, rtol=RELATIVE)
    assert found.features[-1] == "day missing"
    expected = other.wald_test(", ".join(f"w{d} = 0" for d in weekdays), scalar=True)
    assert found.column_tests["day.weekday"].statistic == pytest.approx(float(expected.statistic), rel=RELATIVE)
    # The column stands for the trend, all parts and the mark of missing dates.
    assert found.wald("day").df == 1 + 2 + 6 + 1
    assert regressor_summary(frame[["age", "day"]], y, columns=["day"]).features == ["(intercept)", *found.features[2:]]


def test_a_weight_is_the_row_repeated():
    frame, y = two_classes()
    weight = np.random.default_rng(2).integers(0, 3, 900)
    weight[frame["job"].eq("Office")] = np.minimum(weight[frame["job"].eq("Office")], 1)
    repeated = frame.loc[np.repeat(frame.index, weight)].reset_index(drop=True)
    expected = classifier_summary(repeated, np.repeat(y, weight))
    found = LinearClassifier().fit(frame, y, sample_weight=weight).summary(frame, y, weight)
    assert found.references == expected.references == {"job": repeated["job"].mode()[0], "sex": "m"}
    assert_within(found.coef, expected.coef, expected.std_err, 1e-6)
    np.testing.assert_allclose(found.std_err, expected.std_err, rtol=1e-6)


def test_the_order_of_rows_does_not_choose_the_reference():
    """All levels have the same weight, but for rounding in its sum."""
    frame = pd.DataFrame({"c": np.repeat(list("abc"), 20), "x": np.arange(60.0) % 7})
    y, weight = np.arange(60) % 2, np.tile([0.1, 0.2, 0.3, 0.7], 15)
    model = LinearClassifier(random_state=0).fit(frame, y)
    for seed in range(10):
        rows = np.random.default_rng(seed).permutation(60)
        found = model.summary(frame.iloc[rows], y[rows], weight[rows], weights="sampling")
        assert found.column_tests["c"].reference == "a"


def test_without_an_intercept_the_first_category_has_all_its_levels():
    frame, y = targets()
    found = regressor_summary(frame, y, cov="classical", fit_intercept=False)
    other = smf.ols("y ~ 0 + C(job) + C(sex, Treatment('m')) + age", frame.assign(y=y)).fit()
    names = ["age", *(f"C(job)[{job}]" for job in JOBS), "C(sex, Treatment('m'))[T.f]"]
    assert_within(found.coef, other.params[names], other.bse[names], RELATIVE)
    np.testing.assert_allclose(found.std_err, other.bse[names], rtol=RELATIVE)
    assert found.references == {"sex": "m"}
    # Whether the levels differ is the same question with an intercept.
    with_one = regressor_summary(frame, y, cov="classical").column_tests["job"]
    test = found.column_tests["job"]
    assert (test.df, test.reference) == (3, None)
    assert test.statistic == pytest.approx(with_one.statistic, rel=RELATIVE)


def test_what_happens_to_a_column_that_is_determined_by_others():
    frame, y = targets()
    frame["points"] = frame["job"].map({"Craft": 1.0, "Office": 5.0, "Sales": 2.0, "Tech": 2.0})
    frame["manual"] = frame["job"].map({"Craft": "yes", "Office": "no", "Sales": "no", "Tech": "no"})
    gone = np.arange(900) % 7 == 0
    frame["a"], frame["b"] = (np.where(gone, np.nan, np.random.default_rng(k).random(900)) for k in (3, 4))
    frame["tool"] = np.where(
        frame["job"].isin(["Craft", "Tech"]), "none", np.random.default_rng(5).choice(["x", "z"], 900)
    )
    found = regressor_summary(frame, y)
    assert found.left_out == {
        "points": "determined by job",
        "manual": "determined by job",
        "b missing": "the same rows as a missing",
        "tool=none": "the same rows as job=Craft, job=Tech together",
    }
    assert not found.refused
    plain = frame[["age", "job", "sex", "a"]].assign(b=frame["b"].fillna(frame["b"].mean()), z=frame["tool"].eq("z"))
    without = regressor_summary(plain, y)
    assert found.head.log_likelihood == pytest.approx(without.head.log_likelihood, rel=1e-10)
    assert "b missing (the same rows as a missing)" in " ".join(str(found).split())
    tests = found.column_tests
    assert list(tests) == ["job", "sex", "tool"]
    assert (tests["tool"].levels, tests["tool"].levels_tested, tests["tool"].df) == (3, 2, 1)
    for name, message in (
        ("points", "determined by job"),
        ("manual", "determined by job"),
        ("tool=none", "the same rows as job=Craft"),
        ("job=Office", "'job=Office' is the reference level, which the other levels of job are compared with"),
    ):
        with pytest.raises(ValueError, match=message):
            regressor_summary(frame, y, columns=[name])
    with pytest.raises(ValueError, match="'manual' is left out of the summary: determined by job"):
        found.wald("manual")
    # Intervals of predictions are the same, and missing where a row contradicts what determines a column.
    model = LinearRegressor().fit(frame, y)
    other = LinearRegressor().fit(plain, y)
    rows = model.predict_interval(frame.iloc[:9], found)
    expected = other.predict_interval(plain.iloc[:9], without)
    assert_within(np.stack(rows), np.stack(expected), expected.high - expected.low, 1e-7)
    changed = frame.iloc[[1, 1, 1, 1]].assign(points=[frame["points"][1], 77.0, frame["points"][1], frame["points"][1]])
    changed.iloc[2, changed.columns.get_loc("b")] = np.nan
    changed.iloc[3, changed.columns.get_loc("job")] = "Astronaut"
    assert np.isnan(model.predict_interval(changed, found).estimate).tolist() == [False, True, True, True]


def test_levels_that_rows_of_the_summary_lack_and_levels_that_the_fit_lacked():
    frame, y = targets()
    frame.loc[5, "job"] = "Pilot"
    model = LinearRegressor().fit(frame[:450], y[:450])
    rows, labels = frame[450:].copy(), y[450:]
    few = model.summary(rows, labels)
    assert few.left_out == {"job=Pilot": "no rows"}
    assert (few.column_tests["job"].levels, few.column_tests["job"].df) == (4, 3)
    assert np.isnan(model.predict_interval(frame[5:7], few).low).tolist() == [True, False]
    rows.loc[rows.index[:100], "job"] = "Astronaut"
    other = model.summary(rows, labels)
    assert other.features[-1] == "job=(other)"
    fresh, order = regressor_summary(rows, labels), [0, 1, 3, 4, 5, 6, 2]
    assert_within(other.coef, fresh.coef[order], fresh.std_err[order], 1e-6)
    assert other.column_tests["job"].df == 4
    with pytest.raises(ValueError, match="has no coefficients in the summary: the rows have one level only"):
        model.summary(rows[rows["sex"].eq("f")], labels[rows["sex"].eq("f")], columns=["sex"])
    one = model.summary(rows[rows["sex"].eq("f")], labels[rows["sex"].eq("f")]).column_tests["sex"]
    assert (one.test, one.levels, one.reason) == (None, 1, "the rows have one level only")
    assert np.isnan(one.p)


def test_infinite_levels_are_not_covered_by_the_test():
    frame, y = two_classes()
    y[frame["job"].eq("Office")] = 1
    found = classifier_summary(frame, y)
    # The most frequent level has one class only: differences from it would all be infinite.
    assert found.references["job"] == frame["job"].value_counts().index[1]
    assert kinds(found) == {"job=Office": "infinite"}
    assert found.coef[found.features.index("job=Office")] == np.inf
    test = found.column_tests["job"]
    assert (test.levels, test.levels_tested, test.df) == (4, 3, 2)
    assert test.reason.startswith("There is no finite optimum")
    assert test.p == found.wald(["job=Craft", "job=Tech"]).p
    assert "3 of 4" in str(found)
    with pytest.raises(ValueError, match="'job=Office' is refused"):
        found.wald("job")


def test_a_column_whose_levels_are_all_refused_has_no_test():
    frame, y = targets(n_rows=60)
    frame["code"] = np.where(np.arange(60) < 54, "usual", np.where(np.arange(60) < 57, "a", "b"))
    found = regressor_summary(frame[["age", "code"]], y)
    test = found.column_tests["code"]
    assert test.test is None
    assert test.reason.startswith("In effect the column varies in too few rows")
    text = " ".join(str(found).split())
    assert "There is no test of code: the coefficients are refused [1]." in text
    assert text.count("In effect the column varies") == 1


def test_a_singular_covariance_has_no_test():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": [f"k{k}" for k in rng.integers(0, 40, 4000)]})
    found = regressor_summary(frame, rng.random(4000), cov="cluster", groups=rng.integers(0, 32, 4000))
    assert not found.refused
    assert "no more groups of rows than levels" in found.column_tests["code"].reason


@pytest.mark.parametrize("cov", ["classical", "robust"])
def test_many_coefficients_have_exact_tests_for_chosen_columns_only(cov, monkeypatch):
    frame, y = two_classes()
    exact = classifier_summary(frame, y, cov=cov).column_tests["job"]
    monkeypatch.setattr(estimate, "MOST_FACTORISED", 1)
    test = classifier_summary(frame, y, cov=cov).column_tests["job"]
    assert (test.test, test.levels) == (None, 4)
    assert "random numbers; name the column in columns for an exact test" in test.reason
    chosen = classifier_summary(frame, y, cov=cov, columns=["job"])
    assert chosen.features == ["(intercept)", "job=Craft", "job=Sales", "job=Tech"]
    assert list(chosen.column_tests) == ["job"]
    assert chosen.column_tests["job"].statistic == pytest.approx(exact.statistic, rel=0.02)


def test_columns_may_be_named_beside_their_features():
    frame, y = targets()
    frame.loc[::9, "age"] = np.nan
    assert regressor_summary(frame, y, columns=["age"]).features == ["(intercept)", "age", "age missing"]
    both = regressor_summary(frame, y, columns=["job=Tech", "job"])
    assert both.features[1:] == ["job=Tech", "job=Craft", "job=Sales"]
    some = regressor_summary(frame, y, columns=["sex", "job=Tech"])
    assert list(some.column_tests) == ["sex"]
    assert regressor_summary(frame, y, columns=[0]).features == ["(intercept)", "age"]
    with pytest.raises(ValueError, match=r"X has no column 'jbo'. Did you mean 'job'\?"):
        regressor_summary(frame, y, columns=["jbo"])
    with pytest.raises(ValueError, match="columns names a feature twice"):
        regressor_summary(frame, y, columns=["job", "job"])
    model = LinearRegressor().fit(frame, y)
    assert _columns(["job, age missing", "(intercept)"], model) == ["job", "age missing", "(intercept)"]


def test_the_tests_are_printed():
    frame, y = two_classes()
    frame["job"] = frame["job"].replace("Office", "<b>Office</b>")
    found = classifier_summary(frame, y)
    lines = str(found).splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("Wald test"))
    assert lines[header].split() == ["Wald", "test", "reference", "levels", "df", "χ²", "P>χ²"]
    assert lines[header + 2].split()[:4] == ["job", "<b>Office</b>", "4", "3"]
    assert {len(line) for line in lines[header - 1 : header + 4]} == {len(lines[1])}
    html = found._repr_html_()
    assert '<th scope="row">job</th><td class="sgdone-text">&lt;b&gt;Office&lt;/b&gt;</td><td>4</td><td>3</td>' in html
    assert "P&gt;F" in regressor_summary(*targets(), cov="classical")._repr_html_()


def random_table(rng, n_rows=80):
    """Categories that are partly unions of each other's levels, values missing in the same rows, and dates."""
    a = rng.integers(0, 5, n_rows)
    c = np.where(a < 2, 9, rng.integers(0, 3, n_rows))  # one level of c is a union of two of a
    a = np.where(c == 9, a, 4)  # ... and one level of a is a union of those of c
    gone = rng.random(n_rows) < 0.2
    frame = pd.DataFrame(
        {
            "x": np.where(gone, np.nan, rng.standard_normal(n_rows)),
            "a": a.astype(str),
            "day": pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 80, n_rows), unit="D")),
            "c": c.astype(str),
            "free": rng.choice(list("uvw"), n_rows),
            "part": (a // 2).astype(str),
            "some": np.where(a == 0, "u", rng.choice(["u", "v"], n_rows)),  # level u has all rows of one level of a
            "number": a**2.0,
        }
    )
    frame.loc[:9, "day"] = pd.Timestamp("2020-07-01")  # a month that the fit lacks is not missing
    frame.loc[gone, "day"] = pd.NaT
    return frame[rng.permutation(frame.columns)]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_coding_loses_nothing(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    frame = random_table(rng)
    encoder = TableEncoder().fit(frame[10:])
    weight = np.where(np.arange(80) < 70, 1.0, 0.0)
    rows, names = rows_of(encoder.encode(frame)), list(encoder.get_feature_names_out())
    labels = rng.integers(0, 2, 80)
    coding = reference_coding(encoder.column_features(), names, rows, labels, weight, fit_intercept=fit_intercept)
    used, coded = weight > 0, coding.rows(rows)
    constant = np.ones((70, 1)) if fit_intercept else np.zeros((70, 0))
    before, after = (np.hstack([constant, X.toarray()[used]]) for X in (rows, coded))
    rank = np.linalg.matrix_rank(before)
    assert np.linalg.matrix_rank(after) == rank
    assert np.linalg.matrix_rank(np.hstack([before, after])) == rank
    model = SummarisedModel(rng.standard_normal((2, len(names))), rng.standard_normal(2), names, None, 0, 0.0, "")
    if not fit_intercept:
        model.intercept[:] = 0.0
    same = coding.model(model)
    np.testing.assert_allclose(
        (coded @ same.coef.T + same.intercept)[used], (rows @ model.coef.T + model.intercept)[used], atol=1e-12
    )
    assert not coding.is_unknown(rows)[used].any()
    assert len(coding.names) == coded.shape[1] == same.coef.shape[1]


def test_columns_that_fit_left_out_are_named_with_the_reason():
    frame, y = targets()
    frame["region"] = "North"
    found = regressor_summary(frame, y)
    assert found.left_out == {"region": "constant"}
    assert "Left out: region (constant)." in str(found)
    with pytest.raises(ValueError, match="'region' is left out of the summary: constant"):
        found.wald("region")
    with pytest.raises(ValueError, match="column 'region' has no coefficients in the summary: constant"):
        regressor_summary(frame, y, columns=["region"])
