"""Outer products of gradients against sums over single rows, whatever the storage, the pieces or the weights."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax

from running import objective_of
from sgdone.inference.sample_rows import SamplePreparation, SampleRows
from sgdone.inference.sums_at_model import _GROUPS, GroupScoresAt, ScoreProductsAt
from sgdone.losses import Logistic, Squared, SquaredHinge
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE
from sgdone.sums.system import System, contrasts

OBJECTIVES = {
    "two classes": objective_of(Logistic(), 2),
    "softmax": objective_of(Logistic(), 3),
    "one against the rest": objective_of(SquaredHinge(), 3),
    "squared": objective_of(Squared(), None),
}
FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
SCALING = Scaling(np.array([2.0, 0.5]))


def problem(name, n_rows):
    """Rows, their labels, weights of which some are 0, and a model of them."""
    rng, objective = np.random.default_rng(0), OBJECTIVES[name]
    X = rng.standard_normal((n_rows, 2)) * (rng.random((n_rows, 2)) < 0.7)
    if objective.is_regression:
        y = rng.standard_normal(n_rows)
    else:
        y = rng.choice([-1.0, 1.0], n_rows) if objective.n_outputs == 1 else rng.integers(0, 3, n_rows).astype(float)
    weights = rng.integers(0, 3, n_rows).astype(float)
    return objective, X, y, weights, rng.standard_normal((3, objective.n_free_outputs))


def gradients(name, X, y, model):
    """Gradients of the rows, one line each, output by output, with the derivatives written out."""
    objective = OBJECTIVES[name]
    design = np.column_stack([X / SCALING.scale, np.ones(len(X))])
    basis = contrasts(objective)
    scores = design @ (model if basis is None else model @ basis.T)
    if name == "two classes":
        slopes = -(y * expit(-y * scores[:, 0]))[:, None]
    elif name == "softmax":
        slopes = (softmax(scores, axis=1) - np.eye(3)[y.astype(int)]) @ basis
    elif name == "one against the rest":
        signs = np.where(np.arange(3) == y[:, None], 1.0, -1.0)
        slopes = -signs * np.maximum(0.0, 1.0 - signs * scores)
    else:
        slopes = scores - y[:, None]
    return np.concatenate([slopes[:, [a]] * design for a in range(slopes.shape[1])], axis=1)


@FORMS
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_products_of_rows(name, power, form):
    objective, X, y, weights, model = problem(name, 60)
    found = rows_of(form(X), y, weights).sum(ScoreProductsAt(System(objective, SCALING), model, power)).values
    own = gradients(name, X, y, model)
    expected = sum((0.5 * v) ** power * np.outer(g, g) for v, g in zip(weights, own, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def rows_of(X, y, weights, groups=None):
    return SampleRows.of(X, y, weights, groups).prepared(SamplePreparation(frequency=0.5))


def group_score_products(objective, rows, model):
    return rows.sum(GroupScoresAt(System(objective, SCALING), model, np.empty(0))).matrix


def expected_of_groups(name, X, y, weights, model, groups):
    own = 0.5 * weights[:, None] * gradients(name, X, y, model)
    sums = np.zeros((groups.max() + 1, own.shape[1]))
    np.add.at(sums, groups, own)
    return sums.T @ sums


@FORMS
@pytest.mark.parametrize("name", OBJECTIVES)
def test_products_of_groups(name, form):
    objective, X, y, weights, model = problem(name, 60)
    groups = np.random.default_rng(1).integers(0, 9, 60)
    found = group_score_products(objective, rows_of(form(X), y, weights, groups), model)
    expected = expected_of_groups(name, X, y, weights, model, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(
    "sizes",
    [
        [PIECE + 50, 20, 30],
        [100, 2 * PIECE + 700, 5],
        [PIECE, PIECE, 7],
        [*[1] * (2 * _GROUPS), 3],
        [*[2] * (_GROUPS - 1), 2 * PIECE, *[1] * _GROUPS],
    ],
    ids=["longer than a piece", "over three pieces", "as long as a piece", "many", "many and a long one"],
)
def test_a_group_may_lie_in_several_pieces_and_groups_may_be_many(sizes):
    name, n_rows = "two classes", sum(sizes)
    objective, X, y, weights, model = problem(name, n_rows)
    weights += 1.0
    groups = np.random.default_rng(2).permutation(np.repeat(np.arange(len(sizes)), sizes))
    found = group_score_products(objective, rows_of(X, y, weights, groups), model)
    np.testing.assert_allclose(found, expected_of_groups(name, X, y, weights, model, groups), rtol=1e-10)


def test_a_group_whose_rows_have_weight_0_adds_nothing():
    name = "squared"
    objective, X, y, weights, model = problem(name, 40)
    groups = np.arange(40) // 5
    weights[groups == 3] = 0.0
    kept = groups != 3
    part = rows_of(X[kept], y[kept], weights[kept], groups[kept])
    whole = group_score_products(objective, rows_of(X, y, weights, groups), model)
    assert np.array_equal(whole, group_score_products(objective, part, model))
