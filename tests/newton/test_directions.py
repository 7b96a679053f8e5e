"""Directions of Newton's method, by factors and by conjugate gradients."""

import numpy as np
import pytest

from sgdone.newton.search import ConjugateGradients, Factors, Point, conjugate_gradients
from sgdone.sums.row_sum import ArraySum
from sgdone.sums.second_order import SecondOrder


def problem(columns=2, seed=0):
    """A curvature of three coefficients and an intercept, a gradient, and penalties: the second stays 0."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((30, 4 * columns))
    return half.T @ half, rng.standard_normal((4, columns)), np.array([0.5, np.inf, 0.5, 0.0])


def flat(model):
    return model.T.ravel()


def free_part(curvature, penalties, columns):
    """H of the coefficients that may change, and their places."""
    free = np.flatnonzero(np.tile(np.isfinite(penalties), columns))
    added = np.tile(np.where(np.isfinite(penalties), penalties, 0.0), columns)
    return (curvature + np.diag(added))[np.ix_(free, free)], free


@pytest.mark.parametrize("columns", [1, 2])
def test_solve_is_that_of_the_penalised_curvature(columns):
    curvature, right, penalties = problem(columns)
    found = Factors.of(curvature, penalties, columns).solve(np.where(np.isfinite(penalties)[:, None], right, 0.0))
    part, free = free_part(curvature, penalties, columns)
    np.testing.assert_allclose(flat(found)[free], np.linalg.solve(part, flat(right)[free]), rtol=1e-10)
    assert not found[1].any()


def test_the_inverse_is_symmetric_and_multiplies_to_1():
    curvature, _, penalties = problem()
    found = Factors.of(curvature, penalties, 2).inverse()
    part, free = free_part(curvature, penalties, 2)
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(found[np.ix_(free, free)] @ part, np.eye(free.size), atol=1e-10)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_a_singular_curvature_gives_the_shortest_solution(unit):
    """Two equal columns share what there is, whatever the units of the third."""
    rows = np.random.default_rng(0).standard_normal((20, 2))
    rows = np.column_stack([rows[:, 0], rows[:, 0], unit * rows[:, 1]])
    curvature = rows.T @ rows
    factors = Factors.of(curvature, np.zeros(3), 1)
    right = curvature @ np.array([1.0, 3.0, 5.0 / unit])
    assert factors.cholesky is None
    np.testing.assert_allclose(factors.solve(right[:, None])[:, 0], [2.0, 2.0, 5.0 / unit], rtol=1e-6)
    np.testing.assert_allclose(factors.inverse() @ right, [2.0, 2.0, 5.0 / unit], rtol=1e-6)


def test_the_curvature_is_not_changed():
    curvature, _, penalties = problem()
    before = curvature.copy()
    Factors.of(curvature, penalties, 2)
    assert np.array_equal(curvature, before)


def at_gradient(gradient, penalties, curvature):
    gradient = np.where(np.isfinite(penalties)[:, None], gradient, 0.0)
    diagonal = np.diag(curvature).reshape(2, 4).T
    sums = SecondOrder(1.0, 0.0, 0.0, gradient, np.empty(0), diagonal)
    return Point(np.zeros((4, 2)), sums, 0.0, gradient, penalties)


def solved(search, curvature):
    """What a search finds that asks for products of a curvature, and how many it asked for."""
    count, value = 0, None
    while True:
        try:
            request = search.send(value)
        except StopIteration as done:
            return done.value, count
        count, value = count + 1, ArraySum((curvature @ flat(request.direction)).reshape(2, 4).T)


def test_conjugate_gradients_solve_the_same_equations():
    curvature, gradient, penalties = problem()
    at = at_gradient(gradient, penalties, curvature)
    exact = -Factors.of(curvature, penalties, 2).solve(at.gradient)
    (_, found), _ = solved(ConjugateGradients(None).at(at), curvature)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)
    assert not found[1].any()
    assert at.decrement(found) == pytest.approx(at.decrement(exact), rel=1e-9)


def test_conjugate_gradients_with_the_exact_factors_take_one_product():
    curvature, gradient, penalties = problem()
    at, factors = at_gradient(gradient, penalties, curvature), Factors.of(curvature, penalties, 2)
    (found, converged), count = solved(conjugate_gradients(None, at, factors.solve, 1e-8, 5), curvature)
    assert (converged, count) == (True, 1)
    np.testing.assert_allclose(found, -factors.solve(at.gradient), rtol=1e-9)


def test_conjugate_gradients_say_that_they_were_too_few():
    curvature, gradient, penalties = problem()
    at = at_gradient(gradient, penalties, curvature)
    (_, converged), _ = solved(conjugate_gradients(None, at, lambda residual: residual, 1e-8, 2), curvature)
    assert not converged


def test_coefficients_that_stay_0_have_none_in_the_inverse():
    found = Factors.of(np.diag([2.0, 3.0]), np.array([0.0, np.inf]), 1).inverse()
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 0.0]])
