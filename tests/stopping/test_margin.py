"""The margin test: where it stops, what it returns, and what it is never confused by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import random_problem
from running import run
from sgdone import losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from sgdone.stopping import MarginTest, MaxPasses, MaxSamples
from storage_forms import FORMS
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()


def fit(X, y, stop, weights=None, *, solver=None, gamma=0.1, shuffle=False, alpha=0.01, **options):
    source = ArraySource(X, y, weights, shuffle=shuffle)
    solver = solvers.SGD() if solver is None else solver
    return run(source, LOGISTIC, solver, stop, alpha=alpha, step=steps.Constant(gamma), **options)


@pytest.fixture
def problem():
    """Some rows are empty, some of weight 0."""
    return random_problem(5, LOGISTIC, n_rows=400, n_features=6)


@interpreted
@pytest.mark.parametrize("threshold", [0, 0.0, -1, float("nan"), float("inf"), True, np.True_, "1", None])
def test_a_threshold_that_is_none(threshold):
    with pytest.raises(ValueError, match=r"threshold=.* is not a positive number"):
        MarginTest(threshold)


@interpreted
def test_the_sample_that_fires_is_not_learnt_from(problem):
    X, y, v = problem.X, problem.y, problem.weights
    result = fit(X, y, MarginTest(), v)
    k, margin = result.verdict.step, result.verdict.evidence["margin"]
    assert 0 < k < np.count_nonzero(v)
    assert result.verdict.status is Status.CONVERGED
    assert result.verdict.rule == "MarginTest"
    before = fit(X, y, MaxSamples(k), v)
    assert np.allclose(result.coef, before.coef, rtol=1e-13, atol=1e-13)
    fired = np.flatnonzero(v)[k]
    assert margin == pytest.approx(y[fired] * (X[fired] @ result.coef + result.intercept), rel=1e-12)
    assert margin >= 1.0
    assert result.rows_read == fired
    assert f"margin {margin:.3g} ≥ 1 at sample {k + 1:,}" in result.verdict.reason


@interpreted
def test_every_margin_before_that_is_smaller(problem):
    X, y, v = problem.X, problem.y, problem.weights
    k = fit(X, y, MarginTest(), v).verdict.step
    used = np.flatnonzero(v)
    for t in range(k):
        so_far = fit(X, y, MaxSamples(t), v) if t else None
        z = 0.0 if so_far is None else X[used[t]] @ so_far.coef + so_far.intercept
        assert y[used[t]] * z < 1.0


@interpreted
def test_a_fresh_sample_is_read_and_never_learnt_from(problem):
    X, y, v = problem.X[problem.weights > 0], problem.y[problem.weights > 0], None
    result = fit(X, y, MarginTest(fresh=True), v)
    k = result.verdict.step
    assert result.verdict.rule == "MarginTest"
    assert result.rows_read == 2 * k
    assert "at a fresh sample after" in result.verdict.reason
    trained = fit(np.ascontiguousarray(X[0::2]), y[0::2].copy(), MaxSamples(k), v)
    assert np.allclose(result.coef, trained.coef, rtol=1e-13, atol=1e-13)
    margins = y[1::2] * (X[1::2] @ result.coef + result.intercept)
    assert margins[k - 1] == pytest.approx(result.verdict.evidence["margin"], rel=1e-12)
    looked_at = 1 + 2 * np.arange(k)
    others = y.copy()
    others[looked_at[:-1]] *= -1.0  # what was only looked at, and did not fire, may say what it likes
    again = fit(X, others, MarginTest(1e9, fresh=True) | MaxSamples(k), v)
    assert np.allclose(again.coef, result.coef, rtol=1e-13, atol=1e-13)


@interpreted
def test_pairs_go_on_over_the_end_of_a_pass():
    """Of three rows the first pass trains on two, the second on one: pairs do not start again."""
    X, y = np.eye(3), np.ones(3)
    result = fit(X, y, MarginTest(1e9, fresh=True) | MaxPasses(2), alpha=0.0, fit_intercept=False)
    assert result.verdict.step == 3
    assert np.all(result.coef > 0)  # rows 0 and 2, then row 1


@interpreted
def test_a_rule_that_never_fires_ends_at_the_budget(problem):
    result = fit(problem.X[:40], problem.y[:40], MarginTest(1e6), problem.weights[:40])
    verdict = result.verdict
    assert (verdict.status, verdict.rule, verdict.passes) == (Status.BUDGET_SPENT, "MaxPasses", 100.0)
    assert verdict.reason == "100 passes allowed and made; MarginTest saw no margin of 1e+06 or more"
    assert verdict.evidence["others"] == ["MarginTest saw no margin of 1e+06 or more"]


@interpreted
def test_a_model_that_starts_with_large_margins_is_left_alone(problem):
    start = np.full(6, 50.0)
    source = ArraySource(problem.X, np.where(problem.X @ start >= 0, 1.0, -1.0), shuffle=False)
    result = run(source, LOGISTIC, solvers.SGD(), MarginTest(), alpha=0.1, step=steps.Constant(0.1), coef=start)
    assert (result.verdict.step, result.rows_read, result.verdict.rule) == (0, 0, "MarginTest")
    assert np.array_equal(result.coef, start)
    assert len(result.trace) == 0


@interpreted
@pytest.mark.slow
def test_an_average_is_that_of_the_iterates_up_to_the_stop(problem):
    X, y, v = problem.X, problem.y, problem.weights
    k = fit(X, y, MarginTest(), v).verdict.step
    averaged = fit(X, y, MarginTest(), v, solver=solvers.Averaged(solvers.SGD(), 5))
    assert averaged.verdict.step == k  # the rule sees the running iterate
    iterates = [fit(X, y, MaxSamples(t), v) for t in range(6, k + 1)]
    assert np.allclose(averaged.coef, np.mean([result.coef for result in iterates], axis=0), rtol=1e-10, atol=1e-12)
    early = fit(X, y, MarginTest(), v, solver=solvers.Averaged(solvers.SGD(), 10**6))
    assert np.allclose(early.coef, iterates[-1].coef, rtol=1e-12, atol=1e-13)


ODD_ROWS = {
    "one row": np.array([[1.0, -2.0]]),
    "one feature": np.linspace(-1, 1, 30)[:, None],
    "equal rows": np.ones((30, 3)),
    "a constant column": np.column_stack([np.ones(30), np.linspace(-1, 1, 30)]),
    "nothing but zeros": np.zeros((30, 2)),
    "more features than rows": np.random.default_rng(0).standard_normal((5, 40)),
}


@interpreted
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize("name", ODD_ROWS)
def test_odd_rows(name, form, fresh):
    X = ODD_ROWS[name]
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    result = fit(FORMS[form](X), y, MarginTest(fresh=fresh) | MaxPasses(20))
    assert result.verdict.status in (Status.CONVERGED, Status.BUDGET_SPENT)
    assert np.all(np.isfinite(result.coef))
    assert np.isfinite(result.intercept)
    expected = fit(X, y, MarginTest(fresh=fresh) | MaxPasses(20))
    assert result.verdict.step == expected.verdict.step


@interpreted
@examples(60)
@given(
    seed=st.integers(0, 10**6),
    threshold=st.floats(1e-3, 3.0),
    gamma=st.floats(0.01, 1.0),
    fresh=st.booleans(),
)
def test_a_larger_threshold_never_stops_earlier(seed, threshold, gamma, fresh):
    problem = random_problem(seed, LOGISTIC)
    stops = []
    for factor in (1.0, 1.5):
        rule = MarginTest(factor * threshold, fresh) | MaxPasses(2)
        stops.append(fit(problem.X, problem.y, rule, problem.weights, gamma=gamma))
    assert stops[0].rows_read <= stops[1].rows_read
    if stops[0].verdict.rule == "MarginTest":
        assert stops[0].verdict.evidence["margin"] >= threshold
