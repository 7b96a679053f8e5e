"""Sums over rows that are part dense, part sparse: those of the definition, and those of either storage alone."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix, with_dense_columns
from sgdone.newton.ridge_path import gram
from sgdone.rows import ArraySource, Scaling
from sgdone.sums.fold_rows import CurvatureWork, FoldOutputs, fold_rows
from sgdone.sums.pieces import BlockPieces, MixedRows, in_units, rows_in_units
from sgdone.sums.units import column_moments
from tiers import slow

#: Two dense columns far from 0, and three sparse ones, one of them empty.
SCALING = Scaling(np.array([1.0, 50.0, 0.7, 2.0, np.inf]), np.array([0.5, -5e3, 0.0, 0.0, 0.0]))


def rows_of(n_rows=30, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 5))
    X[:, :2] = X[:, :2] * SCALING.scale[:2] + SCALING.shift[:2]
    X[:, 2:] *= rng.random((n_rows, 3)) < 0.4
    X[:, 4] = 0.0
    X[0, 2:] = 0.0
    return X.astype(dtype)


def block_of(X, n_dense, weights=None):
    labels = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
    source = ArraySource(with_dense_columns(X, n_dense), labels, weights, shuffle=False)
    return next(source.blocks(np.random.default_rng(0)))


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(("raw", "dtype"), [(False, np.float64), (True, np.float64), (False, np.float32)])
def test_sums_are_those_of_the_definition(raw, dtype, rng):
    X = rows_of(dtype=dtype)
    found = rows_in_units(with_dense_columns(X, 2), SCALING, raw=raw)
    assert isinstance(found, MixedRows)
    rows = np.column_stack([(X.astype(np.float64) - SCALING.shift) / SCALING.scale, np.ones(len(X))])
    model, values = rng.standard_normal((6, 2)), rng.standard_normal((len(X), 2))
    matrices = rng.standard_normal((2, 6, 6))
    matrices += matrices.transpose(0, 2, 1)
    close(found.times(model), rows @ model)
    close(found.transposed_times(values), rows.T @ values)
    # Entries are squared in their own type.
    close(found.squared_transposed_times(values), (rows**2).T @ values, 1e-10 if dtype == np.float64 else 1e-6)
    for weights in (values, values**2):
        close(found.products(weights), np.einsum("ia,ib,ik->kab", rows, rows, weights))
    close(found.quadratic_forms(matrices), np.einsum("ia,kab,ib->ik", rows, matrices, rows))
    close(found.inner_products(), rows[:, :-1] @ rows[:, :-1].T)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_moments_and_products_of_columns(centred, weighted, rng):
    """In several pieces, the last one short; some rows have the weight 0."""
    X = rows_of(5000)
    weights = rng.integers(0, 4, len(X)).astype(np.float64) if weighted else None
    mixed, dense = block_of(X, 2, weights), block_of(X, 5, weights)
    moments, expected = (column_moments(block, weighted=True) for block in (mixed, dense))
    assert moments.rows == expected.rows
    close(moments.means, expected.means)
    close(moments.squares, expected.squares)
    sums, expected = (gram(block, centred=centred, frequency=2.0) for block in (mixed, dense))
    assert sums.weight == expected.weight
    close(sums.means, expected.means)
    close(sums.products, expected.products)


def test_a_copy_in_other_units():
    X = rows_of()
    copied = in_units(block_of(X, 2), SCALING).rows
    assert (copied.storage, copied.n_dense) == ("mixed", 2)
    close(copied.whole().toarray(), (X - SCALING.shift) / SCALING.scale)


@pytest.mark.parametrize(("per_model", "coupled"), [(1, False), pytest.param(3, True, marks=slow)])
def test_rows_of_folds(per_model, coupled, rng):
    X, weights = rows_of(5000), rng.integers(0, 2, 5000).astype(np.float64)
    found, expected = (fold_rows(BlockPieces(block_of(X, d, weights), SCALING)) for d in (2, 5))
    models, n_columns = 2, 2 * per_model
    width = found.width(n_columns)
    columns, intercepts, values = np.zeros((5, width)), np.zeros(width), np.zeros((found.n_rows, width))
    columns[:, :n_columns] = rng.standard_normal((5, n_columns))
    intercepts[:n_columns] = rng.standard_normal(n_columns)
    values[:, :n_columns] = rng.random((found.n_rows, n_columns))
    assert found.n_rows == expected.n_rows
    assert found.n_features == 5
    own, other = columns * found.inverse[:, None], columns * expected.inverse[:, None]
    close(found.dots(own, intercepts), expected.dots(other, intercepts))
    for squared in (False, True):
        sums = [np.zeros((5, width)) for _ in range(2)]
        found.adds(values, sums[0], squared=squared)
        expected.adds(values, sums[1], squared=squared)
        close(sums[0] * found.inverse[:, None] ** (1 + squared), sums[1])
    outputs, of_models = FoldOutputs(per_model, coupled), rng.random((found.n_rows, models))
    results = []
    for rows, given in ((found, own), (expected, other)):
        shape = (found.n_rows, width)
        scores, changes, totals, bent = np.zeros(shape), np.zeros(shape), np.zeros((2, width)), np.zeros((5, width))
        part = slice(None, None if rows is found else n_columns)
        arrays = [np.ascontiguousarray(array[..., part]) for array in (given, intercepts, values)]
        into = [np.ascontiguousarray(array[..., part]) for array in (scores, changes, totals, bent)]
        rows.curved(CurvatureWork(*arrays, of_models, outputs, *into))
        into[3] *= rows.inverse[:, None]
        results.append([array[..., :n_columns] for array in into])
    for pair in zip(*results, strict=True):
        close(*pair)


def test_one_dense_and_one_sparse_column():
    X = MixedMatrix(np.array([[2.0]]), sparse.csr_array([[3.0]]))
    rows = rows_in_units(X, Scaling(np.array([2.0, 1.0]), np.array([1.0, 0.0])))
    np.testing.assert_array_equal(rows.products(np.ones((1, 1)))[0], np.outer([0.5, 3.0, 1.0], [0.5, 3.0, 1.0]))
