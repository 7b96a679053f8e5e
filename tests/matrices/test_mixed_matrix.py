"""Matrices that are part dense, part sparse: the same numbers as one dense array, and rows of them."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix, in_one_storage, with_dense_columns
from sgdone.rows import ArraySource, Rows, Scaling
from sgdone.rows.rows import squared_norms
from storage_forms import duplicated, long_indices, unsorted


def table(rng, n_rows=7, n_dense=2, n_sparse=3, dtype=np.float64):
    """A matrix, and the same as a dense array."""
    X = rng.standard_normal((n_rows, n_dense + n_sparse)).astype(dtype)
    X[:, n_dense:] *= rng.random((n_rows, n_sparse)) < 0.5
    X[0, n_dense:] = 0.0
    return with_dense_columns(X, n_dense), X


@pytest.mark.parametrize(
    "rows", [slice(2, 5), slice(None, None, 2), [4, 0, 0], np.array([True] * 3 + [False] * 4), np.uint64([6])]
)
def test_chosen_rows(rows, rng):
    matrix, X = table(rng)
    np.testing.assert_array_equal(matrix[rows].toarray(), X[np.asarray(rows) if isinstance(rows, list) else rows])


@pytest.mark.parametrize("columns", [[1, 3], [0], [4], slice(1, 4), ..., np.arange(5) != 2])
def test_chosen_columns(columns, rng):
    matrix, X = table(rng)
    np.testing.assert_array_equal(matrix[:, columns].toarray(), X[:, columns])


def test_products(rng):
    matrix, X = table(rng)
    coef, values = rng.standard_normal((5, 2)), rng.standard_normal((7, 3))
    np.testing.assert_allclose(matrix @ coef, X @ coef, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(matrix @ coef[:, 0], X @ coef[:, 0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(matrix.T @ values, X.T @ values, rtol=1e-14, atol=1e-14)
    assert matrix.T.shape == (5, 7)
    with pytest.raises(ValueError, match="5 columns"):
        matrix @ coef[:3]
    with pytest.raises(TypeError):
        np.ones((2, 7)) @ matrix


def test_other_storages(rng):
    matrix, X = table(rng)
    np.testing.assert_array_equal(matrix.tocsr().toarray(), X)
    assert matrix.tocsr().format == in_one_storage(matrix).format == "csr"
    assert in_one_storage(X) is X
    assert matrix.astype(np.float64) is matrix
    assert matrix.astype(np.float32).sparse.dtype == np.float32
    assert len(matrix) == 7
    assert matrix.shape == (7, 5)


@pytest.mark.parametrize("n_dense", [0, 1, 2, 5])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: with_dense_columns(X, 2)])
def test_with_dense_columns(make, n_dense, rng):
    _, X = table(rng)
    found = with_dense_columns(make(X), n_dense)
    assert isinstance(found, np.ndarray if n_dense == 5 else MixedMatrix if n_dense else sparse.csr_array)
    np.testing.assert_array_equal(found if n_dense == 5 else found.toarray(), X)


@pytest.mark.parametrize(
    ("dense", "entries", "message"),
    [
        (np.ones(3), sparse.csr_array((3, 1)), "two dimensions"),
        (np.ones((3, 1), dtype=int), sparse.csr_array((3, 1)), "float32 or float64"),
        (np.ones((2, 3)).T, sparse.csr_array((3, 1)), "C-contiguous"),
        (np.ones((3, 1)), np.ones((3, 1)), "CSR matrix"),
        (np.ones((3, 1)), sparse.csc_array((3, 1)), "CSR matrix"),
        (np.ones((3, 1), np.float32), sparse.csr_array((3, 1)), "float32 .dense. and float64"),
        (np.ones((3, 1)), sparse.csr_array((4, 1)), "3 .dense. and 4"),
    ],
)
def test_parts_that_do_not_fit(dense, entries, message):
    with pytest.raises(ValueError, match=message):
        MixedMatrix(dense, entries)


def test_what_has_no_meaning(rng):
    matrix, _ = table(rng)
    with pytest.raises(IndexError, match=r"X\[\[3\]\]"):
        matrix[3]
    with pytest.raises(IndexError, match="ascending"):
        matrix[:, [3, 1]]


# ---- rows of them ----


def test_without_one_part_it_is_the_other(rng):
    for n_dense, storage in ((5, "dense"), (0, "sparse")):
        _, X = table(rng)
        mixed = MixedMatrix(np.ascontiguousarray(X[:, :n_dense]), sparse.csr_array(X[:, n_dense:]))
        rows = Rows.of(mixed, Scaling(np.ones(5)))
        assert rows.storage == storage
        assert rows.n_dense == n_dense
        assert not ArraySource(mixed, np.ones(7)).is_mixed


@pytest.mark.parametrize("change", [sparse.csr_array, long_indices, unsorted, duplicated])
def test_rows(change, rng):
    matrix, X = table(rng)
    rows = Rows.of(MixedMatrix(matrix.dense, change(matrix.sparse)))
    some = np.array([5, 0, 3], dtype=np.uint64)
    assert (rows.storage, rows.n_dense, rows.n_features) == ("mixed", 2, 5)
    np.testing.assert_array_equal(rows.whole().toarray(), X)
    np.testing.assert_array_equal(rows.matrix(some).toarray(), X[some])
    np.testing.assert_array_equal(rows.like(sparse.csr_array(X)).whole().toarray(), X)
    assert rows.typical_length == 2 + matrix.sparse.nnz // 7
    shift = np.array([0.5, -1.0, 0.0, 0.0, 0.0])
    scaled = rows.in_units(Scaling(np.arange(1.0, 6.0), shift))
    expected = (((X - shift) / np.arange(1.0, 6.0)) ** 2).sum(axis=1)[some]
    np.testing.assert_allclose(squared_norms(scaled, some), expected, rtol=1e-14)
    assert scaled.types == rows.like(X).in_units(scaled.scaling).types or change is long_indices


def test_no_access_for_one_model(rng):
    with pytest.raises(TypeError, match="default fit only"):
        _ = Rows.of(table(rng)[0]).access


@pytest.mark.parametrize("column", [1, 3])
@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_faults_are_named_by_their_column(column, value, kind, rng):
    _, X = table(rng)
    X[4, column] = value
    rows = Rows.of(with_dense_columns(X, 2), names=list("abcde"))
    assert rows.find_fault(3) is None
    assert rows.find_fault(4).startswith(f"row 4 of X holds {kind} in column '{'abcde'[column]}'")


def test_a_norm_that_overflows_together():
    X = np.full((1, 2), 1.2e154)
    assert Rows.of(X[:, :1].copy()).find_fault(0) is None
    assert "overflows" in Rows.of(with_dense_columns(X, 1)).find_fault(0)


def test_too_small_a_column_is_named_by_its_number(rng):
    scale = np.ones(5)
    scale[4] = 1e-320
    with pytest.raises(ValueError, match="column 4 of X"):
        Rows.of(table(rng)[0], Scaling(scale))


def test_indices_outside_the_sparse_columns(rng):
    matrix, _ = table(rng)
    matrix.sparse.indices[-1] = 3
    with pytest.raises(ValueError, match="column index 3, but X has 3 columns"):
        Rows.of(matrix).check_indices()
