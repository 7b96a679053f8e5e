"""The rules of Baghal et al. on cases done by hand, against the plain path of SGD, and on the paper's Gaussians."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import norm

from problems import random_problem
from sgdone.losses import Hinge, Logistic, Squared
from sgdone.papers.diagnostics.reference import implicit
from sgdone.papers.sgd_reference import explicit, sgd
from sgdone.papers.termination.reference import (
    centre,
    class_scale,
    margin_test,
    margin_test_fresh,
    small_validation_set,
)

HINGE = explicit(Hinge(), 0.0, False)
RULES = {
    "margin": margin_test,
    "fresh": margin_test_fresh,
    "validation": lambda *problem: small_validation_set(*problem, size=7, every=5),
}


def column(*values):
    return np.array(values, dtype=float)[:, np.newaxis]


def constant(gamma):
    return lambda t: gamma


def same(found, expected):
    assert found[0] == expected[0]
    assert np.array_equal(found[1], expected[1])
    assert found[2] == expected[2]


def test_margin_test_returns_theta_without_the_sample_that_fired():
    # θ: 0, then ½·1 = ½, then ½ + ½·1 = 1; the third row (x = 1) has margin 1 ≥ 1.
    k, w, b = margin_test(column(1, -1, 1, 7), np.array([1.0, -1, 1, 1]), np.ones(4), constant(0.5), HINGE)
    assert (k, *w, b) == (2, 1.0, 0.0)


def test_margin_test_uses_the_label_the_intercept_and_its_threshold():
    update = explicit(Hinge(), 0.0, True)
    # w and b both gain ½; z of the second row is −½·3 + ½ = −1: margin 1 of its label −1.
    rows = column(1, -3), np.array([1.0, -1.0]), np.ones(2), constant(0.5), update
    assert margin_test(*rows)[0] == 1
    assert margin_test(*rows, threshold=1.001)[0] is None


def test_margin_test_that_never_fires_returns_the_last_theta():
    k, w, _ = margin_test(column(1, 1), np.ones(2), np.ones(2), constant(0.25), HINGE)
    assert k is None
    assert w == 0.5


def test_fresh_test_trains_on_the_first_of_each_pair_only():
    # EndedPhase on rows 0 and 2: θ = ½, then ½ + ½ = 1. Row 1 has margin ½, row 3 margin 1; row 1 would have moved θ.
    k, w, _ = margin_test_fresh(column(1, 1, 1, 1, 1), np.ones(5), np.ones(5), constant(0.5), HINGE)
    assert (k, *w) == (2, 1.0)


def test_fresh_test_may_fire_right_after_the_first_update():
    assert margin_test_fresh(column(1, 4), np.ones(2), np.ones(2), constant(0.25), HINGE)[0] == 1


def test_fresh_test_trains_on_a_last_row_without_a_partner():
    k, w, _ = margin_test_fresh(column(1, 0, 1), np.ones(3), np.ones(3), constant(0.25), HINGE)
    assert k is None
    assert w == 0.5


def test_rows_of_weight_0_do_not_break_the_pairs():
    X, weights = column(1, 9, 1, 9, 1, 1), np.array([1.0, 0, 1, 0, 1, 1])
    same(
        margin_test_fresh(X, np.ones(6), weights, constant(0.5), HINGE),
        margin_test_fresh(column(1, 1, 1, 1), np.ones(4), np.ones(4), constant(0.5), HINGE),
    )


def test_validation_set_stops_at_the_first_check_that_is_no_better():
    # Held out: x = 1 of class 1 and x = 2 of class −1. θ = 1 after the first update: one right of two, and so ever on.
    X, y = column(1, 2, 1, 1, 1, 1, 1), np.array([1.0, -1, 1, 1, 1, 1, 1])
    for every in (1, 2):
        k, w, _ = small_validation_set(X, y, np.ones(7), constant(0.25), HINGE, size=2, every=every)
        assert (k, *w) == (2 * every, 0.5 * every)


def test_validation_set_counts_a_prediction_of_0_as_the_class_minus_1():
    # x = 0 trains nothing, so z = 0: right for the row of class −1 (1 of 1 at both checks), and the second stops.
    # Of the class 1 it is wrong at first; then θ > 0 makes it right, and only the third check, no better, stops.
    y = np.array([-1.0, 1, 1, 1])
    assert small_validation_set(column(1, 0, 0, 1), y, np.ones(4), constant(0.5), HINGE, size=1, every=1)[0] == 2
    assert (
        small_validation_set(column(1, 0, 1, 1), -y * [1, -1, -1, -1], np.ones(4), constant(0.5), HINGE, 1, 1)[0] == 3
    )


def test_validation_set_holds_out_no_row_that_it_trains_on():
    # θ = −½, then 1½ for good: x = 1 of class 1, held out, is wrong, right, right. The row trained on first goes
    # from right to wrong, and with it among those held out the second check would be no better.
    X, y = column(1, 1, 4, 1), np.array([1.0, -1, 1, 1])
    k, w, _ = small_validation_set(X, y, np.ones(4), constant(0.5), HINGE, size=1, every=1)
    assert (k, *w) == (3, 1.5)


def test_validation_set_that_ends_with_the_rows_held_out_makes_no_update():
    k, w, b = small_validation_set(column(1, 2), np.ones(2), np.ones(2), constant(0.5), HINGE, size=5, every=1)
    assert (k, *w, b) == (None, 0.0, 0.0)


@hypothesis_settings(max_examples=20)
@given(seed=st.integers(0, 10**6), implicit_step=st.booleans(), threshold=st.floats(0.2, 2.0))
def test_margin_test_is_the_first_margin_along_the_path(seed, implicit_step, threshold):
    problem = random_problem(seed, Logistic(), n_rows=60)
    update = (implicit if implicit_step else explicit)(Logistic(), 0.01, True)
    rows = problem.X, problem.y, problem.weights, lambda t: 0.6 / t**0.5, update
    k, w, b = margin_test(*rows, threshold=threshold)
    path, used = sgd(*rows), np.flatnonzero(problem.weights)
    margins = [y * (x @ w + b) for (w, b), x, y in zip(path, problem.X[used], problem.y[used], strict=False)]
    same((k, w, b), (k, *path[-1 if k is None else k]))
    assert max(margins[:k], default=0.0) < threshold
    assert k is None or margins[k] >= threshold


@hypothesis_settings(max_examples=20)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(RULES)))
def test_a_row_of_weight_0_might_as_well_not_be_there(seed, name):
    problem = random_problem(seed, Hinge(), n_rows=80)
    there = problem.weights > 0
    rule, step = RULES[name], (lambda t: 0.3 / t**0.5, explicit(Hinge(), 0.01, True))
    same(
        rule(problem.X, problem.y, problem.weights, *step),
        rule(problem.X[there], problem.y[there], problem.weights[there], *step),
    )


@hypothesis_settings(max_examples=20)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 40), every=st.integers(1, 9))
def test_validation_set_stops_at_the_first_fall_or_standstill_along_the_path(seed, size, every):
    problem = random_problem(seed, Logistic(), n_rows=100)
    gamma, update = lambda t: 0.6 / t**0.5, explicit(Logistic(), 0.01, True)
    X, y, v = (array[problem.weights > 0] for array in (problem.X, problem.y, problem.weights))
    found = small_validation_set(problem.X, problem.y, problem.weights, gamma, update, size, every)
    path = sgd(X[size:], y[size:], v[size:], gamma, update)
    right = [np.count_nonzero((X[:size] @ w + b > 0) == (y[:size] > 0)) for w, b in path[every::every]]
    no_better = np.flatnonzero(np.diff(right) <= 0)
    k = (no_better[0] + 2) * every if len(no_better) else None
    same(found, (k, *path[-1 if k is None else k]))


@hypothesis_settings(max_examples=20)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 6))
def test_validation_set_of_p_rows_ends_by_its_check_p_plus_2(seed, size):
    """The fraction has p + 1 values and must rise. (The paper's "upper bound of pl" overlooks the first check.)"""
    problem = random_problem(seed, Logistic(), n_rows=100, n_features=3)
    step = constant(0.1), explicit(Logistic(), 0.0, True)
    k, _, _ = small_validation_set(problem.X, problem.y, problem.weights, *step, size=size, every=3)
    assert k is not None
    assert 6 <= k <= (size + 2) * 3


def test_centre_is_halfway_between_the_class_means_of_the_first_rows():
    X, y = column(0, 2, 8, 10, 500), np.array([-1.0, 1, 1, -1, 1])
    assert centre(X, y, np.ones(5), samples=4) == 5.0
    assert centre(X, y, np.ones(5), samples=2) == 1.0
    # Of means 0 and (2 + 8)/2, weighing the classes alike and not by their rows.
    assert centre(X, y, np.ones(5), samples=3) == 2.5
    # Row 0 skipped: 2, 8, 10.
    assert centre(X, y, np.array([0.0, 1, 3, 2, 1]), samples=3) == 7.5


def test_class_scale_averages_the_scatter_of_the_two_classes():
    X, y = column(0, 2, 8, 10, 500), np.array([-1.0, 1, 1, -1, 1])
    assert class_scale(X, y, np.ones(5), samples=4) == (25 + 9) / 2
    assert class_scale(X, y, np.ones(5), samples=3) == (0 + 9) / 2
    assert class_scale(np.hstack([X, -X]), y, np.ones(5), samples=4) == 25 + 9
    assert class_scale(X - 77, y, np.ones(5), samples=4) == (25 + 9) / 2


def test_preliminary_rows_reach_to_the_first_of_a_class_that_comes_late():
    X, y = column(0, 2, 4, 10, 30), np.array([-1.0, -1, -1, 1, 1])
    assert centre(X, y, np.ones(5), samples=2) == (2 + 10) / 2
    assert class_scale(X, y, np.ones(5), samples=2) == pytest.approx((8 / 3 + 0) / 2)
    assert centre(X, -y, np.ones(5), samples=2) == (2 + 10) / 2
    assert centre(X, y, np.array([1.0, 1, 1, 0, 1]), samples=2) == (2 + 30) / 2
    with pytest.raises(ValueError, match=r"-1\.0 is not in list"):
        centre(X[3:], y[3:], np.ones(2))


# --- The mixture of section 5.1: N(0, σ²I) and N(e₁, σ²I), d = 500 ------------------------------------------------


def mixture(rng, n_rows, sigma, d=500):
    y = rng.choice([-1.0, 1.0], n_rows)
    X = sigma * rng.standard_normal((n_rows, d))
    X[:, 0] += y > 0
    return X, y, np.ones(n_rows)


def accuracy(w, offset, sigma):
    """The probability that (x − offset)ᵀw has the sign of the class of x."""
    spread = sigma * np.linalg.norm(w)
    return 0.5 * (norm.cdf((w[0] - offset @ w) / spread) + norm.cdf(offset @ w / spread))


def stops(rule, loss, n_rows, sigma=0.25, runs=5):
    """Where the rule stopped and how accurate it then was, in units of the best accuracy there is."""
    steps, scores = [], []
    for seed in range(runs):
        X, y, v = mixture(np.random.default_rng(seed), n_rows, sigma)
        offset, gamma = centre(X, y, v), 1 / 16 / class_scale(X, y, v)
        k, w, _ = rule(X - offset, y, v, constant(gamma), explicit(loss, 0.0, False))
        assert k is not None
        steps.append(k)
        scores.append(accuracy(w, offset, sigma))
    return np.mean(steps), np.mean(scores) / norm.cdf(0.5 / sigma)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "expected", "score"), [(Logistic(), 1900, 0.995), (Hinge(), 890, 0.990)])
