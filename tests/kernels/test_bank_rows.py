"""Rows for many models at once: inner products and sums as NumPy has them, and the same bits wherever arrays lie."""

from functools import lru_cache

import numpy as np
import pytest

from sgdone.kernels.bank_rows import CSR, DENSE, MIXED
from sgdone.kernels.jit import compiled
from sgdone.matrices.mixed_matrix import with_dense_columns
from sgdone.rows.rows import Rows, Scaling
from tiers import fast_first


@lru_cache
def make_loop(access, types):
    dots, adds = access.dots, access.adds

    @compiled(dots, types)
    def loop(rows, order, weights, flat, row, amounts, sums, norms):
        for position in range(order.size):
            norms[position], _ = dots(rows, order[position], weights, flat, (), (row, sums[position], amounts))
            adds(rows, order[position], weights, flat, (row, sums[position], amounts))

    return loop


def run(rows, arrays, weights, amounts, row):
    """Inner products and squared norms of all rows, each added to the weights after."""
    order = np.arange(rows.n_rows, dtype=np.uint64)
    sums, norms = np.full((rows.n_rows, weights.shape[1]), np.nan, rows.dtype), np.empty(rows.n_rows)
    loop = make_loop({"dense": DENSE, "sparse": CSR, "mixed": MIXED}[rows.storage], rows.types)
    loop(arrays, order, weights, weights.reshape(-1), row, amounts, sums, norms)
    return sums, norms


@pytest.mark.parametrize("storage", fast_first(1, ["dense", "sparse", "mixed"]))
@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
@pytest.mark.parametrize(("n_features", "width"), [(2, 2), (21, 2), (9, 4), (37, 18)])
def test_products_norms_and_sums(n_features, width, dtype, storage, rng):
    n_dense = {"dense": n_features, "sparse": 0, "mixed": n_features // 2}[storage]
    X = (rng.standard_normal((12, n_features)) * (rng.random((12, n_features)) < 0.7)).astype(dtype)
    shift = rng.standard_normal(n_features) * (np.arange(n_features) < n_dense)
    scaling = Scaling(rng.uniform(0.5, 2.0, n_features), shift if n_dense else None)
    weights = rng.standard_normal((n_features, width)).astype(dtype)
    amounts = 0.1 * rng.standard_normal(width).astype(dtype)
    expected = weights.astype(np.float64)
    rows = Rows.of(with_dense_columns(X, n_dense), scaling)
    room = np.empty(n_dense + (width if storage == "mixed" else 0), dtype)
    found, norms = run(rows, rows.arrays, weights, amounts, room)
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}
    for i, x in enumerate((X - shift) / scaling.scale):
        np.testing.assert_allclose(found[i], x @ expected, **close)
        np.testing.assert_allclose(norms[i], x @ x, **close)
        expected += np.outer(x, amounts)
    np.testing.assert_allclose(weights, expected, **close)


@pytest.mark.parametrize(("count", "width"), [(11, 3), (43, 2), (43, 4)])
@pytest.mark.parametrize("gap", fast_first(1, [0, 2, 16]))
@pytest.mark.parametrize("which", fast_first(1, ["matrix", "shift", "inverse_scale", "weights"]))
def test_the_same_bits_wherever_arrays_lie(which, gap, count, width, rng):
    """Vectorised loops may go number by number where one array begins shortly after another, and sum in that order."""
    X = rng.standard_normal((1, count))
    weights, amounts = rng.standard_normal((count, width)), rng.standard_normal(width)
    for _ in range(20):
        X[:] = rng.standard_normal(count)
        rows = Rows.of(X, Scaling(rng.uniform(0.5, 2.0, count), rng.standard_normal(count)))
        arrays = dict(zip(("matrix", "shift", "inverse_scale"), rows.arrays, strict=True), weights=weights.copy())
        expected = run(rows, rows.arrays, arrays["weights"].copy(), amounts, np.empty(1024)[512 : 512 + count])
        pool = np.empty(1024)
        near = pool[512 - gap - arrays[which].size : 512 - gap].reshape(arrays[which].shape)
        near[:] = arrays[which]
        near.flags.writeable = which != "matrix"
        moved = {**arrays, which: near}
        given = moved["matrix"], moved["shift"], moved["inverse_scale"]
        found = run(rows, given, moved["weights"], amounts, pool[512 : 512 + count])
        assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))
