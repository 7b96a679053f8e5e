"""Products of entries of sparse rows, against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.kernels.csr_gram import make_add_products, make_quadratic_forms
from tiers import fast_first


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
    make_add_products(f"{types} {types.split()[1]}")(*arrays, values, found)
    np.testing.assert_allclose(found, np.einsum("ia,ib,ik->abk", rows, rows, values), rtol=1e-12, atol=1e-12)


@TYPES
def test_quadratic_forms(types):
    arrays, rows = rows_of(*types.split())
    matrices = np.random.default_rng(1).standard_normal((7, 7, 3))
    matrices = matrices + matrices.transpose(1, 0, 2)
    found = np.full((20, 3), np.nan)
    make_quadratic_forms(f"{types} {types.split()[1]}")(*arrays, matrices, found)
    np.testing.assert_allclose(found, np.einsum("ia,abk,ib->ik", rows, matrices, rows), rtol=1e-12, atol=1e-12)


def test_no_rows_at_all():
    (data, indices, indptr), _ = rows_of("float64", "int32")
    found = np.zeros((7, 7, 1))
    make_add_products("float64 int32 int32")(data, indices, indptr[:1], np.empty((0, 1)), found)
    assert not found.any()
