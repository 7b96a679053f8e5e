"""Loops over the entries of sparse rows: columns by number, and products of columns."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.kernels.csr_columns import lanes_of, make_adds, make_curved, make_dots, padded
from sgdone.kernels.csr_gram import add_products, quadratic_forms
from sgdone.rows.rows import Rows
from tiers import fast_first, interpreted


@interpreted
@pytest.mark.parametrize(("n_models", "n_outputs"), [(1, 1), (3, 1), (2, 3)])
def test_products_agree_with_numpy(n_models, n_outputs):
    """Rows may be empty, and in any order; columns that fill up a group stay 0."""
    rng = np.random.default_rng(n_models)
    X = sparse.random_array((40, 15), density=0.2, rng=rng, format="csr")
    rows, columns = Rows.of(X), n_models * n_outputs
    width, lanes = padded(columns), lanes_of(columns)
    used = rng.permutation(40)[:30].astype(np.uint64)
    part = X.toarray()[used.astype(int)]
    arrays = rows.arrays[:3]
    model, values = np.zeros((15, width)), np.zeros((30, width))
    model[:, :columns] = rng.standard_normal((15, columns))
    values[:, :columns] = rng.standard_normal((30, columns))

    found = np.ones((30, width))
    make_dots(rows.types, lanes)(*arrays, used, model, found)
    assert np.allclose(found, 1.0 + part @ model, rtol=1e-10, atol=1e-10)
    for power in (1, 2):
        found = np.ones((15, width))
        make_adds(rows.types, lanes, power)(*arrays, used, values, found)
        assert np.allclose(found, 1.0 + (part**power).T @ values, rtol=1e-10, atol=1e-10)

    shares, weights = np.zeros((30, width)), rng.random((30, n_models))
    shares[:, :columns] = rng.random((30, columns))
    for coupled in (False, True):
        scores, changes, found = np.zeros((30, width)), np.zeros((30, width)), np.zeros((15, width))
        intercepts, totals = np.zeros(width), np.ones((2, width))
        intercepts[:columns] = 0.5
        make_curved(rows.types, lanes)(
            *arrays, used, model, intercepts, shares, weights, n_outputs, coupled, scores, changes, totals, found
        )
        expected = (part @ model + intercepts)[:, :columns].reshape(30, n_models, n_outputs)
        share = shares[:, :columns].reshape(30, n_models, n_outputs)
        change = expected - (share * expected).sum(axis=2, keepdims=True) if coupled else expected
        change = (weights[:, :, None] * share * change).reshape(30, columns)
        assert np.allclose(totals, [(scores * changes).sum(axis=0), changes.sum(axis=0)], rtol=1e-10, atol=1e-10)
        assert np.allclose(scores, part @ model + intercepts, rtol=1e-10, atol=1e-10)
        assert np.allclose(changes[:, :columns], change, rtol=1e-10, atol=1e-10)
        assert np.allclose(found[:, :columns], part.T @ change, rtol=1e-10, atol=1e-10)
        assert not found[:, columns:].any()


# ---- products of entries of sparse rows, against NumPy ----


def rows_of(value_type, index_type, seed=0):
    """Rows whose indices are not sorted, some rows empty; and the same rows dense, with a column of 1."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((20, 6)) * (rng.random((20, 6)) < 0.5)
    dense[[0, 7, 19]] = 0.0
    X = sparse.csr_array(dense)
    for row in range(20):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        X.indices[entries], X.data[entries] = X.indices[entries][::-1].copy(), X.data[entries][::-1].copy()
    arrays = X.data.astype(value_type), X.indices.astype(index_type), X.indptr.astype(index_type)
    dense = dense.astype(value_type).astype(np.float64)
    return arrays, np.column_stack([dense, np.ones(20)])


TYPES = pytest.mark.parametrize("types", fast_first(1, ["float32 int32", "float64 int32", "float64 int64"]))


@TYPES
def test_products(types):
    arrays, rows = rows_of(*types.split())
    values = np.random.default_rng(1).standard_normal((20, 3))
    found = np.zeros((7, 7, 3))
    add_products(f"{types} {types.split()[1]}")(*arrays, values, found)
    np.testing.assert_allclose(found, np.einsum("ia,ib,ik->abk", rows, rows, values), rtol=1e-12, atol=1e-12)


@TYPES
def test_quadratic_forms(types):
    arrays, rows = rows_of(*types.split())
    matrices = np.random.default_rng(1).standard_normal((7, 7, 3))
    matrices = matrices + matrices.transpose(1, 0, 2)
    found = np.full((20, 3), np.nan)
    quadratic_forms(f"{types} {types.split()[1]}")(*arrays, matrices, found)
    np.testing.assert_allclose(found, np.einsum("ia,abk,ib->ik", rows, matrices, rows), rtol=1e-12, atol=1e-12)


def test_no_rows_at_all():
    (data, indices, indptr), _ = rows_of("float64", "int32")
    found = np.zeros((7, 7, 1))
    add_products("float64 int32 int32")(data, indices, indptr[:1], np.empty((0, 1)), found)
    assert not found.any()
