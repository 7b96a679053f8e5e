"""Fits on Dask's threads: what every scheduler must do."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from inference.summary_problems import assert_within

pytest.importorskip("distributed", reason="Dask is not installed")

import dask
import dask.array as da
import dask.dataframe as dd

import sgdone
from cluster_fits import fit_model
from sgdone.cluster import LocalEngine, Partition, PartitionError
from sgdone.dask import LinearClassifier, LinearRegressor
from sgdone.stopping import MaxPasses


def problem(n_rows=2_000, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * np.logspace(0, 3, n_features)
    y = np.where(X[:, 0] + X[:, 1] / 10 + rng.logistic(size=n_rows) > 0.5, "yes", "no")
    return X, y


def alone(X, y, cuts, model, weight=None):
    """The same partitions in this process."""
    parts = [
        Partition(k, X[a:b], y[a:b], None if weight is None else weight[a:b]) for k, (a, b) in enumerate(pairwise(cuts))
    ]
    fit_model(model, LocalEngine(parts))
    return model


def frame(n_rows=600):
    rng = np.random.default_rng(1)
    city, area = rng.choice(["Oslo", "Rome", "Bern"], n_rows), rng.uniform(20, 120, n_rows)
    area[::17] = np.nan
    price = 10.0 * np.nan_to_num(area, nan=70.0) + np.where(city == "Oslo", 300.0, 0.0) + rng.standard_normal(n_rows)
    return pd.DataFrame({"city": city, "area": area, "price": price, "dear": price > 800})


def test_arrays_have_the_bits_of_the_same_partitions_here():
    X, y = problem()
    model = LinearClassifier(random_state=0).fit(
        da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=700), sample_weight=da.ones(2_000, chunks=1_000)
    )
    expected = alone(X, y, [*range(0, 2_000, 300), 2_000], sgdone.LinearClassifier(random_state=0), np.ones(2_000))
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert model.intercept_.tobytes() == expected.intercept_.tobytes()
    assert model.trace_["bytes_received"].tolist() == expected.trace_["bytes_received"].tolist()
    assert model.classes_.tolist() == ["no", "yes"]


def test_predictions_are_lazy_arrays():
    X, y = problem()
    rows = da.from_array(X, chunks=(300, 2))
    model = LinearClassifier(random_state=0).fit(rows, da.from_array(y, chunks=700))
    plain = model.to_sklearn()
    for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        found = getattr(model, method)(rows)
        expected = getattr(plain, method)(X)
        assert isinstance(found, da.Array)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert np.array_equal(found.compute(), expected)
        assert np.array_equal(getattr(model, method)(X), expected)
    assert model.score(rows, da.from_array(y, chunks=700)) == plain.score(X, y)


def test_unknown_chunk_sizes_and_sparse_blocks():
    X, y = problem(1_000)
    dense = da.from_array(X, chunks=(250, -1))
    keep = da.from_array(np.arange(1_000) % 3 > 0, chunks=250)
    model = LinearClassifier(random_state=0).fit(dense[keep], da.from_array(y, chunks=250)[keep])
    kept = np.arange(1_000) % 3 > 0
    assert model.score(dense[keep], da.from_array(y, chunks=250)[keep]) == model.to_sklearn().score(X[kept], y[kept])
    rows = dense.map_blocks(lambda block: sparse.csr_matrix(np.where(np.abs(block) > 0.5, block, 0.0)))
    found = LinearClassifier(alpha=0.01).fit(rows, da.from_array(y, chunks=250))
    expected = sgdone.LinearClassifier(alpha=0.01).fit(sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0)), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-3)
    assert np.mean(found.predict(rows).compute() == expected.predict(np.where(np.abs(X) > 0.5, X, 0.0))) > 0.999


def test_data_frames_are_encoded_and_predictions_have_their_index():
    table = frame()
    rows = dd.from_pandas(table, npartitions=3)
    model = LinearRegressor(random_state=0).fit(rows[["city", "area"]], rows["price"])
    expected = sgdone.LinearRegressor(alpha=model.alpha_, random_state=0).fit(table[["city", "area"]], table["price"])
    np.testing.assert_allclose(model.predict(table), expected.predict(table[["city", "area"]]), rtol=1e-4)
    assert model.feature_names_in_.tolist() == ["city", "area"]
    found = model.predict(rows[["city", "area"]])
    assert isinstance(found, dd.Series)
    pd.testing.assert_index_equal(found.compute().index, table.index)
    assert model.score(rows[["city", "area"]], rows["price"]) == pytest.approx(
        model.to_sklearn().score(table[["city", "area"]], table["price"])
    )
    classifier = LinearClassifier(random_state=0).fit(rows[["city", "area"]], rows["dear"])
    shares = classifier.predict_proba(rows[["city", "area"]]).compute()
    assert shares.columns.tolist() == [False, True]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_summaries_are_those_of_one_machine():
    table = frame()
    table["street"] = np.arange(600) // 10
    rows = dd.from_pandas(table, npartitions=3)
    model = LinearRegressor(random_state=0).fit(rows[["city", "area"]], rows["price"])
    X, y = table[["city", "area"]], table["price"]
    for options in ({}, {"cov": "cluster", "groups": table["street"]}):
        expected = model.to_sklearn().summary(X, y, **options)
        given = options | ({"groups": rows["street"]} if options else {})
        found = model.summary(rows[["city", "area"]], rows["price"], **given)
        assert found.features == expected.features
        assert_within(found.coef, expected.coef, expected.std_err, 1e-6)
        np.testing.assert_allclose(found.std_err, expected.std_err, rtol=1e-6)
    assert "area" in str(found)


def test_lists_of_delayed_parts():
    X, y = problem(900)
    parts = [dask.delayed(lambda a: (X[a : a + 300], y[a : a + 300]))(a) for a in (0, 300, 600)]
    model = LinearClassifier(random_state=0).fit(parts)
    pairs = [(dask.delayed(X[a : a + 300]), dask.delayed(y[a : a + 300])) for a in (0, 300, 600)]
    again = LinearClassifier(random_state=0).fit(pairs)
    assert model.coef_.tobytes() == again.coef_.tobytes()
    found = np.concatenate(dask.compute(*model.predict([dask.delayed(X[:300]), dask.delayed(X[300:])])))
    assert np.array_equal(found, model.to_sklearn().predict(X))
    assert model.score(parts) == model.to_sklearn().score(X, y)


def test_model_files_are_the_usual_ones(tmp_path):
    X, y = problem(500)
    model = LinearClassifier(random_state=0).fit(da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100))
    sgdone.save(model, tmp_path / "model")
    assert np.array_equal(sgdone.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_parameters_follow_scikit_learn():
    X, y = problem(400)
    model = clone(LinearClassifier(alpha=0.5, stop=MaxPasses(4)))
    assert model.get_params()["alpha"] == 0.5
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit([dask.delayed((X, y))])
    assert model.alpha_ == 0.5
    assert model.verdict_.status == "budget spent"


def rows_and_labels(n_rows=200):
    X, y = problem(n_rows)
    return da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50)


def broken(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 2:
        raise RuntimeError("the disk is gone")
    return block


def test_a_partition_that_cannot_be_read_is_named():
    X, y = rows_and_labels()
    with pytest.raises(PartitionError, match="partition 2: RuntimeError: the disk is gone"):
        LinearClassifier().fit(X.map_blocks(broken, dtype=float), y)


def test_rows_that_only_dask_can_get_wrong():
    X, y = problem(200)
    X[120, 3] = np.nan
    with pytest.raises(PartitionError, match="partition 2: row 20 of X holds NaN in column 3"):
        LinearClassifier().fit(da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50))
    with pytest.raises(PartitionError, match=r"partition 0: .* masked"):
        LinearClassifier().fit(da.ma.masked_greater(da.from_array(X[:50], chunks=50), 0.5), y[:50])
    with pytest.raises(PartitionError, match=r"partition 0: expected \(X, y\)"):
        LinearClassifier().fit([dask.delayed(X[:50])])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (lambda X, y: (X.compute(), y), TypeError, "X is a ndarray: give a dask array"),
        (lambda X, y: (X,), ValueError, "y is missing"),
        (lambda X, y: (X[0], y), ValueError, "two dimensions"),
        (lambda X, y: (X, y[:150]), ValueError, "X has 200 rows, but y has 150"),
        (lambda X, y: (X, y.compute()[:150]), ValueError, "X has 200 rows, but y has 150"),
        (lambda X, y: (X[X[:, 0] > 0], y.compute()), TypeError, "numbers of rows of X are not known"),
        (lambda X, y: (X[X[:, 0] > 0], y.rechunk(100)), ValueError, "X has 4 partitions, but y has 2"),
        (lambda X, y: (X, y[:, None]), ValueError, "y must have one dimension"),
        (lambda X, y: ([dask.delayed((X, y))], y), ValueError, "has its labels"),
    ],
)
def test_collections_that_do_not_fit_together(arguments, error, text):
    with pytest.raises(error, match=text):
        LinearClassifier().fit(*arguments(*rows_and_labels()))


def test_labels_in_memory_are_divided_like_the_rows():
    X, y = rows_and_labels()
    model = LinearClassifier(random_state=0).fit(X, y.compute())
    assert model.coef_.tobytes() == LinearClassifier(random_state=0).fit(X, y).coef_.tobytes()
