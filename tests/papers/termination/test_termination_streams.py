"""Generated rows, and the runs on them beside their reference implementations."""

import itertools

import numpy as np
import pytest
from scipy import stats

from sgdone.losses import Hinge, Logistic
from sgdone.papers.sgd_reference import explicit
from sgdone.papers.termination.reference import centre, class_scale, margin_test
from sgdone.papers.termination.runs import LONGER, MARGIN, five_tests, homogeneous_run, svs
from sgdone.papers.termination.two_classes import (
    gaussian,
    gaussian_accuracy,
    optimal_gaussian_accuracy,
    student_t,
    two_classes,
)
from sgdone.stopping import MarginTest, MaxSamples


def rows_of(stream, seed, blocks):
    taken = list(itertools.islice(stream.blocks(np.random.default_rng(seed)), blocks))
    return np.concatenate([block.rows.arrays[0] for block in taken]), np.concatenate([block.labels for block in taken])


@pytest.mark.parametrize(
    ("noise", "distribution"), [(gaussian, stats.norm(scale=0.3)), (student_t, stats.t(2, scale=0.3))]
)
def test_rows_are_drawn_as_the_paper_says(noise, distribution):
    X, y = rows_of(two_classes(4, 0.3, noise), 1, 8)
    assert stats.binomtest(int((y > 0).sum()), y.size).pvalue > 1e-3
    noise_alone = X - np.outer(y > 0, np.eye(4)[0])
    for column in noise_alone.T:
        assert stats.kstest(column, distribution.cdf).pvalue > 1e-3
    assert stats.spearmanr(noise_alone[:, 0], noise_alone[:, 1]).pvalue > 1e-3


def test_a_stream_has_no_end_and_follows_its_seed():
    stream = two_classes(2, 1.0)
    assert stream.n_rows is None
    X, y = rows_of(stream, 7, 20)
    again, labels = rows_of(stream, 7, 20)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert len(np.unique(X[:, 0])) == X.shape[0]


def test_the_accuracy_is_that_of_many_rows():
    coef, intercept = np.array([1.0, 0.4, -0.2]), -0.3
    X, y = rows_of(two_classes(3, 0.7), 2, 100)
    right = ((X @ coef + intercept > 0) == (y > 0)).sum()
    assert stats.binomtest(int(right), y.size, gaussian_accuracy(coef, intercept, 0.7)).pvalue > 1e-3


def test_no_classifier_beats_the_optimal_one(rng):
    best = optimal_gaussian_accuracy(0.7)
    assert gaussian_accuracy(np.array([2.0, 0.0]), -1.0, 0.7) == pytest.approx(best)
    for coef in rng.standard_normal((50, 2)):
        assert gaussian_accuracy(coef, rng.standard_normal(), 0.7) <= best
    assert gaussian_accuracy(np.zeros(2), 0.0, 0.7) == 0.5


@pytest.mark.parametrize("loss", [Logistic(), Hinge()])
def test_a_run_is_the_papers(loss):
    seed = np.random.SeedSequence(11)
    stream = two_classes(20, 0.5)
    result = homogeneous_run(stream, loss.name, 1 / 16, MarginTest(), seed)
    X, y = rows_of(stream, seed, 4)
    weights, offset = np.ones(y.size), centre(X, y, np.ones(y.size))
    step = 1 / 16 / class_scale(X, y, weights)
    k, coef, _ = margin_test(X - offset, y, weights, lambda t: step, explicit(loss, 0.0, False))
    assert result.verdict.step == k
    np.testing.assert_allclose(result.coef, coef, rtol=1e-9)
    assert result.intercept == pytest.approx(-coef @ offset, rel=1e-9)


def test_five_tests_end_one_random_run():
    stream, seed = two_classes(20, 0.5), np.random.SeedSequence(3)
    sizes = (8, 32, 128)
    rows = five_tests(stream, "hinge", 1 / 200, sizes, MaxSamples(100_000), lambda coef, intercept: coef[0], seed)
    by_test = {row["test"]: row for row in rows}
    assert list(by_test) == [svs(8), svs(32), svs(128), MARGIN, LONGER]
    assert all(row["fired"] == 1 for row in rows)
    for size in sizes:
        k = by_test[svs(size)]["iterations"]
        assert k % (2 * size) == 0
        assert 4 * size <= k <= 2 * size * (size + 1), "the fraction correct rises at most p times"
    assert by_test[LONGER]["iterations"] == np.ceil(1.5 * by_test[MARGIN]["iterations"])
    alone = homogeneous_run(stream, "hinge", 1 / 200, MarginTest(), seed)
    assert (by_test[MARGIN]["iterations"], by_test[MARGIN]["accuracy"]) == (alone.verdict.step, alone.coef[0])


def test_a_test_that_does_not_fire_is_told():
    stream, seed = two_classes(20, 0.5), np.random.SeedSequence(3)
    rows = five_tests(stream, "hinge", 1 / 200, (8,), MaxSamples(40), lambda coef, intercept: 0.5, seed)
    assert [(row["fired"], row["iterations"]) for row in rows[1:]] == [(0, 40), (0, 40)]
