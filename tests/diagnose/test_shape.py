"""Summary of a data set: columns, rank, missing values, classes, advice."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sgdone.diagnose import columns as data_columns
from sgdone.diagnose import shape


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def overlapping(rng, n=60, d=4):
    """Rows of two overlapping classes."""
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + 3 * rng.standard_normal(n) > 0).astype(int)


def said(found, name):
    return dict(found.facts())[name]


def test_valid_data_need_no_advice(rng):
    X, y = overlapping(rng)
    found = shape(X, y)
    assert (found.rows, found.features, found.complete_rows, found.task) == (60, 4, 60, "classification")
    assert found.columns.nonzeros == 240
    assert (found.rank.value, found.rank.columns) == (5, 5)
    assert found.separation.kind == "none"
    assert list(found.checks) == [1]
    assert found.checks[1].holds
    assert found.advice == []
    assert str(found).endswith("No problems were found.")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zero_constant_and_duplicate_columns(rng, form, dtype):
    X = rng.integers(-3, 4, (50, 9)).astype(dtype)
    X[:, 2] = 0.0
    X[:, 4], X[:, 7] = X[:, 1], X[:, 1]
    X[:, 5] = 2.5
    X[:, 6] = -X[:, 0]  # dependent, but no duplicate
    X[:, 8] = -2.5
    found = shape(form(X), rng.integers(0, 2, 50))
    assert found.columns.zero.tolist() == [2]
    assert found.columns.constant.tolist() == [5, 8]
    assert found.columns.duplicates == [(1, 4, 7)]
    assert found.columns.nonzeros == np.count_nonzero(X)
    assert found.rank.value == np.linalg.matrix_rank(np.column_stack([np.ones(50), X])) == 4
    assert found.rank.dependent == (6,)
    assert said(found, "duplicate columns") == "x1 = x4 = x7"
    advice = " ".join(found.advice)
    for part in (
        "Drop x2: the column is 0 in every row.",
        "Drop x5 and x8: the columns are constant",
        "Drop x4 and x7: duplicates",
        "Drop x6: a linear",
    ):
        assert part in advice


def test_negative_zero_is_zero():
    X = np.array([[0.0, -0.0, 1.0, 1.0], [-0.0, 0.0, 0.0, -0.0], [0.0, 0.0, 2.0, 2.0]])
    found = shape(X, [0, 1, 0])
    assert found.columns.zero.tolist() == [0, 1]
    assert found.columns.duplicates == [(2, 3)]


def test_columns_are_compared_value_by_value_where_their_hashes_collide():
    X = np.array([[1.0, 2.0, 1.0, 2.0, 5.0], [3.0, 4.0, 3.0, 4.0, 5.0]])
    same = np.zeros(5, dtype=np.uint64)
    assert data_columns.identical_columns(X, np.arange(5), same) == [(0, 2), (1, 3)]
    assert data_columns.identical_columns(sparse.csc_array(X), np.arange(5), same) == [(0, 2), (1, 3)]


def test_hashes_of_columns_do_not_depend_on_blocks_or_storage(rng, monkeypatch):
    X = rng.integers(0, 3, (40, 6)).astype(float)
    whole = data_columns.column_hashes(X)
    monkeypatch.setattr(data_columns, "BLOCK", 13)
    assert np.array_equal(whole, data_columns.column_hashes(X))
    assert np.array_equal(whole, data_columns.column_hashes(sparse.csc_array(X)))
    assert np.unique(whole).size == 6


def test_without_an_intercept_one_constant_column_may_stay(rng):
    X, y = overlapping(rng)
    X[:, 1] = 1.0
    found = shape(X, y, fit_intercept=False)
    assert (found.rank.value, found.rank.columns) == (4, 4)
    assert not found.advice
    X[:, 2] = 3.0
    found = shape(X, y, fit_intercept=False)
    assert found.rank.value == 3
    assert found.advice == ["Drop x2: the column is constant, like x1, which acts as an intercept."]


@pytest.mark.parametrize("deficient", [0, 1, 3])
@pytest.mark.parametrize("shape_of_matrix", [(300, 12), (12, 300), (15, 15)])
@pytest.mark.parametrize("way", ["QR", "inner products"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rank_by_every_way(rng, monkeypatch, deficient, shape_of_matrix, way, form):
    n, d = shape_of_matrix
    inner = min(n, d) - deficient
    X = rng.standard_normal((n, inner)) @ rng.standard_normal((inner, d))
    X *= np.logspace(-6, 6, d)
    if way == "inner products":
        monkeypatch.setattr(data_columns, "_ORTHOGONAL", 0)
    found = data_columns.numerical_rank(form(X), np.arange(d), np.abs(X).max(axis=0), fit_intercept=False)
    assert (found.value, found.method) == (inner, way)
    if deficient and n >= d:
        # Inner products are half as exact: rounding may leave the columns without a name.
        assert found.dependent == tuple(range(inner, d)) or (way == "inner products" and not found.dependent)


def test_a_column_far_from_zero_is_not_taken_for_the_intercept(rng):
    X, y = overlapping(rng, n=200)
    X[:, 1] = 1.7e9 + rng.integers(0, 1000, 200)  # seconds since 1970
    found = shape(X, y)
    assert found.rank.value == 5
    assert found.columns.constant.size == 0


def test_a_rank_that_would_take_too_long_is_bounded(rng, monkeypatch):
    monkeypatch.setattr(data_columns, "_ORTHOGONAL", 0)
    monkeypatch.setattr(data_columns, "_INNER_PRODUCTS", 0)
    X = sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    found = shape(X, rng.integers(0, 2, 40), with_separation=False)
    distinct = 30 - found.columns.zero.size - sum(len(group) - 1 for group in found.columns.duplicates)
    assert found.rank.value is None
    assert found.rank.at_most == distinct + 1
    assert said(found, "rank").startswith(f"not computed, at most {distinct + 1} of 31 columns")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_missing_values_are_named_and_their_rows_left_out(rng, form):
    X, y = overlapping(rng)
    X[3, 1], X[5, 2], X[5, 0] = np.nan, np.inf, -np.inf
    found = shape(form(X), y, feature_names=["a", "b", "c", "d"])
    assert found.missing.cells == ((3, 1, "NaN"), (5, 0, "infinity"), (5, 2, "infinity"))
    assert found.missing.columns == {0: 1, 1: 1, 2: 1}
    assert (found.missing.count, found.missing.rows, found.complete_rows) == (3, 2, 58)
    assert said(found, "missing") == (
        "3 values (NaN in row 3, b; infinity in row 5, a; infinity in row 5, c; row numbers start at 0)"
    )
    assert "Impute" in found.advice[0]
    rest = np.delete(X, [3, 5], axis=0)
    assert found.separation.certificate.check(form(rest), np.delete(y, [3, 5]))


def test_more_missing_values_than_are_named(rng):
    X, y = overlapping(rng)
    X[:40, 1] = np.nan
    found = shape(X, y)
    assert found.missing.count == 40
    assert len(found.missing.cells) == 20
    assert "; and 36 more" in said(found, "missing")


@pytest.mark.parametrize("absent", [np.nan, None, pd.NA])
def test_missing_labels(rng, absent):
    X, y = overlapping(rng)
    labels = y.astype(object)
    labels[[4, 9]] = absent
    found = shape(X, labels)
    assert found.missing.labels.tolist() == [4, 9]
    assert found.classes == {0: int((y == 0).sum() - (y[[4, 9]] == 0).sum()), 1: int(y.sum() - y[[4, 9]].sum())}
    assert said(found, "missing") == "2 labels (rows 4 and 9)"
    assert found.advice == ["Drop the rows without a label."]


def test_no_complete_row():
    found = shape(np.full((3, 2), np.nan), [0, 1, 0])
    assert found.complete_rows == 0
    assert found.columns is found.rank is found.spread is found.separation is None
    assert said(found, "separation") == "no row is complete"
    assert "Impute" in str(found)


def test_one_row():
    found = shape([[1.0, 0.0, 1.0]], ["a"])
    assert (found.rows, found.rank.value, found.classes) == (1, 1, {"a": 1})
    assert found.columns.zero.tolist() == [1]
    assert found.columns.constant.size == 0
    assert found.columns.duplicates == []
    assert "All rows belong to class a" in found.advice[0]


def test_one_class_is_separated_by_the_intercept(rng):
    found = shape(rng.standard_normal((20, 2)), np.ones(20))
    assert found.separation.kind == "complete"
    assert found.checks[1.0].holds
    assert "All rows belong to class 1:" in found.advice[0]
    assert not any("penalty" in sentence for sentence in found.advice)


def test_fewer_rows_than_columns(rng):
    found = shape(rng.standard_normal((8, 20)), [0, 1] * 4)
    assert (found.rank.value, found.rank.columns) == (8, 21)
    assert found.separation.kind == "complete"
    advice = " ".join(found.advice)
    assert "fewer than two rows per column" in advice
    assert "fewer rows than coefficients" in advice


def test_separation_is_advised_upon(rng):
    X, _ = overlapping(rng, n=200)
    treated = rng.random(200) < 0.2
    X[:, 3] = treated
    y = np.where(treated | (rng.random(200) < 0.5), "ill", "well")
    found = shape(X, y, feature_names=["a", "b", "c", "treated"])
    assert found.separation.kind == "quasi-complete"
    assert "treated tends to −∞" in str(found)
    assert found.advice[0].startswith("Use a penalty (alpha > 0")
    assert "fewer than two rows" not in str(found)


def test_several_classes_have_an_answer_each(rng):
    X = np.vstack([rng.standard_normal((30, 2)), rng.standard_normal((30, 2)), rng.standard_normal((30, 2)) + 20])
    found = shape(X, np.repeat(["a", "b", "c"], 30))
    assert [answer.kind for answer in found.answers.values()] == ["none", "none", "complete"]
    assert said(found, "separation") == "each class against the rest: a: none; b: none; c: complete"
    assert said(found, "certificate").startswith("3 of 3 verified")
    assert [sentence[:24] for sentence in found.sentences()] == [f"Class {k} against the rest" for k in "abc"]


def test_many_classes_have_one_paragraph(rng):
    X = np.vstack([rng.standard_normal((60, 2)), rng.standard_normal((5, 2)) + 20])
    y = np.append(np.arange(60) % 12, [99] * 5)
    found = shape(X, y)
    kinds = [found.answers[label].kind for label in range(12)]
    assert kinds == ["none"] * 12
    expected = (
        "Each of 13 classes against the rest. 12 classes (0, 1, 2, 3, 4, 5, 6, 7 and 4 more): no separation, have "
        "finite optima; 1 class (99): complete separation, has no finite optimum."
    )
    assert found.sentences() == [expected]
    assert str(found.separation) == expected
    assert said(found, "separation").endswith(
        "none: 12 classes (0, 1, 2, 3, 4, 5, 6, 7 and 4 more); complete: 1 class (99)"
    )


def test_rare_classes(rng):
    X, _ = overlapping(rng, n=300)
    y = np.where(rng.random(300) < 0.03, "rare", "common")
    [sentence] = [sentence for sentence in shape(X, y, with_separation=False).advice if "class_weight" in sentence]
    assert "rare class rare" in sentence
    balanced = shape(X, np.arange(300) % 10, with_separation=False)
    assert balanced.advice == []
    assert said(balanced, "separation") == "not requested"


def test_scales_of_another_size(rng):
    X, y = overlapping(rng)
    X[:, 2] *= 1e12
    X[:, 3] *= 1e-9
    found = shape(X, y)
    assert found.spread.large.tolist() == [2]
    assert found.spread.small.tolist() == [3]
    assert found.rank.value == 5
    assert found.advice[0].startswith("Nothing need be scaled for LinearClassifier and LinearRegressor")
    assert "standardise the features for SGDClassifier and SGDRegressor" in found.advice[0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("dtype", "large"), [(np.float64, 1e200), (np.float32, 1e20)])
def test_values_whose_squares_overflow(rng, form, dtype, large):
    X, y = overlapping(rng)
    X[3, 1] = -large
    found = shape(form(X.astype(dtype)), y, feature_names=list("abcd"), with_separation=False)
    assert "Scale b: the squares of the values overflow, and the models do not accept them." in found.advice


def test_constant_columns_have_no_scale(rng):
    X, y = overlapping(rng)
    X[:, 1] = 1e9
    found = shape(X, y)
    assert found.columns.constant.tolist() == [1]
    assert found.spread is None
    assert shape(np.tile([1.0, 1e6], (20, 1)), np.arange(20) % 2).spread is None


def test_values_too_large_to_square(rng):
    X, y = overlapping(rng)
    X[:, 0] *= 1e200
    X[:, 1] *= 1e-200
    found = shape(X, y)
    assert found.rank.value == 5
    assert found.separation.kind == "none"


def test_regression_has_no_classes(rng):
    X, _ = overlapping(rng)
    found = shape(X, X[:, 0] + rng.standard_normal(60))
    assert (found.task, found.classes, found.separation, found.checks) == ("regression", None, None, {})
    assert "separation" not in dict(found.facts())
    assert found.advice == []
    assert shape(X, np.full(60, 2.5)).advice == ["All targets are equal: there is nothing to predict."]
    assert shape(X, np.arange(60) % 2, task="regression").classes is None


def test_data_frames_give_their_names(rng):
    X, y = overlapping(rng)
    frame = pd.DataFrame(X, columns=["age", "sex", "dose", "site"])
    frame["site"] = 1
    assert shape(frame, pd.Series(y)).advice == ["Drop site: the column is constant, like the intercept."]


def test_no_features(rng):
    found = shape(np.empty((4, 0)), [0, 1, 0, 1])
    assert (found.rank.value, found.separation.kind) == (1, "none")
    assert str(found)


def test_mistakes_are_named(rng):
    X, y = overlapping(rng)
    with pytest.raises(ValueError, match="60 rows, but y has 59 labels"):
        shape(X, y[:-1])
    with pytest.raises(ValueError, match="task must be 'auto'"):
        shape(X, y, task="clustering")
    with pytest.raises(ValueError, match="'no' is not a number"):
        shape(X, np.where(y, "yes", "no")[np.argsort(y)], task="regression")
    with pytest.raises(ValueError, match="4 features, but feature_names has 1 names"):
        shape(X, y, feature_names=["a"])


def test_progress_is_reported(rng):
    told = []
    shape(*overlapping(rng), progress=told.append)
    assert told[0] == "checking the values"
    assert "checking whether the classes are separable" in told
