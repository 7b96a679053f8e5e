"""Pflug's diagnostic, SGD½, the distance test and SVRG on cases done by hand and against closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import chi2

from problems import LOSSES, random_problem
from sgdone.losses import Hinge, Logistic, Squared
from sgdone.papers.diagnostics.reference import (
    distance_test,
    explicit_gradient,
    implicit,
    implicit_gradient,
    pflug,
    sgd_half,
    svrg,
)
from sgdone.papers.sgd_reference import explicit, sgd
from tiers import fast_first

PLAIN = explicit(Squared(), 0.0, False), explicit_gradient(Squared(), False)
WITH_INTERCEPT = explicit(Squared(), 0.0, True), explicit_gradient(Squared(), True)
IMPLICIT = implicit(Squared(), 0.0, False), implicit_gradient(Squared(), 0.0, False)


def column(*values):
    return np.array(values, dtype=float)[:, np.newaxis]


def constant(gamma):
    return lambda t: gamma


def alternating(n_rows):
    """x = 1, y = 1, −1, 1, …: near θ = 0 every gradient is against the one before."""
    return np.ones((n_rows, 1)), (-1.0) ** np.arange(n_rows), np.ones(n_rows)


def steps_of(loss, alpha, intercept, *, implicitly):
    if implicitly:
        return implicit(loss, alpha, intercept), implicit_gradient(loss, alpha, intercept)
    return explicit(loss, alpha, intercept), explicit_gradient(loss, intercept)


def gaussians(seed, n_rows, n_features=5, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, X @ np.ones(n_features) + noise * rng.standard_normal(n_rows), np.ones(n_rows)


# --- Gradients ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [False, True])
def test_gradients_are_what_the_steps_move_by(loss, intercept):
    """(1 − γα)w − γg of the explicit step, (w − γg)/(1 + γα) of the implicit one, kinks included."""
    alpha, gamma = 0.3, 0.4
    problem = random_problem(7, loss, n_rows=30, n_features=4)
    w, b = np.array([0.3, -0.2, 0.1, 0.4]), -0.1
    for implicitly in (False, True):
        update, gradient = steps_of(loss, alpha, intercept, implicitly=implicitly)
        for row in zip(problem.X, problem.y, problem.weights + 0.1, strict=True):
            g = gradient(w, b, *row, gamma)
            w_new, b_new = update(w, b, *row, gamma)
            shrunk, decayed = (w - gamma * g[:-1]) / (1 + gamma * alpha), (1 - gamma * alpha) * w - gamma * g[:-1]
            assert np.allclose(w_new, shrunk if implicitly else decayed, rtol=1e-12, atol=1e-13)
            assert b_new == pytest.approx(b - gamma * g[-1], rel=1e-12, abs=1e-13)


def test_implicit_gradient_of_a_hinge_that_lands_on_its_kink_is_part_of_the_slope():
    # From margin 0 with q = γx² = 4 a share s = ¼ of the slope −1 leads to the margin 1.
    g = implicit_gradient(Hinge(), 0.0, False)(np.zeros(1), 0.0, np.ones(1), 1.0, 1.0, 4.0)
    assert g == pytest.approx([-0.25, 0.0])


# --- Algorithm 1 --------------------------------------------------------------------------------------------------


def test_pflug_by_hand():
    # g₁ = 0 − 1 and θ₁ = ½; g₂ = ½ + 1, S₂ = −1.5 and θ₂ = ½ − ¾; g₃ = −¼ − 1, S₃ = −1.5 − 1.875, θ₃ = −¼ + ⅝.
    X, y, v = alternating(3)
    assert pflug(X, y, v, constant(0.5), *PLAIN, burn_in=1) == (2, np.array([-0.25]), 0.0, -1.5)
    assert pflug(X, y, v, constant(0.5), *PLAIN, burn_in=2) == (3, np.array([0.375]), 0.0, -3.375)
    assert pflug(X, y, v, constant(0.5), *PLAIN, burn_in=3) == (None, np.array([0.375]), 0.0, -3.375)


def test_pflug_of_implicit_steps_takes_the_slope_after_the_step():
    # s₁ = −1/1.5, θ₁ = ⅓; s₂ = (⅓ + 1)/1.5 = 8/9.
    X, y, v = alternating(2)
    n, w, b, S = pflug(X, y, v, constant(0.5), *IMPLICIT, burn_in=0)
    assert (n, *w, b, S) == pytest.approx((2, 1 / 3 - 4 / 9, 0.0, -16 / 27))


def test_pflug_counts_the_intercept_and_the_sample_weight_but_not_the_penalty():
    X, y, v = column(1, 2), np.array([1.0, -1.0]), np.array([3.0, 0.5])
    update = explicit(Squared(), 0.1, True)
    # g₁ = 3·(−1)·(1, 1); θ₁ = (0.3, 0.3); z₂ = 0.9; g₂ = ½·1.9·(2, 1).
    assert pflug(X, y, v, constant(0.1), update, WITH_INTERCEPT[1], 0)[3] == pytest.approx(-3 * 0.95 * (2 + 1))


def test_pflug_does_not_fire_on_the_way():
    X, y, v = np.ones((50, 1)), np.full(50, 9.0), np.ones(50)
    n, w, _, S = pflug(X, y, v, constant(0.1), *PLAIN, burn_in=0)
    assert n is None
    assert w == pytest.approx(9 * (1 - 0.9**50))
    assert S > 0


@pytest.mark.slow
@pytest.mark.parametrize("implicitly", [False, True], ids=["explicit", "implicit"])
@pytest.mark.parametrize("distance", [0.0, 2.0])
def test_pflug_s_sum_rises_far_away_and_falls_at_the_optimum(distance, implicitly, rng):
    """Theorem 3, and its like for the implicit step: the mean of g₁ᵀg₂ from θ* + e on, least squares, x ~ N(0, I).

    With r = ‖x‖² and λ = 1/(1 + γr), or 1 for the explicit step, g₁ = λ(xᵀe − ε)x and E g₂ = c(e − γg₁), c = Eλr/p.
    """
    p, gamma, sigma = 5, 0.05, 1.5
    least_squares = SimpleNamespace(slope=lambda z, y: z - y)
    steps = steps_of(least_squares, 0.0, False, implicitly=implicitly)
    sums = []
    for _ in range(2000):
        X = rng.standard_normal((2, p))
        y = distance * X[:, 0] + sigma * rng.standard_normal(2)
        sums.append(pflug(X, y, np.ones(2), constant(gamma), *steps, burn_in=2)[3])

    def mean(power):
        """E (λr)^power / p."""
        return chi2(p).expect(lambda r: (r / (1 + gamma * r * implicitly)) ** power / p)

    squared_noise = chi2(p).expect(lambda r: r / (1 + gamma * r * implicitly) ** 2) * sigma**2
    exact = mean(1) * (distance**2 * (mean(1) - gamma * mean(2)) - gamma * squared_noise)
    error = np.std(sums) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - exact) < 3 * error < abs(exact)


# --- Algorithm 2 --------------------------------------------------------------------------------------------------


def test_sgd_half_counts_its_burn_in_from_each_halving():
    halvings, _, _ = sgd_half(*alternating(10**3), 0.5, *PLAIN, burn_in=3)
    # 2⁻³⁴ is the first below 1e-10.
    assert halvings == [(4 * k, 0.5 / 2**k) for k in range(1, 34)]
    assert halvings[-1][1] < 1e-10 <= halvings[-2][1]


def test_sgd_half_keeps_the_product_across_a_halving():
    """Were it left out, every second halving would be missing."""
    halvings, _, _ = sgd_half(*alternating(6), 0.5, *PLAIN, burn_in=0)
    assert [n for n, _ in halvings] == [2, 3, 4, 5, 6]


def test_sgd_half_starts_its_sum_again():
    # Halved after g₁ = −1 and g₂ = 1½; then g₃ = −¼ + 1 adds 1⅛, less than the −1½ before.
    X, _, v = alternating(3)
    halvings, _, _ = sgd_half(X, np.array([1.0, -1, -1]), v, 0.5, *PLAIN, burn_in=0)
    assert halvings == [(2, 0.25)]


def test_sgd_half_goes_on_with_the_smallest_step_itself():
    halvings, _, _ = sgd_half(*alternating(9), 0.5, *PLAIN, burn_in=0, smallest=0.25)
    assert halvings == [(2, 0.25), (3, 0.125)]


def test_sgd_half_makes_the_next_step_with_the_new_size():
    X, y, v = alternating(3)
    halvings, w, b = sgd_half(X, y, v, 0.5, *PLAIN, burn_in=1)
    # As by hand above to θ₂ = −¼ and its halving; then θ₃ = −¼ + ¼·1¼.
    assert halvings == [(2, 0.25)]
    assert (*w, b) == (0.0625, 0.0)


def test_sgd_half_ends_at_the_smallest_step_or_with_the_rows():
    X, y, v = gaussians(0, 3000)
    halvings, w, _ = sgd_half(X, y, v, 0.1, *PLAIN, burn_in=50, smallest=1e-3)
    assert halvings[-1][1] < 1e-3
    assert halvings[-1][0] < 3000
    early, early_w, _ = sgd_half(X[: halvings[-1][0]], y, v[: halvings[-1][0]], 0.1, *PLAIN, 50, smallest=1e-3)
    assert early == halvings
    assert np.array_equal(w, early_w)
    short, _, _ = sgd_half(X[:200], y[:200], v[:200], 0.1, *PLAIN, burn_in=50, smallest=1e-3)
    assert short == [halving for halving in halvings if halving[0] <= 200]
    assert len(short) < len(halvings)


@hypothesis_settings(max_examples=15)
@given(seed=st.integers(0, 10**6), implicitly=st.booleans(), burn_in=st.integers(0, 20))
def test_sgd_half_first_halves_where_pflug_fires(seed, implicitly, burn_in):
    problem = random_problem(seed, Logistic(), n_rows=50)
    steps = steps_of(Logistic(), 0.01, True, implicitly=implicitly)
    n, w, b, _ = pflug(problem.X, problem.y, problem.weights, constant(0.8), *steps, burn_in)
    halvings, w_half, b_half = sgd_half(problem.X, problem.y, problem.weights, 0.8, *steps, burn_in, smallest=0.5)
    assert halvings == ([] if n is None else [(n, 0.4)])
    assert np.array_equal(w_half, w)
    assert b_half == b


@hypothesis_settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_a_row_of_weight_0_might_as_well_not_be_there(seed):
    problem = random_problem(seed, Logistic(), n_rows=100)
    there, steps = problem.weights > 0, steps_of(Logistic(), 0.01, True, implicitly=False)
    found = sgd_half(problem.X, problem.y, problem.weights, 0.8, *steps, burn_in=4)
    expected = sgd_half(problem.X[there], problem.y[there], problem.weights[there], 0.8, *steps, burn_in=4)
    assert found[0] == expected[0]
    assert np.array_equal(found[1], expected[1])
    assert found[2] == expected[2]


# --- The distance test --------------------------------------------------------------------------------------------


def points(values):
    return [(np.array([value]), 0.0) for value in values]


def test_distance_test_is_silent_on_a_straight_path():
    assert distance_test(points(np.arange(10**4))) is None
    # Between 18 and 26, the powers of 1.5 rounded up, it is log(26²/18²)/log 1.5 = 1.81.
    assert distance_test(points(np.arange(10**4)), threshold=1.8) is None
    assert distance_test(points(np.arange(10**4)), threshold=1.9) == 26


def test_distance_test_is_silent_on_a_random_walk_and_fires_above_its_slope_of_1(rng):
    """‖Ω‖² = n on average, and nearly surely in 2000 dimensions: slope 1."""
    walk = [(w, 0.0) for w in np.cumsum(rng.standard_normal((300, 2000)), axis=0)]
    assert distance_test(walk) is None
    assert distance_test(walk, threshold=1.3) == 12


def test_distance_test_fires_at_its_first_look_at_a_bounded_path(rng):
    noise = [(w, b) for w, b in zip(rng.standard_normal((200, 500)), rng.standard_normal(200), strict=True)]
    assert distance_test(noise) == 12  # ⌈1.5⁶⌉
    assert distance_test(noise, first=7) == 26  # ⌈1.5⁸⌉
    assert distance_test(noise, q=2.0, first=3) == 16
    assert distance_test(noise[:12], first=5) is None


def test_distance_test_measures_from_the_restart():
    assert distance_test(points(1e3 + np.arange(1000.0))) is None


def test_distance_test_counts_the_intercept():
    still = np.zeros(2)
    assert distance_test([(still, float(n)) for n in range(1000)]) is None
    assert distance_test([(still, float(min(n, 40))) for n in range(1000)]) == 58  # evaluated at 26, 39 and 58


def test_distance_test_of_a_path_that_never_left_its_start_is_silent():
    assert distance_test(points(np.zeros(1000))) is None
    assert distance_test(points([0.0] * 100 + [1.0] * 900)) == 195  # 0, 0, then 1 (⌈1.5¹²⌉ = 130) and 1


def test_distance_test_looks_at_distinct_places_when_q_is_small():
    # ⌈1.1^k⌉ is 2 for k = 1 … 7: it is evaluated at 1, 2, 3, …, and k = 6 is at 7.
    path = points([0.0, 1, 2, 3, 4, 5, 6, 6, 7, 8])
    assert distance_test(path, q=1.1) == 7
    assert distance_test(path, q=1.1, first=6) is None


@pytest.mark.parametrize(("gamma", "expected"), [(0.01, 292), (0.001, 3326)])
def test_distance_test_fires_when_the_start_is_forgotten(gamma, expected):
    """θ_n = 1 − (1 − γ)ⁿ grows by 1.5^0.3 or less from n/1.5 to n as soon as nγ ≥ 2.532: at the next ⌈1.5^k⌉."""
    n_rows = 5000
    path = sgd(np.ones((n_rows, 1)), np.ones(n_rows), np.ones(n_rows), constant(gamma), PLAIN[0])
    assert path[expected][0] == pytest.approx(1 - (1 - gamma) ** expected)
    assert distance_test(path) == expected
    assert expected / 1.5 < 2.532 / gamma < expected


# --- SVRG ---------------------------------------------------------------------------------------------------------


def test_svrg_by_hand():
    # x = 1, y = 0 and x = 2, y = 2. At the anchor 0 the gradients are 0 and −4, the full one −2.
    # Row 1: 0 + ¼·2 = ½. Row 0: its gradient is ½, at the anchor 0: ½ − ¼(½ − 2) = ⅞.
    X, y, v = column(1, 2), np.array([0.0, 2.0]), np.ones(2)
    settings = {"alpha": 0.0, "gamma": 0.25, "inner_length": 2, "intercept": False}
    path = svrg(X, y, v, [1, 0, 0], Squared(), option="I", picks=[], **settings)
    # Anchor ⅞: the full gradient is 5/2·⅞ − 2 = 3/16.
    assert [w[0] for w, _ in path] == [0.0, 0.5, 0.875, 0.875 - 0.25 * 0.1875]
    path = svrg(X, y, v, [1, 0, 0], Squared(), option="II", picks=[1], **settings)
    # Anchor ½, the iterate after one inner step: 5/2·½ − 2 = −¾.
    assert [w[0] for w, _ in path] == [0.0, 0.5, 0.875, 0.5 + 0.25 * 0.75]


def test_svrg_with_option_ii_and_the_last_pick_is_option_i():
    problem = random_problem(3, Logistic(), n_rows=30, n_features=4)
    order = np.random.default_rng(0).choice(np.flatnonzero(problem.weights), 25)
    rows = problem.X, problem.y, problem.weights, order, Logistic(), 0.1, 0.3, 7
    for (w, b), (w_last, b_last) in zip(
        svrg(*rows, "I", [], intercept=True), svrg(*rows, "II", [7, 7, 7], intercept=True), strict=True
    ):
        assert np.array_equal(w, w_last)
        assert b == b_last


def test_svrg_on_one_row_is_gradient_descent():
    X, y, v = column(3.0), np.array([1.0]), np.array([0.7])
    found = svrg(X, y, v, [0] * 9, Logistic(), 0.2, 0.5, inner_length=4, option="II", picks=[2, 3], intercept=True)
    steps = explicit(Logistic(), 0.2, True)
    descent = sgd(np.repeat(X, 9, axis=0), np.repeat(y, 9), np.repeat(v, 9), constant(0.5), steps)
    for (w, b), t in zip(found, [0, 1, 2, 3, 4, 3, 4, 5, 6, 6], strict=True):
        assert w == pytest.approx(descent[t][0], rel=1e-13)
        assert b == pytest.approx(descent[t][1], rel=1e-13)


def ridge(X, y, v, alpha, intercept):
    """The minimiser of Σv(y − z)²/(2n₊) + ½α‖w‖²."""
    rows = np.column_stack([X, np.full(len(X), float(intercept))])
    penalty = np.diag(np.append(np.full(X.shape[1], alpha), 0.0 if intercept else 1.0))
    n = np.count_nonzero(v)
    return np.linalg.solve(rows.T @ (v[:, np.newaxis] * rows) / n + penalty, rows.T @ (v * y) / n)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["I", "II"])
@pytest.mark.parametrize("intercept", fast_first(1, [True, False]))
def test_svrg_converges_linearly_to_the_ridge_solution(option, intercept, rng):
    X = rng.standard_normal((40, 4)) + 0.5
    v = rng.uniform(0.5, 2.0, 40) * (np.arange(40) % 5 > 0)
    y = X @ [1.0, -2.0, 0.5, 3.0] + 4.0 + rng.standard_normal(40)
    best = ridge(X, y, v, 0.1, intercept)
    stages, length = 30, 320
    order = rng.choice(np.flatnonzero(v), stages * length)
    picks = rng.integers(1, length, stages, endpoint=True)
    gamma = 0.3 / np.max(v * (np.sum(X**2, axis=1) + intercept) + 0.1)
    path = svrg(X, y, v, order, Squared(), 0.1, gamma, length, option, picks, intercept)
    anchors = [path[s * length + (picks[s] if option == "II" else length)] for s in range(stages)]
    errors = np.array([np.linalg.norm(np.append(w, b) - best) for w, b in anchors])
    assert errors[-1] < 1e-12
    falling = errors[errors > 1e-10]
    slope, _ = np.polyfit(np.arange(len(falling)), np.log(falling), 1)
    assert slope < np.log(0.5)
    # SGD with the same constant step hovers at the noise.
    w, b = sgd(X[order], y[order], v[order], constant(gamma), explicit(Squared(), 0.1, intercept))[-1]
    assert np.linalg.norm(np.append(w, b) - best) > 1e-3
