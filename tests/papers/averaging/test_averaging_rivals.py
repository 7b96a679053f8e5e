"""SGD2, SGD-QN, Pegasos and online L-BFGS on cases done by hand, and against scikit-learn's and SciPy's optima."""

from collections import deque
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from problems import LOSSES, random_problem
from sgdone.losses import Hinge, Logistic, Squared, SquaredHinge
from sgdone.papers.averaging.reference import average
from sgdone.papers.averaging.rivals import (
    lbfgs_direction,
    minibatches,
    olbfgs,
    pegasos,
    radius_of_optimum,
    sgd2,
    sgdqn,
    shrinkage,
    skip_of,
    t0_on_sample,
    typical_t0,
)
from sgdone.papers.sgd_reference import explicit, sgd

pytestmark = pytest.mark.slow

#: ℓ = −2z whatever the label: its gradient does not change, and tells nothing of a curvature.
LINEAR = SimpleNamespace(slope=lambda z, y: -2.0 + 0.0 * z, value=lambda z, y: -2.0 * z)

#: Every method with settings under which it is stable on the random problems.
METHODS = {
    "sgd2": lambda X, y, v, loss, intercept: sgd2(X, y, v, loss, 0.1, 100.0, 5, intercept),
    "sgdqn": lambda X, y, v, loss, intercept: sgdqn(X, y, v, loss, 0.1, 100.0, 5, intercept),
    "pegasos": lambda X, y, v, loss, intercept: pegasos(X, y, v, loss, 0.1, 2, 50.0, intercept),
    "olbfgs": lambda X, y, v, loss, intercept: olbfgs(X, y, v, loss, 0.1, 2, 5, 0.1, 100.0, 0.01, 1.0, intercept),
}
of_every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def column(*values):
    return np.array(values, dtype=float)[:, np.newaxis]


def weights_of(path):
    return np.array([w for w, _ in path])


def scalars_of(path):
    return np.array([w[0] for w, _ in path])


def objective(X, y, loss, alpha):
    return lambda w, b: float(np.mean(loss.value(X @ w + b, y))) + 0.5 * alpha * float(w @ w)


def data(loss, n_rows=200, n_features=5):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, n_features))
    scores = X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows) + 0.3
    return X, scores if loss.name == "squared" else np.where(scores > 0.0, 1.0, -1.0)


def in_passes(X, y, passes):
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(len(y)) for _ in range(passes)])
    return X[order], y[order], np.ones(len(order))


def optimum(X, y, loss, alpha, intercept):
    """scikit-learn's: LinearSVC would penalise an intercept, so that of the squared hinge is left out."""
    n = len(y)
    model = {
        "squared": Ridge(alpha=n * alpha, fit_intercept=intercept, tol=1e-12),
        "logistic": LogisticRegression(C=1 / (n * alpha), fit_intercept=intercept, tol=1e-10, max_iter=1000),
        "squared_hinge": LinearSVC(C=0.5 / (n * alpha), fit_intercept=intercept, tol=1e-10, dual=False),
    }[loss.name].fit(X, y)
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if intercept else 0.0


def gap(point, X, y, loss, alpha, intercept):
    """How far above the optimum, relative to it."""
    F = objective(X, y, loss, alpha)
    best = F(*optimum(X, y, loss, alpha, intercept))
    return (F(*point) - best) / best


# --- All of them --------------------------------------------------------------------------------------------------


@of_every_method
def test_a_row_of_weight_zero_is_skipped_whole(method):
    problem = random_problem(3, Logistic(), n_rows=60, n_features=4)
    used = problem.weights > 0
    assert 40 < np.sum(used) < 60
    whole = method(problem.X, problem.y, problem.weights, Logistic(), True)
    without = method(problem.X[used], problem.y[used], problem.weights[used], Logistic(), True)
    assert np.array_equal(weights_of(whole), weights_of(without))


