"""Sums over rows in memory, in blocks and in partitions are those of the definition; sums over some of the rows."""

import numpy as np
import pytest

from exact_problems import classes, pieces_of
from row_kinds import every_kind, rows_of
from running import objective_of
from sgdone.cluster.statistics import Statistics
from sgdone.losses import Exponential, Huber, Logistic, Squared, SquaredHinge
from sgdone.rows import ArraySource
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE
from sgdone.sums.row_sum import MemoryRows, SeveralSums, SubsetSum, message
from sgdone.sums.second_order import CurvatureProduct, LossesAt, SecondOrderAt, second_order
from sgdone.sums.system import System, contrasts

OBJECTIVES = {
    "two classes": objective_of(Logistic(), 2),
    "softmax": objective_of(Logistic(), 3),
    "one against the rest": objective_of(SquaredHinge(), 3),
    "squared": objective_of(Squared(), None),
    "huber": objective_of(Huber(0.7), None),
    "exponential": objective_of(Exponential(), 2),
}
#: The columns of numbers are centred, too.
SCALING = Scaling(np.array([30.0, 1.0, 0.5, 2.0, 1.0]), np.array([-100.0, 0.1, 0.0, 0.0, 0.0]))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def problem(name):
    objective = OBJECTIVES[name]
    kind = "regression" if objective.is_regression else "two classes" if objective.n_outputs == 1 else "three classes"
    X, y = rows_of(kind, 300)
    labels = np.where(y > 0, 1.0, -1.0) if kind == "two classes" else y.astype(float)
    rng = np.random.default_rng(1)
    system = System(objective, SCALING)
    return system, X, labels, rng.integers(0, 3, 300).astype(float), 0.1 * rng.standard_normal(system.shape)


def loss_of(system, X, labels, weights, model):
    """Σvℓ by its definition, for a model given as a vector: columns one after the other."""
    objective, basis = system.objective, contrasts(system.objective)
    model = model.reshape(system.shape[::-1]).T
    scores = (X - SCALING.shift) / SCALING.scale @ model[:-1] + model[-1]
    scores = scores if basis is None else scores @ basis.T
    if objective.predicts == "softmax":
        own = scores[np.arange(len(labels)), labels.astype(int)]
        return weights @ (np.logaddexp.reduce(scores, axis=1) - own)
    if objective.predicts == "one_vs_rest":
        signs = np.where(labels[:, None] == np.arange(scores.shape[1]), 1.0, -1.0)
        return weights @ objective.loss.value(scores, signs).sum(axis=1)
    return weights @ objective.loss.value(scores[:, 0], labels)


@every_kind
@pytest.mark.parametrize("name", OBJECTIVES)
def test_sums_are_those_of_the_definition(name, kind):
    """Loss, gradient, curvature, its diagonal and its products; rows of weight 0 do not count."""
    system, X, labels, weights, model = problem(name)
    rows, flat = kind.sums(X, labels, weights), model.T.ravel()
    found = rows.sum(SecondOrderAt(system, model))
    assert found.weight == weights.sum()
    assert found.loss == pytest.approx(loss_of(system, X, labels, weights, flat), rel=1e-10)
    step = 1e-5 * np.eye(flat.size)
    slopes = [
        (loss_of(system, X, labels, weights, flat + h) - loss_of(system, X, labels, weights, flat - h)) / 2e-5
        for h in step
    ]
    np.testing.assert_allclose(found.gradient.T.ravel(), slopes, rtol=1e-6, atol=1e-5 * np.abs(slopes).max())
    near = [
        rows.sum(SecondOrderAt(system, (flat + sign * step[3]).reshape(model.T.shape).T, "none")).gradient.T.ravel()
        for sign in (1.0, -1.0)
    ]
    curvature = found.curvature
    np.testing.assert_allclose(curvature[3], (near[0] - near[1]) / 2e-5, rtol=1e-4, atol=1e-4 * np.abs(curvature).max())
    close(rows.sum(SecondOrderAt(system, model, "diagonal")).diagonal.T.ravel(), np.diag(curvature))
    directions = np.random.default_rng(2).standard_normal((*system.shape, 2))
    products = rows.sum(CurvatureProduct(system, model, directions)).values
    for k in range(2):
        close(products[..., k].T.ravel(), curvature @ directions[..., k].T.ravel())


@every_kind
def test_several_sums_at_once_are_those_alone(kind):
    system, X, labels, weights, model = problem("two classes")
    rows = kind.sums(X, labels, weights)
    requests = (
        LossesAt(system, np.stack([model, 0.0 * model])),
        CurvatureProduct(system, model, np.ones(system.shape)),
        CurvatureProduct(system, model, model),
    )
    together = rows.sum(SeveralSums(requests)).values
    for one, request in zip(together, requests, strict=True):
        np.testing.assert_array_equal(one.values, rows.sum(request).values)
    expected = [loss_of(system, X, labels, weights, own.T.ravel()) for own in (model, 0.0 * model)]
    close(together[0].values[:2], expected)


def test_parts_of_several_pieces_add_up():
    X, y = classes(2, 2 * PIECE + 100)
    objective, model = objective_of(Logistic(), 2), 0.5 * np.ones((4, 1))
    whole = second_order(objective, pieces_of(X, y), model)
    parts = [
        second_order(objective, pieces_of(X[part], y[part]), model) for part in np.array_split(np.arange(len(y)), 3)
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    np.testing.assert_allclose(merged.curvature, whole.curvature, rtol=1e-12)
    assert merged.loss == pytest.approx(whole.loss, rel=1e-13)


def test_sums_that_need_their_order_are_not_wrapped():
    with pytest.raises(TypeError, match="Statistics is not for rows that are chosen or changed"):
        SubsetSum(Statistics("classification"), "training", 0)


def test_two_messages_do_not_share_a_name():
    with pytest.raises(TypeError, match="two messages are called LossesAt"):
        message(type("LossesAt", (), {}))


def test_validation_rows_and_the_others_are_all_rows():
    """Copies of a row are in the same set."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.standard_normal((150, 3)), 2, axis=0), rng.choice([-1.0, 1.0], 300)
    rows = MemoryRows(next(ArraySource(X, y, shuffle=False).blocks(rng)))
    system = System(objective_of(Logistic(), 2), Scaling(np.ones(3)))
    request = LossesAt(system, np.ones((1, *system.shape)))
    parts = [rows.sum(SubsetSum(request, row_set, 3)).values for row_set in ("training", "validation")]
    np.testing.assert_allclose(sum(parts), rows.sum(request).values)
    assert 0 < parts[1][-1] < 90
    chosen = rows.subset("validation", 3).block.all_used()
    np.testing.assert_array_equal(chosen[::2] + 1, chosen[1::2])
