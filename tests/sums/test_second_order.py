"""Sums of first and second derivatives against finite differences, whatever the storage, the pieces or the weights."""

import numpy as np
import pytest
from scipy import sparse

from running import objective_of
from sgdone.losses import Exponential, Huber, Logistic, Squared, SquaredHinge
from sgdone.rows import ArraySource
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE, BlockPieces
from sgdone.sums.second_order import curvature_products, second_order

OBJECTIVES = {
    "two classes": objective_of(Logistic(), 2),
    "softmax": objective_of(Logistic(), 3),
    "one against the rest": objective_of(SquaredHinge(), 3),
    "squared": objective_of(Squared(), None),
    "huber": objective_of(Huber(0.7), None),
    "exponential": objective_of(Exponential(), 2),
}


def problem(name, n_rows=50, seed=0):
    rng = np.random.default_rng(seed)
    objective = OBJECTIVES[name]
    X = rng.standard_normal((n_rows, 3)) * [1.0, 100.0, 0.01] + [0.0, 1e4, 0.0]
    if objective.is_regression:
        y = rng.standard_normal(n_rows)
    elif objective.n_outputs == 1:
        y = rng.choice([-1.0, 1.0], n_rows)
    else:
        y = rng.integers(0, 3, n_rows).astype(float)
    weights = rng.integers(0, 3, n_rows).astype(float)
    scaling = Scaling(np.array([1.0, 90.0, 0.02]), np.array([0.1, 1e4, 0.0]))
    return objective, X, y, weights, scaling, 0.5 * rng.standard_normal((4, objective.n_free_outputs))


def pieces_of(X, y, weights, scaling):
    return BlockPieces(next(ArraySource(X, y, weights).blocks(np.random.default_rng(0))), scaling)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_derivatives_are_those_of_the_loss(name):
    objective, X, y, weights, scaling, model = problem(name)
    pieces = pieces_of(X, y, weights, scaling)
    found = second_order(objective, pieces, model)
    assert found.weight == weights.sum()

    def sums(flat):
        return second_order(objective, pieces, flat.reshape(model.shape[::-1]).T, curvature="none")

    flat, step = model.T.ravel(), 1e-5
    for k, unit in enumerate(np.eye(flat.size)):
        up, down = sums(flat + step * unit), sums(flat - step * unit)
        assert found.gradient.T.ravel()[k] == pytest.approx((up.loss - down.loss) / (2 * step), rel=1e-6, abs=1e-6)
        slope = (up.gradient - down.gradient).T.ravel() / (2 * step)
        np.testing.assert_allclose(found.curvature[k], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["two classes", "softmax", "squared"])
def test_sparse_rows_are_as_dense_ones(name):
    objective, X, y, weights, scaling, model = problem(name)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    dense, csr = (
        second_order(objective, pieces_of(form(X), y, weights, scaling), model)
        for form in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_allclose(csr.curvature, dense.curvature, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(csr.gradient, dense.gradient, rtol=1e-12, atol=1e-9)


def test_rows_of_weight_0_are_not_there():
    objective, X, y, weights, scaling, model = problem("softmax")
    used = weights > 0
    whole = second_order(objective, pieces_of(X, y, weights, scaling), model)
    part = second_order(objective, pieces_of(X[used], y[used], weights[used], scaling), model)
    assert np.array_equal(whole.curvature, part.curvature)
    assert whole.loss == part.loss


def test_parts_add_up():
    objective, X, y, weights, scaling, model = problem("two classes", 2 * PIECE + 100)
    whole = second_order(objective, pieces_of(X, y, weights, scaling), model)
    parts = [
        second_order(objective, pieces_of(X[part], y[part], weights[part], scaling), model)
        for part in np.array_split(np.arange(len(y)), 3)
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    np.testing.assert_allclose(merged.curvature, whole.curvature, rtol=1e-12)
    assert merged.loss == pytest.approx(whole.loss, rel=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_products_and_the_diagonal_are_those_of_the_curvature(name, form):
    objective, X, y, weights, scaling, model = problem(name)
    pieces = pieces_of(form(X), y, weights, scaling)
    curvature = second_order(objective, pieces, model).curvature
    diagonal = second_order(objective, pieces, model, curvature="diagonal").diagonal
    np.testing.assert_allclose(diagonal.T.ravel(), np.diag(curvature), rtol=1e-7)
    direction = np.random.default_rng(2).standard_normal(model.shape)
    found = curvature_products(objective, pieces, model)(direction)
    np.testing.assert_allclose(found.T.ravel(), curvature @ direction.T.ravel(), rtol=1e-8, atol=1e-8)
