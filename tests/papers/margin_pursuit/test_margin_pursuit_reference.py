"""Margin pursuit and its rivals on cases done by hand, against other implementations, and by finite differences."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from sgdone.diagnose import catoni_location
from sgdone.losses import MarginDistribution, MarginPursuit
from sgdone.papers.averaging.rivals import pegasos
from sgdone.papers.margin_pursuit import theory
from sgdone.papers.margin_pursuit.reference import (
    catoni_hinge,
    descend,
    location,
    margin_distribution,
    margin_moments,
    margin_pursuit,
    median_of_means,
    psi,
    rescaled,
    rho,
    stochastic_margin_pursuit,
    stochastic_step,
)

ROOT2 = math.sqrt(2.0)


def data(n=120, d=4, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    return rng.normal(size=(n, d)) * noise + y[:, None] * np.linspace(1.0, 0.2, d), y


def margins(X, y, w):
    return y * (X @ w)


def hinge(X, y, w):
    return np.maximum(1.0 - margins(X, y, w), 0.0)


def difference(objective, w, h=1e-6):
    return np.array([(objective(w + h * e) - objective(w - h * e)) / (2 * h) for e in np.eye(len(w))])


def test_rho_and_psi_are_those_of_the_theory_and_of_the_loss():
    u = np.linspace(-5, 5, 1001)
    np.testing.assert_allclose(rho(u), theory.rho(u), atol=1e-15)
    np.testing.assert_allclose(psi(u), theory.psi(u), atol=1e-15)
    loss = MarginPursuit(gamma=2.0, scale=0.7)
    np.testing.assert_allclose(loss.value(u, 1.0), 0.49 * rho((2.0 - u) / 0.7), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(loss.slope(u, -1.0), 0.7 * psi((2.0 + u) / 0.7), rtol=1e-13, atol=1e-15)


def test_a_step_of_algorithm_1_by_hand():
    # Margins 1 and 3: variance 1, s = k/γ = 2, and u = (2 − 1)/2, (2 − 3)/2: influences ±(1/2 − 1/48).
    X, y = np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([1.0, -1.0])
    path = margin_pursuit(X, y, gamma=2.0, k=4.0, alpha=0.0, step=1.0, steps=1, start=np.array([1.0, 3.0]))
    influence = 0.5 - 0.125 / 6
    np.testing.assert_allclose(path[1], [1.0 + influence, 3.0 - influence], rtol=1e-15)


def test_algorithm_1_finds_the_minimum_of_its_objective():
    X, y = data()
    start = np.full(4, 0.3)
    scale = np.var(margins(X, y, start)) * 5.0 / 1.0
    loss = MarginPursuit(gamma=1.0, scale=scale)

    def objective(w):
        return float(np.mean(loss.value(X @ w, y))) + 0.005 * float(w @ w)

    best = minimize(objective, start, tol=1e-12)
    found = margin_pursuit(X, y, 1.0, 5.0, 0.01, 0.3, 2000, start)
    assert objective(found[-1]) <= best.fun + 1e-13
    np.testing.assert_allclose(found[-1], best.x, atol=1e-5)
    assert np.all(np.diff([objective(w) for w in found[:50]]) <= 1e-15)


def test_with_a_large_scale_the_location_of_the_margins_ends_near_the_level():
    # Remark 1: γ̂ ≈ γ, here without a penalty.
    X, y = data(400, noise=0.3)
    w = margin_pursuit(X, y, 1.0, 50.0, 0.0, 0.2, 3000, np.full(4, 0.3))[-1]
    assert catoni_location(margins(X, y, w), 5.0) == pytest.approx(1.0, abs=0.1)


def test_equal_margins_leave_no_scale():
    X, y = data()
    with pytest.raises(ValueError, match=r"all margins are equal at the start, and s = var·k/γ is 0"):
        margin_pursuit(X, y, 1.0, 2.0, 0.0, 0.1, 3, np.zeros(4))


@pytest.mark.parametrize("scale", [0.2, 1.0, 30.0])
def test_the_stochastic_form_with_steps_of_pegasos_is_pegasos_with_this_loss(scale):
    X, y = data()
    order = np.random.default_rng(1).integers(0, len(y), 300)
    path = stochastic_margin_pursuit(X, y, order, 1.5, scale, 0.05, "pegasos", np.zeros(4))
    loss = MarginPursuit(1.5, scale)
    other = pegasos(X[order], y[order], np.ones(300), loss, 0.05, 1, 1 / math.sqrt(0.05), False)
    np.testing.assert_allclose(path, [w for w, _ in other], atol=1e-12)


def test_printed_steps_make_the_loss_step_independent_of_the_scale_far_from_the_level():
    X, y = np.array([[2.0]]), np.array([1.0])
    for scale in (0.01, 0.1, 0.5):
        path = stochastic_margin_pursuit(X, y, np.array([0]), 1.0, scale, 0.01, "printed", np.array([0.0]))
        assert path[1][0] == pytest.approx(min(2 * ROOT2 / 3 * 2.0 / 0.1, 10.0))
    assert stochastic_step("printed", 2.0, 0.25, 4) == pytest.approx(1 / 4)
    assert stochastic_step("pegasos", 2.0, 0.25, 4) == pytest.approx(1.0)
    assert stochastic_step("root", 2.0, 0.25, 4) == pytest.approx(0.5)


def test_iterates_stay_in_the_ball():
    X, y = data()
    order = np.random.default_rng(1).integers(0, len(y), 400)
    path = stochastic_margin_pursuit(X * 100, y, order, 1.0, 1.0, 0.5, "root", np.full(4, 0.1))
    norms = np.linalg.norm(path, axis=1)
    assert np.all(norms <= 1 / math.sqrt(0.5) * (1 + 1e-15))
    assert norms.max() == pytest.approx(1 / math.sqrt(0.5))


def test_the_rescaling_takes_the_third_quartile_of_the_absolute_margins():
    values = np.array([-4.0, 1.0, -2.0, 3.0, 0.0])
    assert rescaled(values, 0.1, 0.05) == pytest.approx(math.sqrt(5 * 3.0 / (0.2 * math.log(20))))
    assert rescaled(values, 0.1, 0.01) < rescaled(values, 0.1, 0.05)


def test_the_scale_is_reset_once_and_only_from_the_row_it_is_said():
    X, y = data(60)
    order = np.random.default_rng(2).integers(0, 60, 80)
    start, given = np.full(4, 0.2), (1.0, 1.0, 0.01, "printed")
    plain = stochastic_margin_pursuit(X, y, order, *given, start)
    reset = stochastic_margin_pursuit(X, y, order, *given, start, reset_at=30)
    np.testing.assert_array_equal(plain[:31], reset[:31])
    assert not np.array_equal(plain[31], reset[31])
    # From there on it is a run of the new scale whose clock goes on.
    scale, w = rescaled(margins(X, y, plain[30]), 0.01), plain[30]
    for t in range(31, 81):
        i = order[t - 1]
        gain = scale * psi((1.0 - y[i] * (X[i] @ w)) / scale)
        w = w - (0.01 * w - gain * y[i] * X[i]) / (scale * 0.1 * t)
        w = w / max(1.0, np.linalg.norm(w) * 0.1)
        np.testing.assert_allclose(reset[t], w, atol=1e-13)


def test_the_location_is_the_fast_one():
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 40, 41):
        for scale in (0.05, 0.5, 3.0, 100.0):
            values = rng.normal(size=n)
            if n % 2 or scale > 1.0:  # otherwise roots may fill an interval
                assert location(values, scale) == pytest.approx(catoni_location(values, scale), abs=1e-11)


def test_the_direction_of_catoni_hinge_is_the_derivative_of_the_location_of_the_losses():
    X, y = data()
    for scale in (0.3, 1.0, 5.0):
        for seed in range(4):
            w = np.random.default_rng(seed).normal(size=4)

            def objective(w, scale=scale):
                return catoni_location(hinge(X, y, w), scale) + 0.05 * float(w @ w)

            step = catoni_hinge(X, y, scale, 0.1, 1.0, 1, w)
            np.testing.assert_allclose(step[0] - step[1], difference(objective, w), atol=1e-7)


def test_catoni_hinge_with_a_large_scale_is_the_mean_hinge():
    X, y = data()
    start = np.full(4, 0.1)
    plain = descend(lambda w: 0.1 * w - (margins(X, y, w) <= 1.0) * y @ X / len(y), 0.2, 40, start)
    np.testing.assert_allclose(catoni_hinge(X, y, 1e7, 0.1, 0.2, 40, start), plain, atol=1e-10)


@pytest.mark.slow
def test_rows_of_wild_loss_have_no_part_in_catoni_hinge():
    X, y = data(200)
    wild = X.copy()
    wild[:2] *= -1e6
    path = catoni_hinge(wild, y, 3.0, 0.01, 0.1, 200, np.full(4, 0.05))
    assert np.mean(margins(X[2:], y[2:], path[-1]) > 0) > 0.95


def test_one_block_of_median_of_means_is_the_mean_hinge_and_many_keep_wild_rows_out():
    X, y = data(200)
    start, rng = np.full(4, 0.1), np.random.default_rng
    plain = descend(lambda w: 0.1 * w - (margins(X, y, w) <= 1.0) * y @ X / len(y), 0.2, 30, start)
    np.testing.assert_allclose(median_of_means(X, y, 1, 0.1, 0.2, 30, start, rng(0)), plain, atol=1e-12)
    wild = X.copy()
    wild[:4] *= -1e6
    spoilt = median_of_means(wild, y, 1, 0.01, 0.1, 200, start, rng(0))[-1]
    kept = median_of_means(wild, y, 21, 0.01, lambda t: 0.5 / math.sqrt(t), 200, start, rng(0))[-1]
    assert np.mean(margins(X[4:], y[4:], spoilt) > 0) < 0.9
    assert np.mean(margins(X[4:], y[4:], kept) > 0) > 0.93


def test_the_gradient_of_margin_moments_is_that_of_the_printed_objective():
    X, y = data()

    def objective(w):
        m = margins(X, y, w)
        return 0.5 * float(w @ w) + 2.0 * m.var() - 1.5 * m.mean() + 3.0 * float(hinge(X, y, w).mean())

    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=4)
        step = margin_moments(X, y, 2.0, 1.5, 3.0, 1.0, 1, w)
        np.testing.assert_allclose(step[0] - step[1], difference(objective, w), atol=1e-6)
    path = margin_moments(X, y, 2.0, 1.5, 3.0, lambda t: 0.05 / math.sqrt(t), 3000, np.zeros(4))
    best = minimize(objective, path[-1], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
    assert objective(path[-1]) == pytest.approx(best.fun, abs=1e-3)


def test_more_weight_on_the_variance_makes_margins_vary_less():
    X, y = data()
    spread = []
    for lambda1 in (0.0, 2.0, 20.0):
        m = margins(X, y, margin_moments(X, y, lambda1, 1.0, 3.0, 0.01, 1500, np.zeros(4))[-1])
        spread.append(m.std() / m.mean())
    assert spread[0] > spread[1] > spread[2]


def test_the_gradient_of_margin_distribution_is_that_of_the_loss():
    X, y = data()
    loss = MarginDistribution(alpha=0.6, beta=1.4)

    def objective(w):
        return float(np.mean(loss.value(X @ w, y))) + 0.05 * float(w @ w)

    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=4)
        step = margin_distribution(X, y, 0.6, 1.4, 0.1, 1.0, 1, w)
        np.testing.assert_allclose(step[0] - step[1], difference(objective, w), atol=1e-7)
    at_zero = margin_distribution(X, y, 0.6, 1.4, 0.1, 1.0, 1, np.zeros(4))[1]
    np.testing.assert_allclose(at_zero, 1.4 * (y @ X) / len(y), rtol=1e-12)


@pytest.mark.slow
def test_every_method_learns():
    X, y = data(300, noise=0.6)
    start, rng = np.full(4, 0.05), np.random.default_rng(0)
    order = rng.integers(0, 300, 2000)
    ends = [
        margin_pursuit(X, y, 1.0, 1000.0, 0.01, 0.2, 300, start)[-1],
        stochastic_margin_pursuit(X, y, order, 1.0, 1.0, 0.01, "printed", start)[-1],
        stochastic_margin_pursuit(X, y, order, 1.0, 1.0, 0.01, "root", start)[-1],
        catoni_hinge(X, y, 1.0, 0.01, 0.2, 300, start)[-1],
        median_of_means(X, y, 11, 0.01, lambda t: 0.5 / math.sqrt(t), 300, start, rng)[-1],
        margin_moments(X, y, 1.0, 1.0, 10.0, 0.02, 300, start)[-1],
        margin_distribution(X, y, 0.5, 1.0, 0.01, 0.2, 300, start)[-1],
    ]
    shares = [np.mean(margins(X, y, w) > 0) for w in ends]
    assert min(shares) > 0.95, shares
