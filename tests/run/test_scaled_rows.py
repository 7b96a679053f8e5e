"""Scaled and shifted rows, dense and sparse, against a scaled copy of the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from problems import FEW_LOSSES, LOSSES, random_problem
from running import run
from sgdone import solvers, stopping
from sgdone.rows import ArraySource, Scaling
from tiers import at_night, examples, grid

pytestmark = [pytest.mark.slow, grid]

#: Explicit steps and implicit ones, one vector of weights and two.
SOLVERS = [solvers.SGD(), solvers.aisgd(), *at_night([solvers.ISGD(), solvers.asgd()])]


def fit(X, problem, loss, solver, scaling=None, coef=None, intercept=0.0):
    source = ArraySource(X, problem.y, problem.weights, scaling=scaling)
    stop = stopping.MaxPasses(2)
    rng = np.random.default_rng(3)
    return run(source, loss, solver, stop, alpha=0.01, rng=rng, coef=coef, intercept=intercept)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@examples(10)
@given(seed=st.integers(0, 10**6))
def test_scaled_access_equals_scaled_copy(solver, shifted, seed):
    loss = FEW_LOSSES[seed % len(FEW_LOSSES)]
    problem = random_problem(seed, loss)
    rng = np.random.default_rng(seed)
    d = problem.X.shape[1]
    scale = np.exp(rng.standard_normal(d))
    shift = rng.standard_normal(d) if shifted else None
    scaling = Scaling(scale, shift)
    centre = np.zeros(d) if shift is None else shift
    start, offset = rng.standard_normal(d), 0.3
    copied = fit((problem.X - centre) / scale, problem, loss, solver, None, start * scale, offset + start @ centre)
    coef = copied.coef / scale
    intercept = copied.intercept - coef @ centre
    for X in (problem.X, sparse.csr_array(problem.X)):
        result = fit(X, problem, loss, solver, scaling, start, offset)
        assert np.allclose(result.coef, coef, rtol=1e-9, atol=1e-9)
        assert result.intercept == pytest.approx(intercept, rel=1e-9, abs=1e-9)


def test_sparse_rows_with_a_shift_stay_sparse(rng):
    X = sparse.random_array((500, 10_000), density=1e-3, rng=rng, format="csr")
    y = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    scaling = Scaling(np.full(10_000, 2.0), rng.standard_normal(10_000))
    source = ArraySource(X, y, scaling=scaling)
    assert sum(array.nbytes for array in source.rows.arrays[:3]) < 200_000
    result = run(source, LOSSES[0], solvers.asgd(), stopping.MaxPasses(1), alpha=0.01)
    assert np.all(np.isfinite(result.coef))
