"""The estimators on rows that are part dense, part sparse."""

import numpy as np
import pytest
from automatic_problems import TASKS, estimator, scores_of
from scipy import sparse
from sklearn.base import clone

from sgdone import LinearClassifier, SGDClassifier, SGDRegressor
from sgdone.matrices.mixed_matrix import MixedMatrix, with_dense_columns
from tiers import fast_first


def problem(task="two", n_rows=500, seed=0, dtype=np.float64, levels=5):
    """Three numbers of different means and spreads, and two categories: a matrix, and labels."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n_rows, 3)) * [1.0, 30.0, 0.1] + [5.0, -100.0, 0.0]
    chosen = np.column_stack([rng.integers(0, levels, n_rows), levels + rng.integers(0, levels, n_rows)])
    indptr = np.arange(0, 2 * n_rows + 1, 2)
    entries = sparse.csr_array((np.ones(2 * n_rows), chosen.ravel(), indptr), (n_rows, 2 * levels))
    scores = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0) @ [1.0, -0.5, 0.7] + entries @ rng.standard_normal(
        2 * levels
    )
    noisy = scores + rng.logistic(size=n_rows)
    y = {"two": noisy > 0, "three": np.digitize(noisy, [-1.0, 1.0]), "numbers": noisy}[task]
    return MixedMatrix(numbers.astype(dtype), entries.astype(dtype)), y


@pytest.mark.parametrize("task", TASKS)
def test_fit_and_predict(task):
    """Fits and predictions do not depend on the storage of the rows that are predicted."""
    X, y = problem(task)
    model = estimator(task).fit(X, y)
    assert model.n_features_in_ == 13
    assert model.coef_.shape[-1] == 13
    assert model.verdict_.finish_passes > 0
    for other in (X.tocsr(), X.toarray()):
        np.testing.assert_allclose(scores_of(model, other), scores_of(model, X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.feature_std_[:3], X.dense.std(axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.feature_std_[3:], X.sparse.toarray().std(axis=0), rtol=1e-10)
    assert clone(model).fit(X, y).coef_.tobytes() == model.coef_.tobytes()


@pytest.mark.parametrize("first", [MixedMatrix.toarray, lambda X: X], ids=["dense", "mixed"])
def test_rows_in_another_storage_are_converted_to_that_of_the_first_call(first):
    X, y = problem("two", 1000)
    forms = (lambda X: X, MixedMatrix.toarray, MixedMatrix.tocsr)
    models = [LinearClassifier(random_state=0).partial_fit(first(X[:500]), y[:500], [False, True]) for _ in forms]
    found = {
        model.partial_fit(form(X[500:]), y[500:]).coef_.tobytes() for model, form in zip(models, forms, strict=True)
    }
    assert len(found) == 1


# ---- errors ----


@pytest.mark.parametrize("column", [2, 7])
def test_values_that_are_not_finite(column):
    X, y = problem()
    array = X.toarray()
    array[12, column] = np.nan
    bad, model = with_dense_columns(array, 3), LinearClassifier(random_state=0).fit(X, y)
    for call, method in ((lambda: model.fit(bad, y), "fit"), (lambda: model.predict(bad), "predict")):
        with pytest.raises(ValueError, match=f"row 12 of X holds NaN in column {column}: .* before {method}"):
            call()


def test_named_methods_refuse():
    X, y = problem()
    for make in (SGDClassifier, SGDRegressor):
        with pytest.raises(ValueError, match=r"use X.tocsr\(\) or X.toarray\(\)"):
            make().fit(X, y.astype(int))


def test_shapes_that_do_not_fit():
    X, y = problem()
    model = LinearClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X has 12 features, but LinearClassifier is expecting 13 features"):
        model.predict(with_dense_columns(X.toarray()[:, :12], 3))
    with pytest.raises(ValueError, match="0 feature"):
        model.fit(MixedMatrix(np.empty((500, 0)), sparse.csr_array((500, 0))), y)
    X.sparse.indices[7] = 10
    for call in (model.predict, lambda rows: model.fit(rows, y)):
        with pytest.raises(ValueError, match="row 3 of the CSR matrix X has the column index 10"):
            call(X)


# ---- summaries ----


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("cov", fast_first(1, ["robust", "classical"]))
def test_summary_is_that_of_a_dense_array(cov, task):
    """Without the last level of each category, whose columns would be collinear with the intercept."""
    X, y = problem(task, 2000)
    array = np.delete(X.toarray(), [7, 12], axis=1)
    models = [estimator(task).fit(rows, y) for rows in (with_dense_columns(array, 3), array)]
    weights = np.arange(2000) % 3
    found, expected = (
        model.summary(rows, y, sample_weight=weights, cov=cov)
        for model, rows in zip(models, (with_dense_columns(array, 3), array), strict=True)
    )
    assert found.refused.keys() == expected.refused.keys()
    for name in ("coef", "std_err", "z"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-5, atol=1e-7)
    intervals = [
        model.predict_interval(rows[:9], summary)
        for model, rows, summary in zip(models, (with_dense_columns(array, 3), array), (found, expected), strict=True)
    ]
    for pair in zip(*intervals, strict=True):
        np.testing.assert_allclose(*pair, rtol=1e-5)


def test_summary_of_separated_rows():
    """A category that all rows of one class and no others have; a part of the rows has neither."""
    X, y = problem("two", 1000)
    known = np.where(np.arange(1000) < 300, y, False)[:, None].astype(np.float64)
    X = MixedMatrix(X.dense, sparse.csr_array(known))
    summary = LinearClassifier(random_state=0, check_optimum=False).fit(X, y).summary(X, y)
    kinds = {summary.features[k]: refusal.kind for k, refusal in summary.refused.items()}
    assert kinds == {"x3": "infinite"}


def test_summary_refuses_what_is_not_determined():
    X, y = problem("two", 2000)
    X.dense[:, 2] = 4.0
    summary = LinearClassifier(random_state=0).fit(X, y).summary(X, y)
    kinds = {summary.features[k]: refusal.kind for k, refusal in summary.refused.items()}
    assert kinds["x2"] == "constant"
    assert kinds["x3"] == kinds["x12"] == "collinear"
    assert "x0" not in kinds
