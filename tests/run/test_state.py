"""State survives blocks and can be kept and resumed bit for bit."""

import numpy as np
import pytest

from problems import LOSSES, random_problem
from running import run
from sgdone import solvers, stopping
from sgdone.kernels import storage
from tiers import fast_first

SOLVERS = [solvers.SGD(), solvers.ISGD(), solvers.asgd(), solvers.aisgd()]


@pytest.mark.parametrize("as_csr", fast_first(1, [False, True], upto=1))
@pytest.mark.slow
def test_folding_small_scales_changes_nothing_but_rounding(as_csr, monkeypatch):
    """Xu's two vectors, renormalised all the time and never, give the same average."""
    from sgdone.kernels import loop

    loss = LOSSES[0]
    problem = random_problem(21, loss, n_rows=400, n_features=5)

    def fit():
        loop.make_loop.cache_clear()
        source = problem.source(as_csr=as_csr, shuffle=False)
        return run(source, loss, solvers.asgd(), stopping.MaxPasses(3), alpha=0.3)

    plain = fit()
    monkeypatch.setattr(storage, "AVERAGE_FLOOR", 0.9)
    folded = fit()
    loop.make_loop.cache_clear()
    assert np.allclose(plain.coef, folded.coef, rtol=1e-12, atol=1e-13)
    assert not np.array_equal(plain.state.weights, folded.state.weights)


@pytest.mark.slow
def test_a_million_steps_of_strong_shrinkage_stay_finite(rng):
    """α·γ near 1 shrinks the scale below any float within a few hundred steps."""
    from sgdone import steps
    from sgdone.rows import ArraySource

    X = rng.standard_normal((1000, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    for solver in SOLVERS:
        source = ArraySource(X, y)
        stop = stopping.MaxPasses(100)
        result = run(source, LOSSES[0], solver, stop, alpha=9.0, step=steps.Constant(0.1))
        assert np.all(np.isfinite(result.coef))
        assert 0.01 < result.coef[0] < 1.0
    exact = run(ArraySource(X, y), LOSSES[0], solvers.SGD(), stop, alpha=10.0, step=steps.Constant(0.1))
    assert np.all(np.isfinite(exact.coef))


@pytest.mark.parametrize(
    "rule",
    [stopping.MaxPasses(3), stopping.MaxSeconds(1e-9), stopping.ProgressiveLoss() | stopping.MaxPasses(3)],
    ids=repr,
)
def test_another_rule_does_not_take_the_state_of_the_first(rule):
    loss = LOSSES[0]
    problem = random_problem(11, loss, n_rows=700, n_features=6)
    source = problem.source(shuffle=False)
    first = run(source, loss, solvers.SGD(), stopping.MaxPasses(1), alpha=0.01)
    then = run(source, loss, solvers.SGD(), rule, alpha=0.01, resume=first)
    assert then.verdict.passes == (2 if isinstance(rule, stopping.MaxSeconds) else 3)


def test_the_same_rule_goes_on_with_its_state():
    loss = LOSSES[0]
    source = random_problem(11, loss, n_rows=700, n_features=6).source(shuffle=False)
    rule = stopping.MinPasses(2) & stopping.MaxPasses(1)
    first = run(source, loss, solvers.SGD(), rule, alpha=0.01, single_pass=True)
    then = run(source, loss, solvers.SGD(), rule, alpha=0.01, resume=first)
    assert then.verdict.reason == "at least 2 passes made, after MaxPasses"
