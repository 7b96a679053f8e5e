"""Products of sparse rows with several columns, against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.kernels.csr_columns import lanes_of, make_adds, make_curved, make_dots, padded
from sgdone.rows.rows import Rows
from tiers import interpreted


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
