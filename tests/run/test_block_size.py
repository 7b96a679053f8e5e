"""Block size never changes a result; neither does the storage of the rows, up to rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import FEW_LOSSES, LOSSES, random_problem
from running import run
from sgdone import solvers, stopping
from sgdone.rows import ArraySource
from tiers import examples, fast_first, interpreted

SOLVERS = [solvers.SGD(), solvers.ISGD(), solvers.asgd(), solvers.aisgd(), solvers.Averaged(solvers.SGD(), 30)]


def fit(source, loss, solver, stop, **options):
    return run(source, loss, solver, stop, alpha=1e-3, rng=np.random.default_rng(7), **options)


def same_bits(a, b):
    return (
        np.array_equal(a.coef, b.coef)
        and a.intercept == b.intercept
        and a.verdict.step == b.verdict.step
        and a.verdict.rule == b.verdict.rule
        and np.array_equal(a.state.numbers, b.state.numbers)
    )


@interpreted
@pytest.mark.parametrize("solver", fast_first(1, SOLVERS), ids=repr)
@examples(5)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), shuffle=st.booleans())
def test_block_size_changes_no_bit(solver, seed, as_csr, shuffle):
    loss = FEW_LOSSES[seed % len(FEW_LOSSES)]
    problem = random_problem(seed, loss)
    samples = int(np.random.default_rng(seed).integers(1, 900))
    stop = stopping.ProgressiveLoss(0.05) | stopping.MaxPasses(4) | stopping.MaxSamples(samples)
    whole = fit(problem.source(as_csr=as_csr, shuffle=shuffle), loss, solver, stop)
    for size in (1, 7, 1000):
        again = fit(problem.source(as_csr=as_csr, shuffle=shuffle), loss, solver, stop, block_size=size)
        assert same_bits(whole, again)


@pytest.mark.parametrize("solver", fast_first(1, SOLVERS), ids=repr)
def test_block_size_changes_no_bit_across_windows(solver, rng):
    X = rng.standard_normal((20_000, 3))
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0, 1.0, -1.0)
    whole = fit(ArraySource(X, y), LOSSES[0], solver, stopping.MaxPasses(1.7))
    for size in (777, 5000):
        assert same_bits(whole, fit(ArraySource(X, y), LOSSES[0], solver, stopping.MaxPasses(1.7), block_size=size))
