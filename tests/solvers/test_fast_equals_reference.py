"""The compiled loops against their slow twins, to 1e-10."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import FEW_LOSSES, LOSSES, random_problem
from running import run
from sgdone import solvers, steps, stopping
from sgdone.papers import sgd_reference
from sgdone.papers.averaging import reference as slow
from sgdone.papers.diagnostics.reference import implicit, least_squares_update
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

ALPHA = 0.01
GAMMA0, DECAY, EXPONENT = 0.05, 0.3, 0.75
STEP = steps.Xu(gamma0=GAMMA0, a=DECAY, c=EXPONENT)


def gamma(t):
    return slow.schedule(GAMMA0, DECAY, EXPONENT, t)


def fast(problem, loss, solver, *, as_csr, intercept=True, step=STEP, passes=1):
    task = "classification" if loss.task == "classification" else "regression"
    return run(
        problem.source(as_csr=as_csr, shuffle=False),
        loss,
        solver,
        stopping.MaxPasses(passes),
        alpha=ALPHA,
        step=step,
        fit_intercept=intercept,
        task=task,
    )


def slow_path(problem, loss, make_update, intercept=True):
    update = make_update(loss, ALPHA, intercept)
    return sgd_reference.sgd(problem.X, problem.y, problem.weights, gamma, update)


def assert_same(result, expected):
    w, b = expected
    assert np.max(np.abs(result.coef - w), initial=0.0) <= 1e-10 * max(1.0, np.max(np.abs(w), initial=0.0))
    assert result.intercept == pytest.approx(b, rel=1e-10, abs=1e-10)


@interpreted
@pytest.mark.parametrize("loss", fast_first(1, LOSSES), ids=lambda loss: loss.name)
@examples(15)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), intercept=st.booleans())
def test_sgd(loss, seed, as_csr, intercept):
    problem = random_problem(seed, loss)
    result = fast(problem, loss, solvers.SGD(), as_csr=as_csr, intercept=intercept)
    assert_same(result, slow_path(problem, loss, sgd_reference.explicit, intercept)[-1])
    assert result.verdict.step == np.count_nonzero(problem.weights)


@interpreted
@pytest.mark.parametrize("loss", fast_first(1, LOSSES), ids=lambda loss: loss.name)
@examples(10)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans())
def test_isgd(loss, seed, as_csr):
    problem = random_problem(seed, loss, n_rows=60)
    result = fast(problem, loss, solvers.ISGD(), as_csr=as_csr)
    assert_same(result, slow_path(problem, loss, implicit)[-1])


@interpreted
@pytest.mark.parametrize("loss", fast_first(1, LOSSES, upto=1), ids=lambda loss: loss.name)
@examples(10)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), after=st.integers(0, 120))
def test_asgd_from_a_given_sample(loss, seed, as_csr, after):
    problem = random_problem(seed, loss)
    result = fast(problem, loss, solvers.Averaged(solvers.SGD(), after), as_csr=as_csr)
    assert_same(result, slow.average(slow_path(problem, loss, sgd_reference.explicit), after))


@examples(25)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), after=st.integers(0, 50), decay=st.floats(0, 10))
@pytest.mark.slow
def test_averages_that_weigh_later_iterates_more(seed, as_csr, after, decay):
    loss = FEW_LOSSES[seed % len(FEW_LOSSES)]
    problem = random_problem(seed, loss)
    result = fast(problem, loss, solvers.Averaged(solvers.SGD(), after, decay), as_csr=as_csr)
    assert_same(result, slow.average(slow_path(problem, loss, sgd_reference.explicit), after, decay))


@examples(25)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans())
@pytest.mark.slow
def test_asgd_finds_the_same_start_of_averaging(seed, as_csr):
    loss = FEW_LOSSES[seed % len(FEW_LOSSES)]
    problem = random_problem(seed, loss, n_rows=400)
    path = slow_path(problem, loss, sgd_reference.explicit)
    start = slow.start_of_averaging(path, problem.X, problem.y, problem.weights, loss)
    result = fast(problem, loss, solvers.asgd(), as_csr=as_csr)
    assert result.state.average_start in ({start, None} if start == len(path) - 1 else {start})
    assert_same(result, slow.average(path, start))


@examples(10)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans())
@pytest.mark.slow
def test_aisgd(seed, as_csr):
    loss = FEW_LOSSES[seed % len(FEW_LOSSES)]
    problem = random_problem(seed, loss, n_rows=150)
    path = slow_path(problem, loss, implicit)
    start = slow.start_of_averaging(path, problem.X, problem.y, problem.weights, loss)
    assert_same(fast(problem, loss, solvers.aisgd(), as_csr=as_csr), slow.average(path, start))


def test_implicit_twin_is_the_closed_form_of_least_squares(rng):
    x, theta = rng.standard_normal(5), rng.standard_normal(5)
    update = implicit(LOSSES[3], 0.0, False)
    w, _ = update(theta, 0.0, x, 1.3, 1.0, 0.7)
    assert np.allclose(w, least_squares_update(theta, x, 1.3, 0.7), rtol=1e-14)


def test_the_weights_of_averaged_iterates_grow_as_the_power_says():
    path = [(np.array([float(t)]), 0.0) for t in range(5001)]
    weights = np.arange(1, 5001) ** 3.0
    (mean,), _ = slow.average(path, 0, 3.0)
    assert mean == pytest.approx(np.average(np.arange(1, 5001), weights=weights), rel=1e-3)