@of_every_method
def test_sample_weights_scale_the_slope(method):
    problem = random_problem(4, SquaredHinge(), n_rows=60, n_features=4)
    twice = SimpleNamespace(slope=lambda z, y: 2.0 * SquaredHinge().slope(z, y))
    v = np.ones(60)
    heavy = method(problem.X, problem.y, 2.0 * v, SquaredHinge(), True)
    assert np.array_equal(weights_of(heavy), weights_of(method(problem.X, problem.y, v, twice, True)))
    assert not np.allclose(heavy[-1][0], method(problem.X, problem.y, v, SquaredHinge(), True)[-1][0])


@of_every_method
def test_the_intercept_is_a_feature_of_value_one_but_for_the_penalty(method):
    problem = random_problem(5, Logistic(), n_rows=60, n_features=4)
    v = np.ones(60)
    assert all(b == 0.0 for _, b in method(problem.X, problem.y, v, Logistic(), False))
    path = method(problem.X, problem.y, v, Logistic(), True)
    # At θ = 0 there is nothing to shrink: the first update treats both alike.
    ones = method(np.column_stack([problem.X, np.ones(60)]), problem.y, v, Logistic(), False)
    assert path[1][1] == pytest.approx(ones[1][0][-1], rel=1e-14)
    assert path[-1][1] != pytest.approx(ones[-1][0][-1], rel=1e-3)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("skip", [1, 16])
def test_sgd2_reaches_the_optimum(loss, skip):
    alpha, intercept = 0.01, loss.name != "squared_hinge"
    X, y = data(loss)
    F = objective(X, y, loss, alpha)
    t0 = t0_on_sample(lambda t0: sgd2(X, y, np.ones(200), loss, alpha, t0, skip, intercept), F)
    path = sgd2(*in_passes(X, y, 50), loss, alpha, t0, skip, intercept)
    assert gap(path[-1], X, y, loss, alpha, intercept) < 1e-3


@pytest.mark.parametrize(("loss", "alpha"), [(Squared(), 0.01), (SquaredHinge(), 0.005), (Logistic(), 0.0005)])
@pytest.mark.parametrize("skip", [1, 4])
def test_sgdqn_reaches_the_optimum_where_its_bounds_are_near_the_curvature(loss, alpha, skip):
    """100α at about the curvature of the loss.

    Where it is far above, the mean of the clipped ratios exceeds the curvature, and the steps fall faster than they
    should: with α = 0.1 the gap of the logistic loss is still 5e-3 after these 50 passes.
    """
    intercept = loss.name != "squared_hinge"
    X, y = data(loss)
    F = objective(X, y, loss, alpha)
    t0 = t0_on_sample(lambda t0: sgdqn(X, y, np.ones(200), loss, alpha, t0, skip, intercept), F)
    path = sgdqn(*in_passes(X, y, 50), loss, alpha, t0, skip, intercept)
    assert gap(path[-1], X, y, loss, alpha, intercept) < 1e-3


@pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("minibatch", [1, 10])
def test_averaged_pegasos_reaches_the_optimum(loss, minibatch):
    alpha = 0.01
    X, y = data(loss)
    path = pegasos(*in_passes(X, y, 50), loss, alpha, minibatch, 1.0 / np.sqrt(alpha), False)
    assert gap(average(path, len(path) // 2), X, y, loss, alpha, False) < 1e-3


@pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredHinge()], ids=lambda loss: loss.name)
def test_averaged_olbfgs_reaches_the_optimum(loss):
    alpha, intercept = 0.01, loss.name != "squared_hinge"
    X, y = data(loss)
    path = olbfgs(*in_passes(X, y, 50), loss, alpha, 10, 10, 1.0, 100.0, 1e-4, 1.0, intercept)
    assert gap(average(path, len(path) // 2), X, y, loss, alpha, intercept) < 1e-3


def test_averaged_pegasos_reaches_the_optimum_of_the_hinge():
    alpha, (X, y) = 0.1, data(Hinge())
    F = objective(X, y, Hinge(), alpha)
    exact = LinearSVC(loss="hinge", C=1 / (200 * alpha), fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y)
    path = pegasos(*in_passes(X, y, 50), Hinge(), alpha, 1, 1.0 / np.sqrt(alpha), False)
    assert F(*average(path, len(path) // 2)) == pytest.approx(F(exact.coef_[0], 0.0), rel=1e-3)


# --- SGD2 ---------------------------------------------------------------------------------------------------------


def test_skip_is_sixteen_rows_by_the_inverse_of_the_density():
    assert skip_of(np.ones((3, 7))) == 16
    assert skip_of(np.eye(10)) == 160
    assert skip_of(np.array([[1.0, 1.0, 0.0]]), factor=1) == 1
    assert skip_of(np.zeros((2, 3))) == 96


def test_sgd2_by_hand():
    # α = ½, t₀ = 4: steps ½, 2/5, ⅓. Slopes −1, ½·1 − 1, then z = 2(0.7·w₂) + 0.7 of a row of weight ½.
    X, y, v = column(1, 9, 0.5, 2), np.array([1.0, 5.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.5])
    path = sgd2(X, y, v, Squared(), 0.5, 4.0, 2, True)
    (w0, b0), (w1, b1), (w2, b2), (w3, b3) = path
    assert (w0[0], b0, w1[0], b1) == (0.0, 0.0, 0.5, 0.5)
    # z = ½·½ + ½; (1 − ⅕)² after the second row, as 2·⅕ > 0.2; the intercept is not shrunk.
    assert (w2[0], b2) == pytest.approx((0.64 * (0.5 + 0.4 * 0.25 * 0.5), 0.5 + 0.4 * 0.25))
    z3 = 2 * w2[0] + b2
    assert (w3[0], b3) == pytest.approx((w2[0] - z3 / 3 * 0.5 * 2, b2 - z3 / 3 * 0.5))


def test_sgd2_with_skip_one_is_sgd_whose_shrinkage_follows_the_loss_step():
    problem = random_problem(8, Logistic(), n_rows=200, n_features=5)
    alpha, t0, loss_step = 0.2, 7.0, explicit(Logistic(), 0.0, True)

    def update(w, b, x, y, v, gamma):
        w, b = loss_step(w, b, x, y, v, gamma)
        return (1 - gamma * alpha) * w, b

    plain = sgd(problem.X, problem.y, problem.weights, lambda t: 1 / (alpha * (t - 1 + t0)), update)
    path = sgd2(problem.X, problem.y, problem.weights, Logistic(), alpha, t0, 1, True)
    assert np.allclose(weights_of(path), weights_of(plain), rtol=1e-12, atol=1e-14)
    assert np.allclose([b for _, b in path], [b for _, b in plain], rtol=1e-12, atol=1e-14)


def test_sgd2_with_skip_one_is_plain_sgd_up_to_the_square_of_the_step():
    problem = random_problem(8, Logistic(), n_rows=300, n_features=5)
    alpha, distances = 0.1, []
    for t0 in (1e4, 1e5):
        plain = sgd(
            problem.X,
            problem.y,
            problem.weights,
            lambda t, t0=t0: 1 / (alpha * (t - 1 + t0)),
            explicit(Logistic(), alpha, True),
        )
        path = sgd2(problem.X, problem.y, problem.weights, Logistic(), alpha, t0, 1, True)
        distances.append(np.max(np.abs(weights_of(path) - weights_of(plain))))
    # Each of as many steps is off by η²α·|ℓ′x|.
    assert distances[0] / distances[1] == pytest.approx(100.0, rel=0.3)


def test_the_shrinkage_of_many_rows_at_once_is_nearly_that_of_each():
    assert shrinkage(1e-4, 100) == pytest.approx((1 - 1e-4) ** 100, rel=1e-4)
    assert shrinkage(0.02, 10) == 0.8
    assert shrinkage(0.03, 10) == 0.97**10
    assert shrinkage(1.0, 5) == 0.0
    assert shrinkage(0.9, 100) == pytest.approx(1e-100)


def test_typical_t0_of_steep_losses_and_of_large_alphas():
    # α = 10⁻⁴: weights of 10; the squared hinge has there the slope −11, the logistic less than 1.
    assert typical_t0(SquaredHinge(), 1e-4) == pytest.approx(11e3)
    assert typical_t0(Logistic(), 1e-4) == pytest.approx(1e3)
    assert typical_t0(Logistic(), 16.0) == 1.0
    assert typical_t0(Logistic(), 1.0) == pytest.approx(1.0)


def test_t0_on_a_sample_avoids_divergence_and_dawdling():
    costs = {1.0: np.nan, 10.0: np.inf, 100.0: 3.0, 1e3: 1.0, 1e4: 1.0}
    t0 = t0_on_sample(lambda t0: [(np.array([costs.get(t0, 7.0)]), 0.0)], lambda w, b: w[0])
    assert t0 == 1e3
    X, y = 30.0 * data(Squared())[0], data(Squared())[1]
    t0 = t0_on_sample(
        lambda t0: sgd2(X, y, np.ones(200), Squared(), 0.01, t0, 1, True), objective(X, y, Squared(), 0.01)
    )
    # Steps of 1/(αt₀) are stable below 2/‖x‖², about 2/(5·900).
    assert 1e5 <= t0 <= 1e7


# --- SGD-QN -------------------------------------------------------------------------------------------------------


def test_sgdqn_by_hand():
    # α = 0.1, t₀ = 10: B = 1, θ₁ = 1. Second row: slope 0 at 1 and −1 at 0, r = 0.1 + 1, B = 1/2.1; θ₂ = 1 − 0.1·B.
    X, y, v = column(1, 1, 0), np.ones(3), np.ones(3)
    path = sgdqn(X, y, v, Squared(), 0.1, 10.0, 1, False)
    theta = 1 - 0.1 / 2.1
    # Third row: x = 0, r = α, B = 1/(2.1 + 0.1).
    assert scalars_of(path) == pytest.approx([0.0, 1.0, theta, theta * (1 - 0.1 / 2.2)])


def test_sgdqn_compares_two_points_on_the_row_that_follows():
    # Skip 2: at the second row θ is kept, shrunk and moved; the third row's curvature, 9, is that of r.
    X, y, v = column(1, 1, 3, 3), np.zeros(4), np.ones(4)
    y[0] = 1.0
    path = sgdqn(X, y, v, Squared(), 0.1, 20.0, 2, False)
    # B = ½, θ₁ = ½; θ₂ = (1 − 2·0.1·½)·½ − ½·½; r = 0.1 + 9, B = ½/(1 + 2·½·9.1).
    B = 0.5 / 10.1
    assert scalars_of(path)[1:4] == pytest.approx([0.5, 0.2, 0.2 - 0.6 * 3 * B])
    assert scalars_of(path)[4] == pytest.approx((1 - 0.2 * B) * path[3][0][0] - 9 * path[3][0][0] * B)


@pytest.mark.parametrize("skip", [1, 4])
def test_sgdqn_without_curvature_has_the_steps_of_sgd2_held_for_skip_rows(skip):
    problem = random_problem(2, Logistic(), n_rows=100, n_features=3)
    alpha, t0 = 0.3, 20.0
    path = sgdqn(problem.X, problem.y, np.ones(100), LINEAR, alpha, t0, skip, True)
    w, b, wanted = np.zeros(3), 0.0, [np.zeros(3)]
    for t, x in enumerate(problem.X):
        eta = 1 / (alpha * (t0 + t // skip * skip))
        w, b = (1 - skip * eta * alpha * ((t + 1) % skip == 0)) * w + 2 * eta * x, b + 2 * eta
        wanted.append(w)
    assert np.allclose(weights_of(path), wanted, rtol=1e-12)
    assert path[-1][1] == pytest.approx(b)


def step_sizes(path, X, y, loss, alpha, skip):
    """B of every row and feature, from the moves of θ; nan where there was none and in rows that shrink."""
    moves = np.full(X.shape, np.nan)
    for t, ((w, b), (w_next, _)) in enumerate(pairwise(path)):
        gradient = loss.slope(X[t] @ w + b, y[t]) * X[t]
        moved = (np.abs(gradient) > 1e-6) & ((t + 1) % skip != 0)
        moves[t, moved] = ((w - w_next) / np.where(moved, gradient, 1.0))[moved]
    return moves


@given(
    seed=st.integers(0, 10_000), skip=st.integers(2, 20), loss=st.sampled_from([Squared(), SquaredHinge(), Logistic()])
)
@hypothesis_settings(max_examples=25)
def test_sgdqn_s_step_sizes_stay_within_their_bounds(seed, skip, loss):
    problem = random_problem(seed, loss, n_rows=100)
    alpha, t0 = 0.02, 1e3
    X, y = problem.X, problem.y
    path = sgdqn(X, y, np.ones(len(y)), loss, alpha, t0, skip, True)
    B = step_sizes(path, X, y, loss, alpha, skip)
    updates = (np.arange(len(y)) // skip)[:, np.newaxis]
    low, high = 1 / (alpha * (t0 + 100 * skip * updates)), 1 / (alpha * (t0 + skip * updates))
    assert np.nanmin(B / low) >= 1 - 1e-6
    assert np.nanmax(B / high) <= 1 + 1e-6


def test_sgdqn_learns_the_scales_of_the_features():
    """Curvatures 1 and 1/100: what the flaw of 2009 hid."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2)) * [1.0, 0.1]
    y = X @ [1.0, 10.0] + 0.1 * rng.standard_normal(4000)
    path = sgdqn(X, y, np.ones(4000), Squared(), 0.01, 100.0, 4, False)
    steep, flat = np.nanmedian(step_sizes(path, X, y, Squared(), 0.01, 4)[-200:], axis=0)
    assert flat > 3 * steep


# --- Pegasos ------------------------------------------------------------------------------------------------------


def test_pegasos_by_hand_with_a_minibatch_and_an_intercept():
    # α = ½. First: both slopes −y, step 2, mean of the steps (2·(1 − 3)/2, 2·(1 − 1)/2); the second from 0, step 1.
    X, y, v = column(1, 3, 1, 5, 7), np.array([1.0, -1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 3.0, 1.0])
    path = pegasos(X, y, v, Hinge(), 0.5, 2, np.inf, True)
    assert [(w[0], b) for w, b in path] == [(0.0, 0.0), (-2.0, 0.0), (-1.0 + 0.5 * (1 + 15), 0.5 * (1 + 3))]


def test_rows_left_over_make_no_update():
    X, y, v = np.ones((5, 2)), np.ones(5), np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    assert minibatches(v, 3).tolist() == [[0, 1, 3]]
    assert minibatches(v, 5).shape == (0, 5)
    assert len(pegasos(X, y, v, Hinge(), 0.5, 5, 1.0, False)) == 1


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_pegasos_without_projection_and_with_minibatch_one_is_sgd_with_steps_1_over_alpha_t(loss):
    problem = random_problem(6, loss, n_rows=50, n_features=3)
    X, alpha = 0.3 * problem.X, 2.0
    path = pegasos(X, problem.y, problem.weights, loss, alpha, 1, np.inf, True)
    plain = sgd(X, problem.y, problem.weights, lambda t: 1 / (alpha * t), explicit(loss, alpha, True))
    assert np.allclose(weights_of(path), weights_of(plain), rtol=1e-12, atol=1e-14)
    assert np.allclose([b for _, b in path], [b for _, b in plain], rtol=1e-12, atol=1e-14)


@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from([Hinge(), SquaredHinge(), Squared(), Logistic()]),
    minibatch=st.integers(1, 7),
    radius=st.floats(1e-3, 10.0),
)
@hypothesis_settings(max_examples=40)
def test_pegasos_stays_within_the_ball(seed, loss, minibatch, radius):
    problem = random_problem(seed, loss, n_rows=60)
    path = pegasos(problem.X, problem.y, problem.weights, loss, 0.01, minibatch, radius, True)
    norms = np.linalg.norm(weights_of(path), axis=1)
    assert np.max(norms) <= radius * (1 + 1e-12)
    free = pegasos(problem.X, problem.y, problem.weights, loss, 0.01, minibatch, np.inf, True)
    assert norms[1] == pytest.approx(min(radius, np.linalg.norm(free[1][0])))


def test_pegasos_with_squared_hinge_diverges_without_its_projection():
    loss, alpha = SquaredHinge(), 0.01
    X, y = data(loss)
    rows = in_passes(X, y, 5)
    assert np.linalg.norm(pegasos(*rows, loss, alpha, 1, np.inf, False)[-1][0]) > 1e6
    assert np.linalg.norm(pegasos(*rows, loss, alpha, 1, 1.0 / np.sqrt(alpha), False)[-1][0]) < 10.0


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_the_optimum_is_within_its_radius(loss, alpha):
    problem = random_problem(9, loss, n_rows=60, n_features=4)
    X, y, v = 0.2 * problem.X, problem.y, 5.0 * problem.weights
    used = v > 0

    def total(w):
        return float(np.mean((v * loss.value(X @ w, y))[used])) + 0.5 * alpha * float(w @ w)

    found = minimize(total, np.zeros(4), method="Powell", options={"xtol": 1e-6, "ftol": 1e-12, "maxiter": 20_000})
    radius = radius_of_optimum(y, v, loss, alpha)
    assert 0.0 < np.linalg.norm(found.x) <= radius
    assert radius_of_optimum(y, np.ones(60), Hinge(), alpha) == pytest.approx(1 / np.sqrt(alpha))


# --- Online L-BFGS ------------------------------------------------------------------------------------------------


def test_lbfgs_direction_is_that_of_the_dense_matrix(rng):
    """Algorithm 2 (h) with c = 1: B ← (I − ρsyᵀ)B(I − ρysᵀ) + ρssᵀ, ρ = 1/sᵀy."""
    H = np.diag([1.0, 2.0, 5.0, 9.0]) + 0.3
    pairs = deque((s, H @ s + 0.1 * s) for s in rng.standard_normal((3, 4)))
    B = np.mean([(s @ y) / (y @ y) for s, y in pairs]) * np.eye(4)
    for s, y in pairs:
        left = np.eye(4) - np.outer(s, y) / (s @ y)
        B = left @ B @ left.T + np.outer(s, s) / (s @ y)
    g = rng.standard_normal(4)
    assert lbfgs_direction(g, pairs, 1e-4) == pytest.approx(-B @ g)
    assert lbfgs_direction(pairs[-1][1], pairs, 1e-4) == pytest.approx(-pairs[-1][0])
    assert lbfgs_direction(g, deque(), 1e-4) == pytest.approx(-1e-4 * g)


def test_olbfgs_by_hand():
    # One feature: after the first pair B is 1/(curvature + α + damping), here of a row with curvature 4.
    X, y, v = column(2, 3), np.array([1.0, 1.0]), np.array([1.0, 0.5])
    path = olbfgs(X, y, v, Squared(), 0.1, 1, 5, 0.5, 10.0, 0.01, 0.9, False)
    first = 0.5 * 0.01 * 2.0
    gradient = 0.5 * 3 * (3 * first - 1.0) + 0.1 * first
    assert scalars_of(path) == pytest.approx([0.0, first, first - 0.5 * 10 / 11 * gradient / (4 + 0.1 + 0.9)])


def test_olbfgs_remembers_only_so_many_pairs():
    X, y = data(Squared(), n_rows=60, n_features=4)
    paths = [olbfgs(X, y, np.ones(60), Squared(), 0.1, 2, memory, 0.1, 100.0, 0.1, 1.0, True) for memory in (3, 4)]
    short, long = (weights_of(path) for path in paths)
    # The fifth direction is the first of four pairs.
    assert np.array_equal(short[:5], long[:5])
    assert not np.array_equal(short[5], long[5])


def test_olbfgs_on_the_whole_data_solves_least_squares_to_rounding():
    X, y = data(Squared(), n_rows=30, n_features=3)
    alpha, steps = 0.1, 60
    path = olbfgs(
        np.tile(X, (steps, 1)),
        np.tile(y, steps),
        np.ones(30 * steps),
        Squared(),
        alpha,
        30,
        10,
        1.0,
        1e9,
        0.1,
        0.0,
        True,
    )
    w, b = optimum(X, y, Squared(), alpha, True)
    assert path[-1][0] == pytest.approx(w, rel=1e-9)
    assert path[-1][1] == pytest.approx(b, rel=1e-9)


def test_olbfgs_stays_where_the_gradient_vanishes():
    X, y, v = np.zeros((6, 2)), np.zeros(6), np.ones(6)
    assert not np.any(weights_of(olbfgs(X, y, v, Squared(), 0.1, 2, 3, 0.1, 100.0, 0.1, 0.0, False)))
