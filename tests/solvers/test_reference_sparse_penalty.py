"""The slow reference of L1 and elastic net by proximal steps, by hand."""

import numpy as np
import pytest
from reference_sparse_penalty import proximal, soft_threshold, truncated_sgd
from scipy.optimize import minimize_scalar

from problems import LOSSES, random_problem
from sgdone.losses import Logistic, Squared
from sgdone.papers.averaging.reference import schedule
from sgdone.papers.sgd_reference import explicit, sgd


def weights_of(path):
    return np.array([w for w, _ in path])


def intercepts_of(path):
    return np.array([b for _, b in path])


def decreasing(t):
    return schedule(0.3, 0.5, 0.75, t)


# --- The step -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [-2.0, -0.3, 0.0, 0.2, 1.7])
@pytest.mark.parametrize("threshold", [0.0, 0.25, 3.0])
def test_soft_threshold_is_the_proximal_point_of_the_absolute_value(w, threshold):
    found = minimize_scalar(lambda u: 0.5 * (u - w) ** 2 + threshold * abs(u), bounds=(-4, 4), method="bounded")
    assert soft_threshold(np.array([w]), threshold) == pytest.approx([found.x], abs=1e-5)


def test_the_step_by_hand():
    # α₁ = 0.3, α₂ = 0.7, γ = 0.1. z = 2 − 0.5 + 1, slope 2·(2.5 − 0.5) = 4: 0.93·w − 0.4·x, and 0.03 off.
    step = proximal(Squared(), 1.0, 0.3, True)
    w, b = step(np.array([1.0, -0.5, 0.03]), 1.0, np.array([2.0, 1.0, 0.0]), 0.5, 2.0, 0.1)
    assert w == pytest.approx([0.93 - 0.8 - 0.03, -0.465 - 0.4 + 0.03, 0.0])
    assert w[2] == 0.0
    assert b == pytest.approx(1.0 - 0.4)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_without_l1_it_is_the_explicit_step(loss):
    problem = random_problem(1, loss, n_rows=80, n_features=5)
    rows = 0.3 * problem.X, problem.y, problem.weights
    l2 = sgd(*rows, decreasing, proximal(loss, 0.2, 0.0, True))
    plain = sgd(*rows, decreasing, explicit(loss, 0.2, True))
    assert np.array_equal(weights_of(l2), weights_of(plain))
    assert np.array_equal(intercepts_of(l2), intercepts_of(plain))


def test_a_feature_seen_once_falls_in_a_straight_line_to_zero_and_stays():
    X, y = np.zeros((12, 1)), np.zeros(12)
    X[0], y[0] = 1.0, 1.0
    path = sgd(X, y, np.ones(12), lambda t: 0.5, proximal(Squared(), 0.2, 1.0, False))
    assert weights_of(path)[:, 0] == pytest.approx([0.0, 0.4, 0.3, 0.2, 0.1] + [0.0] * 8, abs=1e-15)
    assert not np.any(weights_of(path)[6:])


# --- The optimum --------------------------------------------------------------------------------------------------


def test_truncating_every_row_is_the_proximal_step():
    problem = random_problem(13, Logistic(), n_rows=100, n_features=6)
    rows = problem.X, problem.y, problem.weights
    path = truncated_sgd(*rows, decreasing, Logistic(), 0.1, 0.6, True, 1)
    plain = sgd(*rows, decreasing, proximal(Logistic(), 0.1, 0.6, True))
    assert np.array_equal(weights_of(path), weights_of(plain))
    assert np.array_equal(intercepts_of(path), intercepts_of(plain))


def test_truncating_every_third_row_by_hand():
    # One row of weight 0 between: ½·1 after the first, 0.9·½ and 0.81·½ by L2, and then 3·0.02 off.
    X, y, v = np.zeros((5, 1)), np.zeros(5), np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    X[0], y[0] = 1.0, 1.0
    path = truncated_sgd(X, y, v, lambda t: 0.5, Squared(), 0.24, 1 / 6, False, 3)
    assert weights_of(path)[:, 0] == pytest.approx([0.0, 0.5, 0.45, 0.405 - 0.06, 0.9 * 0.345])
