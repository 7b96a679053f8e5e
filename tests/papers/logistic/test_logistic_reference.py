"""The reference implementations of Ji, Telgarsky (2018): by hand, by finite differences and by a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sgdone.papers.logistic.descent import STEPS, descend
from sgdone.papers.logistic.problems import PROBLEMS
from sgdone.papers.logistic.reference import (
    LOSSES,
    constant_step,
    constrained_optimum,
    gradient,
    gradient_descent,
    inverse_root_step,
    perceptron_sgd,
    risk,
    scaled_rows,
)

BY_NAME = {"1": constant_step, "1/√(j+1)": inverse_root_step}


def test_rows_are_signed_and_have_norm_one_at_most():
    X, y = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([1.0, -1.0])
    A, norm = scaled_rows(X, y)
    assert norm == 5.0
    np.testing.assert_allclose(A, [[-0.6, -0.8], [0.2, 0.0]])


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_and_curvatures_are_derivatives(loss):
    value, slope, curvature = LOSSES[loss]
    r = np.linspace(-6, 4, 41)
    np.testing.assert_allclose(slope(r), (value(r + 1e-6) - value(r - 1e-6)) / 2e-6, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(curvature(r), (slope(r + 1e-6) - slope(r - 1e-6)) / 2e-6, rtol=1e-7, atol=1e-9)
    assert np.all(slope(r) <= value(r) * (1 + 1e-15))
    assert np.all(curvature(r) <= value(r) * (1 + 1e-15))


def test_two_steps_of_gradient_descent_by_hand():
    A = np.array([[-1.0, 0.0], [0.0, 0.5]])
    path = gradient_descent(A, inverse_root_step, 2)
    np.testing.assert_allclose(path[1], [0.25, -0.125])
    share = 1 / (1 + np.exp(0.25)), 1 / (1 + np.exp(0.0625))
    np.testing.assert_allclose(path[2], path[1] + 0.5**0.5 * np.array([share[0], -0.5 * share[1]]) / 2)


def test_two_steps_of_sgd_by_hand():
    path = perceptron_sgd(np.array([[-1.0, 0.0], [-0.6, 0.8]]), 2, constant_step)
    np.testing.assert_allclose(path[1], [0.5, 0.0])
    np.testing.assert_allclose(path[2], [0.5 + 0.6 / (1 + np.exp(0.3)), -0.8 / (1 + np.exp(0.3))])


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_descent_of_the_experiments_is_the_same(name, steps):
    rows = PROBLEMS[name].rows
    at = np.array([0, 1, 7, 300])
    path = gradient_descent(-rows, BY_NAME[steps], 300)
    fast = descend(rows, steps, at)
    np.testing.assert_allclose(fast.iterates, path[at], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(fast.step_sums, [sum(map(BY_NAME[steps], range(t))) for t in at])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("radius", [0.3, 2.0, 8.0])
def test_the_constrained_optimum_is_that_of_a_general_solver(loss, radius, rng):
    A = rng.standard_normal((12, 3)) / 4
    found = constrained_optimum(A, radius, loss)
    assert np.linalg.norm(found) <= radius * (1 + 1e-12)
    other = minimize(
        lambda w: risk(A, w, loss),
        np.zeros(3),
        jac=lambda w: gradient(A, w, loss),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert risk(A, found, loss) <= other.fun + 1e-10
    np.testing.assert_allclose(found, other.x, atol=2e-5 * radius)


def test_the_ball_binds_on_separable_data_whatever_its_radius():
    A = -PROBLEMS["separable"].rows
    for radius in (1.0, 10.0, 30.0):
        found = constrained_optimum(A, radius)
        assert np.linalg.norm(found) == pytest.approx(radius, rel=1e-10)
        slope = gradient(A, found)
        np.testing.assert_allclose(slope / np.linalg.norm(slope), -found / radius, atol=1e-9)
