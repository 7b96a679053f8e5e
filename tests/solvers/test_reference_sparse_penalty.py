"""L1 and elastic net by proximal steps: by hand, against scikit-learn's optima, and lazily as densely."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from reference_sparse_penalty import lazy_truncated_sgd, proximal, soft_threshold, truncated_sgd
from scipy.optimize import minimize_scalar
from sklearn.linear_model import ElasticNet, LogisticRegression

from problems import LOSSES, random_problem
from sgdone.losses import Hinge, Logistic, Squared
from sgdone.papers.averaging.reference import average, schedule
from sgdone.papers.sgd_reference import explicit, sgd

#: Before scikit-learn 1.8 `l1_ratio` needs a name for the penalty; since then the name is deprecated.
OLD = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 8)
ELASTIC_NET = {"penalty": "elasticnet"} if OLD else {}


def weights_of(path):
    return np.array([w for w, _ in path])


def intercepts_of(path):
    return np.array([b for _, b in path])


def decreasing(t):
    return schedule(0.3, 0.5, 0.75, t)


def objective(point, X, y, loss, alpha, l1_ratio):
    w, b = point
    penalty = l1_ratio * np.sum(np.abs(w)) + 0.5 * (1 - l1_ratio) * (w @ w)
    return float(np.mean(loss.value(X @ w + b, y))) + alpha * float(penalty)


def sparse_truth(loss, n_rows=300, n_features=8):
    """The last half of the features do not matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    truth = np.where(np.arange(n_features) < n_features // 2, 1.0, 0.0)
    scores = X @ truth + 0.5 + rng.standard_normal(n_rows)
    return X, scores if loss.name == "squared" else np.where(scores > 0.0, 1.0, -1.0)


def in_passes(X, y, passes):
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(len(y)) for _ in range(passes)])
    return X[order], y[order], np.ones(len(order))


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


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5], ids=["lasso", "elastic net"])
def test_proximal_sgd_reaches_the_optimum_of_least_squares(l1_ratio):
    loss, alpha = Squared(), 0.2
    X, y = sparse_truth(loss)
    exact = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-12, max_iter=100_000).fit(X, y)
    best = objective((exact.coef_, exact.intercept_), X, y, loss, alpha, l1_ratio)
    path = sgd(*in_passes(X, y, 50), lambda t: schedule(0.05, 0.5, 1.0, t), proximal(loss, alpha, l1_ratio, True))
    for point in (path[-1], average(path, len(path) // 2)):
        assert objective(point, X, y, loss, alpha, l1_ratio) == pytest.approx(best, rel=1e-3)
        assert point[0] == pytest.approx(exact.coef_, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5], ids=["l1", "elastic net"])
def test_proximal_sgd_reaches_the_optimum_of_logistic_regression(l1_ratio):
    loss, alpha = Logistic(), 0.03
    X, y = sparse_truth(loss)
    exact = LogisticRegression(
        C=1 / (len(y) * alpha),
        l1_ratio=l1_ratio,
        solver="saga",
        tol=1e-9,
        max_iter=10_000,
        random_state=0,
        **ELASTIC_NET,
    ).fit(X, y)
    best = objective((exact.coef_[0], exact.intercept_[0]), X, y, loss, alpha, l1_ratio)
    path = sgd(*in_passes(X, y, 50), lambda t: schedule(0.2, 0.1, 1.0, t), proximal(loss, alpha, l1_ratio, True))
    assert objective(path[-1], X, y, loss, alpha, l1_ratio) == pytest.approx(best, rel=1e-3)


@pytest.mark.slow
def test_thresholds_of_a_pass_at_once_keep_the_zeros_of_the_lasso_and_those_of_a_row_do_not():
    """A gradient scatters by about σ = 1.2: the threshold of K rows, Kγα, is 2.9 of its noise γσ√K with K = 300."""
    loss, alpha = Squared(), 0.2
    X, y = sparse_truth(loss)
    exact = ElasticNet(alpha=alpha, l1_ratio=1.0, tol=1e-12).fit(X, y)
    best = objective((exact.coef_, exact.intercept_), X, y, loss, alpha, 1.0)
    gradient = loss.slope(exact.predict(X), y) @ X / len(y)
    # Features that a little less of a penalty would not let in.
    out = np.abs(gradient) < 0.8 * alpha
    assert np.sum(out) >= 2
    rows, zeros = in_passes(X, y, 50), {}
    for every in (1, 300):
        path = truncated_sgd(*rows, lambda t: schedule(0.05, 0.5, 1.0, t), loss, alpha, 1.0, True, every)
        assert objective(path[-1], X, y, loss, alpha, 1.0) == pytest.approx(best, rel=1e-3)
        assert np.all(path[-1][0][exact.coef_ != 0.0] != 0.0)
        zeros[every] = np.mean(weights_of(path)[9_000::300][:, out] == 0.0)
    assert zeros[300] > 0.95
    assert zeros[1] < 0.3


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


# --- Lazily -------------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from([Logistic(), Squared(), Hinge()]),
    density=st.sampled_from([0.05, 0.3, 1.0]),
    alpha=st.floats(1e-4, 0.5),
    l1_ratio=st.sampled_from([0.0, 0.15, 0.9, 1.0]),
    intercept=st.booleans(),
    every=st.sampled_from([1, 7]),
    smallest=st.sampled_from([1e-100, 0.5, 0.999]),
)
@hypothesis_settings(max_examples=40)
def test_lazily_evaluated_it_is_the_same(seed, loss, density, alpha, l1_ratio, intercept, every, smallest):
    problem = random_problem(seed, loss, density=density)
    rows = 0.5 * problem.X, problem.y, problem.weights
    dense = truncated_sgd(*rows, decreasing, loss, alpha, l1_ratio, intercept, every)
    lazy = lazy_truncated_sgd(*rows, decreasing, loss, alpha, l1_ratio, intercept, every, smallest)
    assert np.allclose(weights_of(lazy), weights_of(dense), rtol=1e-10, atol=1e-12)
    assert np.allclose(intercepts_of(lazy), intercepts_of(dense), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("every", [1, 10])
def test_the_lazy_zeros_are_true_zeros(every):
    problem = random_problem(11, Logistic(), n_rows=400, n_features=10, density=0.1)
    rows = problem.X, problem.y, problem.weights
    dense = weights_of(truncated_sgd(*rows, decreasing, Logistic(), 0.1, 0.8, True, every))
    lazy = weights_of(lazy_truncated_sgd(*rows, decreasing, Logistic(), 0.1, 0.8, True, every))
    assert np.array_equal(lazy == 0.0, dense == 0.0)
    assert 0.2 < np.mean(lazy[100:] == 0.0) < 0.8


def test_shrinkage_by_far_more_than_a_float_holds_does_no_harm():
    """0.6²⁰⁰⁰ is 10⁻⁴⁴³: without the restarts of the sums the scale would be 0."""
    problem = random_problem(12, Squared(), n_rows=2000, n_features=4, density=0.3)
    rows = problem.X, problem.y, problem.weights
    dense = weights_of(truncated_sgd(*rows, lambda t: 0.1, Squared(), 5.0, 0.2, True, 1))
    lazy = weights_of(lazy_truncated_sgd(*rows, lambda t: 0.1, Squared(), 5.0, 0.2, True, 1))
    assert np.allclose(lazy, dense, rtol=1e-10, atol=1e-12)
    assert np.max(np.abs(dense[-100:])) > 0.01