def test_margin_test_stops_where_the_paper_s_does(loss, expected, score):
    mean_stop, mean_score = stops(margin_test, loss, 4000)
    assert mean_stop == pytest.approx(expected, rel=0.15)
    assert mean_score == pytest.approx(score, abs=0.01)
    assert mean_score >= 0.98


def test_a_fresh_sample_makes_no_difference_to_speak_of():
    """Section 5: "the behaviors of the two criteria were indistinguishable"."""
    mean_stop, mean_score = stops(margin_test_fresh, Hinge(), 4000)
    assert mean_stop == pytest.approx(890, rel=0.15)
    assert mean_score >= 0.98


def test_least_squares_reaches_the_margin_too():
    """The rule is of the prediction, whatever loss it was trained on."""
    mean_stop, mean_score = stops(margin_test, Squared(), 4000, runs=2)
    assert 0 < mean_stop < 4000
    assert mean_score > 0.9


def test_class_scale_estimates_sigma_squared_times_d(rng):
    X, y, v = mixture(rng, 100, sigma=0.7)
    assert class_scale(X, y, v) == pytest.approx(0.7**2 * 500, rel=0.1)
    assert np.linalg.norm(centre(X, y, v) - 0.5 * np.eye(500)[0]) < 2 * 0.7 * np.sqrt(500 / 100)
