"""The exact intercept: the slopes of the loss sum to 0 over all rows, and nothing else changes."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax

from running import objective_of
from sgdone.bank import intercept
from sgdone.bank.intercept import intercept_shift
from sgdone.interfaces.progress import Model
from sgdone.losses import Hinge, Logistic, Squared
from sgdone.rows import ArraySource
from sgdone.rows.source import Block
from tiers import fast_first

ALL = 10**9


def balanced_intercept(objective, coef, before, block, most_rows=ALL, seed=0):
    """The intercept found for some coefficients."""
    return before + intercept_shift(objective, Model(coef, before), block, most_rows, np.random.default_rng(seed))


def block_of(X, labels, weights=None):
    return next(ArraySource(X, labels, weights).blocks(np.random.default_rng(0)))


@pytest.fixture(name="X")
def rows(rng):
    return rng.standard_normal((300, 4)) * (rng.random((300, 4)) < 0.5)


def weights_of(rng, kind):
    return {"none": None, "some": rng.integers(0, 3, 300).astype(float)}[kind]


weighted = pytest.mark.parametrize("kind", ["none", "some"])
in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]))


@weighted
@in_both_forms
@pytest.mark.parametrize("share", [0.01, 0.4])
def test_probabilities_of_two_classes_average_to_the_frequency(share, form, kind, X, rng):
    labels = np.where(rng.random(300) < share, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    weights, coef = weights_of(rng, kind), rng.standard_normal((1, 4))
    if weights is not None:
        weights[:2] = 1.0
    found = balanced_intercept(objective_of(Logistic(), 2), coef, np.array([3.0]), block_of(form(X), labels, weights))
    chances = expit(X @ coef[0] + found[0])
    assert np.average(chances, weights=weights) == pytest.approx(np.average(labels > 0, weights=weights), rel=1e-9)


@weighted
@in_both_forms
def test_probabilities_of_classes_average_to_the_frequencies(form, kind, X, rng):
    labels = np.minimum(rng.integers(0, 40, 300), 4).astype(float)
    weights, coef = weights_of(rng, kind), 3.0 * rng.standard_normal((5, 4))
    objective, block = objective_of(Logistic(), 5), block_of(form(X), labels, weights)
    assert objective.predicts == "softmax"
    found = balanced_intercept(objective, coef, rng.standard_normal(5), block)
    chances = np.average(softmax(X @ coef.T + found, axis=1), axis=0, weights=weights)
    shares = [np.average(labels == k, weights=weights) for k in range(5)]
    np.testing.assert_allclose(chances, shares, rtol=1e-8)
    np.testing.assert_allclose(balanced_intercept(objective, coef, found, block), found, atol=1e-8)


@weighted
def test_residuals_cancel(kind, X, rng):
    labels, weights = rng.standard_normal(300) + 7.0, weights_of(rng, kind)
    coef = rng.standard_normal((1, 4))
    found = balanced_intercept(objective_of(Squared(), None), coef, np.zeros(1), block_of(X, labels, weights))
    assert np.average(labels - X @ coef[0] - found[0], weights=weights) == pytest.approx(0.0, abs=1e-12)


def test_a_class_without_rows_keeps_its_intercept(X, rng):
    """A frequency of 0 is at −∞; the others share the rest."""
    labels = rng.integers(0, 2, 300).astype(float)
    found = balanced_intercept(objective_of(Logistic(), 3), np.zeros((3, 4)), np.zeros(3), block_of(X, labels))
    chances = softmax(found)
    assert np.all(np.isfinite(found))
    assert chances[0] / chances[1] == pytest.approx((labels == 0).sum() / (labels == 1).sum(), rel=0.2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separated_rows_change_nothing(n_classes, rng):
    """Where every probability is 0 or 1 the intercept does not matter, and there is no slope to follow."""
    numbers = rng.integers(0, n_classes, 300)
    X = np.eye(n_classes)[numbers] * 100.0
    coef = np.eye(n_classes) if n_classes > 2 else np.array([[-1.0, 1.0]])
    labels = 2.0 * numbers - 1.0 if n_classes == 2 else numbers.astype(float)
    before = np.zeros(len(coef))
    found = balanced_intercept(objective_of(Logistic(), n_classes), coef, before, block_of(X, labels))
    assert np.array_equal(found, before)


def test_huge_scores_stay_finite(X, rng):
    labels = np.where(rng.random(300) < 0.3, 1.0, -1.0)
    found = balanced_intercept(objective_of(Logistic(), 2), np.full((1, 4), 1e6), np.zeros(1), block_of(X, labels))
    assert np.all(np.isfinite(found))


def test_no_more_rows_are_used_than_were_read(rng, monkeypatch):
    """One row in ten: frequencies are estimated from these, whatever the order of the rows."""
    used_rows = []
    weights_of = Block.weights_of
    monkeypatch.setattr(
        Block, "weights_of", lambda block, rows: (used_rows.append(rows.size), weights_of(block, rows))[1]
    )
    for labels in (np.where(rng.random(10_000) < 0.5, 1.0, -1.0), np.where(np.arange(10_000) % 2, 1.0, -1.0)):
        for weights in (None, (np.arange(10_000) % 5 > 0).astype(float)):
            block = block_of(np.zeros((10_000, 1)), labels, weights)
            found = balanced_intercept(objective_of(Logistic(), 2), np.zeros((1, 1)), np.ones(1), block, 1000)
            assert expit(found[0]) == pytest.approx(0.5, abs=0.06)
    assert used_rows == [1000] * 4


def test_the_sample_of_rows_depends_on_the_generator_only(rng):
    X, labels = rng.standard_normal((5000, 1)), np.where(rng.random(5000) < 0.3, 1.0, -1.0)
    first, again, other = (
        balanced_intercept(objective_of(Logistic()), np.ones((1, 1)), np.zeros(1), block_of(X, labels), 500, seed)
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_a_class_without_rows_keeps_its_mean_probability(rng):
    """The other classes share the rest."""
    scores = np.array([0.0, 0.5, -8.0]) + rng.standard_normal((2000, 3))
    labels = rng.integers(0, 2, 2000).astype(float)
    objective = objective_of(Logistic(), 3)
    found = balanced_intercept(objective, np.eye(3), np.zeros(3), block_of(scores, labels))
    before, after = (softmax(scores + shift, axis=1).mean(axis=0) for shift in (np.zeros(3), found))
    assert after[2] == pytest.approx(before[2], rel=0.5)
    assert after[1] / after[0] == pytest.approx((labels == 1).sum() / (labels == 0).sum(), rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@in_both_forms
def test_rows_that_were_never_read_may_contain_anything(bad, form, X, rng):
    labels, coef = np.where(rng.random(300) < 0.3, 1.0, -1.0), rng.standard_normal((1, 4))
    expected = balanced_intercept(objective_of(Logistic(), 2), coef, np.zeros(1), block_of(form(X[1:]), labels[1:]))
    X[0] = bad
    with np.errstate(invalid="ignore"):
        found = balanced_intercept(objective_of(Logistic(), 2), coef, np.zeros(1), block_of(form(X), labels))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@in_both_forms
def test_scores_of_float32_rows_are_computed_in_pieces(form, X, rng, monkeypatch):
    labels, coef = np.where(rng.random(300) < 0.3, 1.0, -1.0), rng.standard_normal((1, 4))
    expected = balanced_intercept(objective_of(Logistic(), 2), coef, np.zeros(1), block_of(X, labels))
    monkeypatch.setattr(intercept, "_PIECE", 100)
    found = balanced_intercept(
        objective_of(Logistic(), 2), coef, np.zeros(1), block_of(form(X.astype(np.float32)), labels)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "objective",
    fast_first(
        1, [objective_of(Logistic(), 2, fit_intercept=False), objective_of(Hinge(), 2), objective_of(Hinge(), 3)]
    ),
)
def test_the_model_is_unchanged_if_there_is_no_simple_solution(objective, X, rng):
    labels = np.where(rng.random(300) < 0.5, 1.0, -1.0) if objective.n_outputs == 1 else rng.integers(0, 3, 300) * 1.0
    before = np.full(objective.n_outputs, 0.5)
    found = balanced_intercept(objective, np.ones((objective.n_outputs, 4)), before, block_of(X, labels))
    assert np.array_equal(found, before)
