"""Matrices of any kind: the same data, the same model."""

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier
from tiers import fast_first, interpreted

DENSE = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed view": lambda X: X[::-1].copy()[::-1],
    "list": lambda X: X.tolist(),
    "big-endian": lambda X: X.astype(">f8"),
    "object": lambda X: X.astype(object),
}
SPARSE = {
    name: getattr(sparse, name) for name in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array")
} | {
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
    "dok_array": sparse.dok_array,
    "dia_array": sparse.dia_array,
}


def all_stored(X):
    rows = sparse.csr_array(np.ones_like(X))
    rows.data[:] = X.ravel()
    return rows


@pytest.fixture
def model():
    return LinearClassifier(random_state=0)


@pytest.fixture
def thin(rng):
    """60 rows of 8 features, most of them zero, some rows empty."""
    X = rng.standard_normal((60, 8)) * (rng.random((60, 8)) < 0.3)
    X[[0, 17, 59]] = 0.0
    return X, (X.sum(axis=1) > 0).astype(int)


@pytest.mark.parametrize("kind", DENSE)
def test_dense(kind, binary, model, same_model):
    X, y = binary
    same_model(model.fit(DENSE[kind](X), y), LinearClassifier(random_state=0).fit(X, y))
    np.testing.assert_array_equal(model.predict(DENSE[kind](X)), model.predict(X))


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse(kind, thin, model, same_model):
    X, y = thin
    rows = SPARSE[kind](X)
    same_model(model.fit(rows, y), LinearClassifier(random_state=0).fit(sparse.csr_array(X), y))
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X), rtol=1e-12, atol=1e-12)
    assert type(model.predict(rows)) is np.ndarray


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
@pytest.mark.slow
def test_float32(form, make, binary):
    X, y = binary
    wide = make(random_state=0).fit(form(X), y)
    narrow = make(random_state=0).fit(form(X.astype(np.float32)), y)
    assert wide.coef_.dtype == np.float64
    assert narrow.coef_.dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(narrow.intercept_, wide.intercept_, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("dtype", fast_first(1, [bool, np.int8, np.uint8, np.int32, np.int64, np.float16]))
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_other_numbers_become_float64(form, dtype, rng, model, same_model):
    X = rng.integers(0, 2, (80, 4)).astype(dtype)
    y = X[:, 0].astype(int)
    if form is not np.asarray and dtype == np.float16:
        pytest.skip("SciPy has no sparse float16")
    expected = LinearClassifier(random_state=0).fit(form(X.astype(np.float64)), y)
    same_model(model.fit(form(X), y), expected)
    assert model.coef_.dtype == np.float64


@interpreted
@pytest.mark.parametrize(
    "form", fast_first(1, [lambda X: sparse.bsr_array(X, blocksize=(3, 2)), all_stored]), ids=["bsr", "csr"]
)
def test_explicit_zeros(form, thin):
    X, y = thin
    rows = form(X)
    assert rows.nnz > np.count_nonzero(X)
    model = SGDClassifier(random_state=0)
    expected = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.fit(rows, y).coef_, expected.coef_, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "form", fast_first(1, [np.array, sparse.csr_array, sparse.csc_array]), ids=["dense", "csr", "csc"]
)
def test_the_data_are_not_changed(form, thin):
    X, y = thin
    rows, weights = form(X), np.ones(60)
    LinearClassifier(random_state=0, class_weight="balanced").fit(rows, y, sample_weight=weights).predict(rows)
    np.testing.assert_array_equal(rows if form is np.array else rows.toarray(), X)
    np.testing.assert_array_equal(weights, 1.0)


def test_a_matrix_of_one_dimension_is_refused(model):
    with pytest.raises(ValueError, match=r"^Expected 2D array, got 1D array instead: Reshape your data"):
        model.fit(np.arange(4.0), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"[12]D"):
        model.fit(sparse.coo_array(np.arange(4.0)), [0, 1, 0, 1])


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_masked_values_are_refused(name, binary, model):
    """The mask would be dropped, and what it hides trained on."""
    X, y = binary
    given = {"X": X, "y": y, "sample_weight": np.ones(300)}
    given[name] = np.ma.masked_array(given[name], np.arange(given[name].size).reshape(given[name].shape) < 2)
    message = rf"2 values of {name} are masked: drop the masked rows, or impute the values"
    with pytest.raises(ValueError, match=message):
        model.fit(**given)
    if name == "X":
        with pytest.raises(ValueError, match=message):
            model.fit(X, y).predict(given["X"])


def test_a_mask_that_hides_nothing_is_accepted(binary, model, same_model):
    X, y = binary
    same_model(model.fit(np.ma.masked_array(X), np.ma.masked_array(y)), LinearClassifier(random_state=0).fit(X, y))
