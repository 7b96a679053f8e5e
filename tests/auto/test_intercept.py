"""The intercept of a fit's end: predictions of all rows are right on average, and nothing else changes."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax

from sgdone.auto import Task, intercept
from sgdone.auto.intercept import balanced
from sgdone.data import ArraySource
from sgdone.data.source import Block
from sgdone.losses import Hinge, Logistic, Squared

ALL = 10**9


def block_of(X, labels, weights=None):
    return next(ArraySource(X, labels, weights).blocks(np.random.default_rng(0)))


@pytest.fixture(name="X")
def rows(rng):
    return rng.standard_normal((300, 4)) * (rng.random((300, 4)) < 0.5)


def weights_of(rng, kind):
    return {"none": None, "some": rng.integers(0, 3, 300).astype(float)}[kind]


weighted = pytest.mark.parametrize("kind", ["none", "some"])
in_both_forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@weighted
@in_both_forms
@pytest.mark.parametrize("share", [0.01, 0.4])
def test_two_classes_have_their_shares(share, form, kind, X, rng):
    labels = np.where(rng.random(300) < share, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    weights, coef = weights_of(rng, kind), rng.standard_normal((1, 4))
    if weights is not None:
        weights[:2] = 1.0
    found = balanced(Task.of(Logistic(), 2, True), coef, np.array([3.0]), block_of(form(X), labels, weights), ALL)
    chances = expit(X @ coef[0] + found[0])
    assert np.average(chances, weights=weights) == pytest.approx(np.average(labels > 0, weights=weights), rel=1e-9)


@weighted
@in_both_forms
def test_classes_have_their_shares(form, kind, X, rng):
    labels = np.minimum(rng.integers(0, 40, 300), 4).astype(float)
    weights, coef = weights_of(rng, kind), 3.0 * rng.standard_normal((5, 4))
    task, block = Task.of(Logistic(), 5, True), block_of(form(X), labels, weights)
    assert task.kind == "softmax"
    found = balanced(task, coef, rng.standard_normal(5), block, ALL)
    chances = np.average(softmax(X @ coef.T + found, axis=1), axis=0, weights=weights)
    shares = [np.average(labels == k, weights=weights) for k in range(5)]
    np.testing.assert_allclose(chances, shares, rtol=1e-8)
    np.testing.assert_allclose(balanced(task, coef, found, block, ALL), found, atol=1e-8)


@weighted
def test_residuals_cancel(kind, X, rng):
    labels, weights = rng.standard_normal(300) + 7.0, weights_of(rng, kind)
    coef = rng.standard_normal((1, 4))
    found = balanced(Task.of(Squared(), None, True), coef, np.zeros(1), block_of(X, labels, weights), ALL)
    assert np.average(labels - X @ coef[0] - found[0], weights=weights) == pytest.approx(0.0, abs=1e-12)


def test_a_class_without_rows_stays_where_it_is(X, rng):
    """Its share of 0 is at −∞; the others share what is left."""
    labels = rng.integers(0, 2, 300).astype(float)
    found = balanced(Task.of(Logistic(), 3, True), np.zeros((3, 4)), np.zeros(3), block_of(X, labels), ALL)
    chances = softmax(found)
    assert np.all(np.isfinite(found))
    assert chances[0] / chances[1] == pytest.approx((labels == 0).sum() / (labels == 1).sum(), rel=0.2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_told_apart_for_good_move_nothing(n_classes, rng):
    """Where every probability is 0 or 1 the intercept does not matter, and there is no slope to follow."""
    numbers = rng.integers(0, n_classes, 300)
    X = np.eye(n_classes)[numbers] * 100.0
    coef = np.eye(n_classes) if n_classes > 2 else np.array([[-1.0, 1.0]])
    labels = 2.0 * numbers - 1.0 if n_classes == 2 else numbers.astype(float)
    before = np.zeros(len(coef))
    found = balanced(Task.of(Logistic(), n_classes, True), coef, before, block_of(X, labels), ALL)
    assert np.array_equal(found, before)


def test_huge_scores_stay_finite(X, rng):
    labels = np.where(rng.random(300) < 0.3, 1.0, -1.0)
    found = balanced(Task.of(Logistic(), 2, True), np.full((1, 4), 1e6), np.zeros(1), block_of(X, labels), ALL)
    assert np.all(np.isfinite(found))


def test_no_more_rows_are_asked_than_were_learnt_from(rng, monkeypatch):
    """One row in ten: the shares are about theirs, in whatever order the rows come."""
    asked = []
    weights_of = Block.weights_of
    monkeypatch.setattr(Block, "weights_of", lambda block, rows: (asked.append(rows.size), weights_of(block, rows))[1])
    for labels in (np.where(rng.random(10_000) < 0.5, 1.0, -1.0), np.where(np.arange(10_000) % 2, 1.0, -1.0)):
        for weights in (None, (np.arange(10_000) % 5 > 0).astype(float)):
            block = block_of(np.zeros((10_000, 1)), labels, weights)
            found = balanced(Task.of(Logistic(), 2, True), np.zeros((1, 1)), np.ones(1), block, 1000)
            assert expit(found[0]) == pytest.approx(0.5, abs=0.06)
    assert asked == [1000] * 4


def test_a_class_that_is_not_asked_keeps_its_share(rng):
    """The others share what it leaves; they do not push it away."""
    scores = np.array([0.0, 0.5, -8.0]) + rng.standard_normal((2000, 3))
    labels = rng.integers(0, 2, 2000).astype(float)
    task = Task.of(Logistic(), 3, True)
    found = balanced(task, np.eye(3), np.zeros(3), block_of(scores, labels), ALL)
    before, after = (softmax(scores + shift, axis=1).mean(axis=0) for shift in (np.zeros(3), found))
    assert after[2] == pytest.approx(before[2], rel=0.5)
    assert after[1] / after[0] == pytest.approx((labels == 1).sum() / (labels == 0).sum(), rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@in_both_forms
def test_rows_that_were_never_read_may_hold_anything(bad, form, X, rng):
    labels, coef = np.where(rng.random(300) < 0.3, 1.0, -1.0), rng.standard_normal((1, 4))
    expected = balanced(Task.of(Logistic(), 2, True), coef, np.zeros(1), block_of(form(X[1:]), labels[1:]), ALL)
    X[0] = bad
    with np.errstate(invalid="ignore"):
        found = balanced(Task.of(Logistic(), 2, True), coef, np.zeros(1), block_of(form(X), labels), ALL)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@in_both_forms
def test_rows_of_single_precision_are_asked_in_pieces(form, X, rng, monkeypatch):
    labels, coef = np.where(rng.random(300) < 0.3, 1.0, -1.0), rng.standard_normal((1, 4))
    expected = balanced(Task.of(Logistic(), 2, True), coef, np.zeros(1), block_of(X, labels), ALL)
    monkeypatch.setattr(intercept, "_PIECE", 100)
    found = balanced(Task.of(Logistic(), 2, True), coef, np.zeros(1), block_of(form(X.astype(np.float32)), labels), ALL)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("task", [Task.of(Logistic(), 2, False), Task.of(Hinge(), 2, True), Task.of(Hinge(), 3, True)])
def test_left_alone_where_there_is_no_such_intercept(task, X, rng):
    labels = np.where(rng.random(300) < 0.5, 1.0, -1.0) if task.n_outputs == 1 else rng.integers(0, 3, 300) * 1.0
    before = np.full(task.n_outputs, 0.5)
    assert balanced(task, np.ones((task.n_outputs, 4)), before, block_of(X, labels), ALL) is before
