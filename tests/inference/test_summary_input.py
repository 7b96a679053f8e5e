"""Input of summaries: errors name what is wrong, and every form of rows is accepted."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from inference.summary_problems import (
    assert_within,
    classifier_summary,
    groups_of,
    regressor_summary,
    several_classes,
    targets,
    two_classes,
)
from sgdone import LinearClassifier

NAMES = ["age", "bmi", "dose"]


@pytest.fixture(scope="module")
def framed():
    """A model of a data frame, with its rows."""
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=NAMES)
    return LinearClassifier().fit(frame, y), frame, y


@pytest.fixture(scope="module")
def plain():
    """A model of an array, with its rows."""
    X, y = two_classes()
    return LinearClassifier().fit(X, y), X, y


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda frame: frame[["age", "bmi"]], "yet now missing:\n- dose"),
        (lambda frame: frame.rename(columns={"bmi": "bim"}), "unseen at fit time:\n- bim"),
        (lambda frame: frame[["bmi", "age", "dose"]], "must be in the same order"),
    ],
    ids=["missing", "renamed", "reordered"],
)
def test_other_columns_than_those_of_the_fit(other, message, framed, plain):
    model, frame, y = framed
    with pytest.raises(ValueError, match=message):
        model.summary(other(frame), y)
    with pytest.raises(ValueError, match="X has 2 features, but LinearClassifier is expecting 3"):
        plain[0].summary(frame.to_numpy()[:, :2], y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y[:-1], r"inconsistent numbers of samples: \[600, 599\]"),
        (lambda y: np.where(np.arange(y.size) == 3, 7, y), "y holds the label 7, which is not one of the classes"),
        (lambda y: np.zeros_like(y), "y has no row of the class 1"),
    ],
    ids=["length", "unknown label", "missing class"],
)
def test_another_y_than_that_of_the_fit(change, message, plain):
    model, X, y = plain
    with pytest.raises(ValueError, match=message):
        model.summary(X, change(y))


def test_a_class_whose_rows_have_weight_0_is_missing(plain):
    model, X, y = plain
    with pytest.raises(ValueError, match="y has no row of the class 0"):
        model.summary(X, y, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cov": "cluster", "groups": [1, 2]}, r"groups has shape \(2,\) for 600 rows of X"),
        ({"cov": "cluster", "groups": np.zeros((600, 1))}, r"groups has shape \(600, 1\)"),
        ({"cov": "cluster", "groups": [None, *range(599)]}, "groups contains NaN: the label of row 0"),
        ({"groups": np.zeros(600)}, "groups are for cov='cluster'; cov is 'robust'"),
        ({"cov": "cluster"}, "cov='cluster' needs groups"),
        ({"level": 0}, "level=0 is not a number between 0 and 1"),
        ({"level": 1}, "level=1 is not"),
        ({"level": np.nan}, "level=nan is not"),
        ({"level": "a"}, "level='a' is not"),
        ({"level": True}, "level=True is not"),
        ({"cov": "HC1"}, "cov='HC1' is not one of 'classical', 'robust', 'cluster'"),
        ({"weights": "exposure"}, "weights='exposure' is not one of 'frequency', 'sampling'"),
        ({"cov": "classical", "weights": "sampling"}, "use cov='robust' with sampling weights"),
        ({"reference": 5}, r"reference=5 is not one of the classes \[0, 1\]"),
        ({"columns": ["bim"]}, r"X has no column 'bim'. Did you mean 'bmi'\?"),
        ({"columns": [3]}, "column 3 does not exist: X has 3 columns"),
        ({"columns": [True]}, "columns holds True"),
        ({"columns": []}, "columns is empty"),
        ({"columns": ["age", 0]}, "columns names a feature twice"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries for 600 rows"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_bad_options(options, message, framed):
    model, frame, y = framed
    with pytest.raises(ValueError, match=message):
        model.summary(frame, y, **options)


def test_options_that_a_model_does_not_have():
    X, y = targets()
    with pytest.raises(ValueError, match="reference=1: a regression has no classes"):
        regressor_summary(X, y, reference=1)
    X, y = several_classes()
    model = LinearClassifier(loss="squared_hinge").fit(X, y)
    with pytest.raises(ValueError, match="each class was trained against the rest: there is no reference"):
        model.summary(X, y, reference=1)
    with pytest.raises(ValueError, match="cov='classical' needs a likelihood, which the squared_hinge loss"):
        model.summary(X, y, cov="classical")
    with pytest.raises(ValueError, match="intervals need probabilities of one model"):
        model.predict_interval(X, model.summary(X, y))


def test_a_model_that_is_not_fitted(plain):
    model, X, y = plain
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LinearClassifier().summary(X, y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LinearClassifier().predict_interval(X, model.summary(X, y))


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["NaN", "infinity"])
def test_values_that_are_not_finite_are_named(value, framed, plain):
    model, frame, y = framed
    bad = frame.copy()
    bad.iloc[4, 1] = value
    kind = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"row 4 of X holds {kind} in column 1"):
        plain[0].summary(sparse.csr_array(bad.to_numpy()), y)
    if kind == "infinity":
        with pytest.raises(ValueError, match="row 4 of X holds infinity in column 'bmi'"):
            model.summary(bad, y)
        with pytest.raises(ValueError, match="row 4 of X holds infinity in column 'bmi'"):
            model.predict_interval(bad, model.summary(frame, y))
    else:
        with pytest.warns(UserWarning, match="missing values in columns that had none in fit: 'bmi'"):
            model.summary(bad, y)


def test_intervals_of_a_summary_that_does_not_fit(plain):
    model, X, y = plain
    with pytest.raises(TypeError, match=r"what model.summary\(X, y\) returns; got ndarray"):
        model.predict_interval(X, X)
    with pytest.raises(ValueError, match="the summary is of 2 features, but X has 3"):
        model.predict_interval(X, classifier_summary(X[:, :2], y))
    with pytest.raises(ValueError, match="the summary is of another kind of model"):
        model.predict_interval(X, regressor_summary(X, X[:, 0] ** 2))
    with pytest.raises(ValueError, match="level=95 is not a number between 0 and 1"):
        model.predict_interval(X, model.summary(X, y), level=95)
    with pytest.raises(ValueError, match=r"classes .* of the summary are not those of the model"):
        model.predict_interval(X, classifier_summary(X, np.where(y, "yes", "no")))


def test_the_model_and_the_rows_are_not_changed(plain):
    _, X, y = plain
    X, y = X.copy(), y.copy()
    model = LinearClassifier().fit(X, y)
    before = model.coef_.tobytes(), model.intercept_.tobytes(), X.tobytes(), y.tobytes()
    X.flags.writeable = y.flags.writeable = False
    found = model.summary(X, y)
    assert before == (model.coef_.tobytes(), model.intercept_.tobytes(), X.tobytes(), y.tobytes())
    apart = np.abs(found.coef - np.append(model.intercept_, model.coef_)) / found.std_err
    assert f"differ by up to {apart.max():.2g} standard errors" in found.head.difference


def same(found, expected, rtol):
    assert_within(found.coef, expected.coef, expected.std_err, rtol)
    np.testing.assert_allclose(found.std_err, expected.std_err, rtol=rtol)
    np.testing.assert_allclose(found.p, expected.p, rtol=100 * rtol)


@pytest.mark.parametrize(
    "form",
    [lambda X: X.astype(np.float32), np.asfortranarray, sparse.csc_array, sparse.csr_matrix],
    ids=["float32", "columns first", "csc", "csr matrix"],
)
def test_storages(form, plain):
    _, X, y = plain
    X = X.astype(np.float32).astype(np.float64)
    same(classifier_summary(form(X), y), classifier_summary(X, y), 1e-9)


def test_sparse_rows_with_long_indices(plain):
    model, X, y = plain
    short = sparse.csr_array(X)
    long = (short.data, short.indices.astype(np.int64), short.indptr.astype(np.int64))
    found = model.summary(sparse.csr_array(long, shape=short.shape), y)
    assert found.std_err.tobytes() == model.summary(short, y).std_err.tobytes()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_scales_near_the_ends_of_the_numbers(scale, form):
    X, y = two_classes()
    found, expected = classifier_summary(form(X * scale), y), classifier_summary(form(X), y)
    np.testing.assert_allclose(found.z, expected.z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.std_err[1:] * scale, expected.std_err[1:], rtol=1e-9)
    X, y = targets()
    for given in (regressor_summary(form(X * scale), y), regressor_summary(form(X), y * max(scale, 1e-140))):
        np.testing.assert_allclose(given.z, regressor_summary(form(X), y).z, rtol=1e-9, atol=1e-9)


def test_intervals_of_columns_near_the_ends_of_the_numbers():
    X, y = two_classes()
    scale = np.array([1e150, 1.0, 1e-150])
    model, plain_model = LinearClassifier().fit(X * scale, y), LinearClassifier().fit(X, y)
    found = model.predict_interval(X[:9] * scale, model.summary(X * scale, y))
    expected = plain_model.predict_interval(X[:9], plain_model.summary(X, y))
    np.testing.assert_allclose(np.stack(found), np.stack(expected), rtol=1e-7)


def test_one_feature():
    X, y = targets(n_features=1)
    found = regressor_summary(X, y, cov="classical")
    apart = X[:, 0] - X[:, 0].mean()
    slope = apart @ y / (apart @ apart)
    left = y - y.mean() - slope * apart
    assert found.coef[1] == pytest.approx(slope, rel=1e-10)
    assert found.std_err[1] == pytest.approx(np.sqrt(left @ left / 398 / (apart @ apart)), rel=1e-10)


@pytest.mark.parametrize("options", [{}, {"cov": "cluster"}, {"weights": "sampling"}], ids=str)
def test_rows_of_weight_0_are_not_there(options, plain):
    model, X, y = plain
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    used = weight > 0
    groups = groups_of(len(y)) if "cov" in options else None
    found = model.summary(X, y, weight, groups=groups, **options)
    part = model.summary(X[used], y[used], weight[used], groups=None if groups is None else groups[used], **options)
    same(found, part, 1e-12)
    assert found.head.rows == part.head.rows


def test_weights_of_classes_are_sampling_weights(plain):
    _, X, y = plain
    model = LinearClassifier(class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    weight = np.where(y == 0, 2.0, 1.0)
    expected = LinearClassifier().fit(X, y).summary(X, y, weight, weights="sampling")
    same(model.summary(X, y, weights="sampling"), expected, 1e-9)
    with pytest.raises(ValueError, match=r"has a class_weight, .* use weights='sampling'"):
        model.summary(X, y)


@pytest.mark.parametrize("columns", [["dose", "age"], [2, 0], np.array([-1, 0]), ("dose", 0)], ids=str)
def test_some_columns_are_as_in_the_whole(columns, framed):
    model, frame, y = framed
    whole, found = model.summary(frame, y), model.summary(frame, y, columns=columns)
    assert found.names == ["(intercept)", "dose", "age"]
    for name in ("coef", "std_err", "z", "p", "low", "high"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)[[0, 3, 1]])
    assert found.wald(["dose", "age"]).statistic == pytest.approx(whole.wald(["dose", "age"]).statistic, rel=1e-10)
    assert np.array_equal(model.predict_interval(frame, found).low, model.predict_interval(frame, whole).low)


@pytest.mark.parametrize("column", ["bmi", 1, np.int64(1)])
def test_one_column_needs_no_list(column, framed):
    model, frame, y = framed
    assert model.summary(frame, y, columns=column).features == ["(intercept)", "bmi"]


def test_the_frame_of_two_classes(framed):
    model, frame, y = framed
    summary = model.summary(frame, y)
    found = summary.to_frame()
    assert found.columns.tolist() == ["coef", "std_err", "z", "p", "low", "high"]
    assert found.index.tolist() == ["(intercept)", *NAMES]
    assert found.loc["bmi"].tolist() == [getattr(summary, name)[2] for name in found.columns]


def test_the_frame_of_several_classes():
    X, y = several_classes()
    summary = classifier_summary(X, np.array(["a", "b", "c"])[y], reference="b")
    found = summary.to_frame()
    assert isinstance(found.index, pd.MultiIndex)
    assert found.index.tolist() == [(label, name) for label in "ac" for name in ("(intercept)", "x0", "x1")]
    assert found.loc[("c", "x0"), "coef"] == summary.coef[4]
    assert summary.names[4] == "c: x0"
