"""Gradient descent: equal to its slow twin, dense as sparse, rules, going on, files, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import FEW_LOSSES, random_problem
from running import run
from sgdone import SGDClassifier, losses, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.papers.margin_pursuit.reference import descend, margin_pursuit
from sgdone.rows import ArraySource
from sgdone.solvers import GD
from sgdone.stopping import MaxPasses, MaxSamples, ProgressiveLoss
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()
#: Smooth and not, of classes and of numbers, with parameters and without; each takes time to compile.
LOSSES = [*FEW_LOSSES, losses.MarginPursuit(0.8, 0.7)]


def fit(problem, stop, loss=LOGISTIC, *, as_csr=False, solver=None, **options):
    options = {"alpha": 0.1} | options
    return run(problem.source(as_csr=as_csr), loss, solver or GD(), stop, **options)


def slow_path(problem, loss, alpha, step, count, intercept=True):
    """Weighted rows of positive weight; the intercept, a feature of value 1, is not penalised."""
    used = problem.weights > 0
    X, y, v = problem.X[used], problem.y[used], problem.weights[used]
    X = np.column_stack([X, np.full(len(y), float(intercept))])
    penalised = np.append(np.ones(X.shape[1] - 1), 0.0)

    def gradient(theta):
        return alpha * penalised * theta + (v * loss.slope(X @ theta, y)) @ X / len(y)

    return descend(gradient, step, count, np.zeros(X.shape[1]))


def assert_same(result, theta, tolerance=1e-10):
    found = np.append(result.coef, result.intercept)
    assert np.max(np.abs(found - theta)) <= tolerance * max(1.0, np.max(np.abs(theta)))


@pytest.fixture
def problem():
    return random_problem(3, LOGISTIC, n_rows=101, n_features=4)


# --- The method ---------------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("loss", fast_first(1, LOSSES), ids=lambda loss: loss.name)
@examples(30)  # of each loss
@given(
    seed=st.integers(0, 10**6),
    as_csr=st.booleans(),
    intercept=st.booleans(),
    falling=st.booleans(),
    alpha=st.sampled_from([0.0, 0.05, 2.0]),
    count=st.integers(1, 30),
    block_size=st.sampled_from([1, 100, 1000, None]),
)
def test_it_equals_its_slow_twin(loss, seed, as_csr, intercept, falling, alpha, count, block_size):
    problem = random_problem(seed, loss)
    step = steps.InverseSqrt(0.05) if falling else steps.Constant(0.05)
    options = {"alpha": alpha, "step": step, "fit_intercept": intercept, "block_size": block_size}
    result = fit(problem, MaxSamples(count), loss, as_csr=as_csr, **options)
    slow = slow_path(problem, loss, alpha, lambda t: 0.05 / np.sqrt(t) if falling else 0.05, count, intercept)
    assert_same(result, slow[-1])
    assert (result.verdict.step, result.verdict.passes) == (count, count)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_algorithm_1_equals_its_slow_twin(seed):
    """With the scale from the variance of the margins at the start."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, LOGISTIC, n_rows=int(rng.integers(3, 60)))
    problem.weights[:] = 1.0
    gamma, k = rng.uniform(0.3, 2.0), rng.uniform(0.5, 4.0)
    start = rng.standard_normal(problem.X.shape[1])
    loss = losses.MarginPursuit(gamma, losses.AutoScale(k))
    options = {"alpha": 0.0, "step": steps.Constant(0.1), "fit_intercept": False, "coef": start}
    for as_csr in (False, True):
        result = fit(problem, MaxPasses(20), loss, as_csr=as_csr, **options)
        slow = margin_pursuit(problem.X, problem.y, gamma, k, 0.0, 0.1, 20, start)
        assert_same(result, np.append(slow[-1], 0.0))
    expected = np.var(problem.y * (problem.X @ start)) * k / gamma
    assert result.verdict.evidence["scale"] == pytest.approx(expected, rel=1e-12)


@interpreted
@pytest.mark.parametrize(
    "loss", fast_first(1, [LOGISTIC, losses.Squared(), losses.MarginPursuit()]), ids=lambda loss: loss.name
)
@pytest.mark.parametrize("as_csr", fast_first(1, [False, True]), ids=["dense", "csr"])
def test_its_own_step_never_raises_the_objective(loss, as_csr):
    for seed in range(10):
        problem = random_problem(seed, loss)
        # One row far larger than the first thousand would tell of, were only these looked at.
        problem.X[-1] *= 30.0
        used = problem.weights > 0
        X, y, v = problem.X[used], problem.y[used], problem.weights[used]
        values = []

        def objective(progress, X=X, y=y, v=v, values=values):
            w, b = progress.iterate()
            values.append(float(np.mean(v * loss.value(X @ w + b, y))) + 0.05 * float(w @ w))

        fit(problem, MaxPasses(50), loss, as_csr=as_csr, hook=objective, block_size=1)
        assert len(values) == 50
        assert np.all(np.diff(values) <= 1e-14 * np.abs(values[:-1]))


@pytest.mark.slow
def test_its_own_step_for_a_loss_with_a_kink_falls(problem):
    result = fit(problem, MaxPasses(400), losses.Hinge(), block_size=1)
    sizes = result.trace["step_size"]
    assert sizes[99] == pytest.approx(sizes[0] / 10)
    # The minimum, from a much longer run.
    best = fit(problem, MaxPasses(100_000), losses.Hinge())
    value = [slow_objective(problem, losses.Hinge(), 0.1, it) for it in (result, best)]
    assert value[1] < value[0] < 1.02 * value[1]


def slow_objective(problem, loss, alpha, result):
    used = problem.weights > 0
    z = problem.X[used] @ result.coef + result.intercept
    mean = float(np.mean(problem.weights[used] * loss.value(z, problem.y[used])))
    return mean + 0.5 * alpha * float(result.coef @ result.coef)


@pytest.mark.slow
def test_float32_rows_sum_in_float64():
    rng = np.random.default_rng(0)
    X = (1.0 + 0.1 * rng.standard_normal((200_000, 2))).astype(np.float32)
    y = np.where(rng.random(len(X)) < 0.7, 1.0, -1.0)
    single, double = (
        run(ArraySource(rows, y), LOGISTIC, GD(), MaxPasses(5), alpha=0.0) for rows in (X, X.astype(np.float64))
    )
    assert single.coef.dtype == np.float32
    np.testing.assert_allclose(single.coef, double.coef, rtol=1e-5)


# --- Rules --------------------------------------------------------------------------------------------------------


@interpreted
def test_budgets_in_passes_samples_and_parts_of_passes(problem):
    assert fit(problem, MaxPasses(7)).verdict.step == 7
    assert fit(problem, MaxPasses(2.5)).verdict.step == 3
    assert fit(problem, MaxSamples(9) | MaxPasses(4)).verdict.step == 4
    assert fit(problem, MaxSamples(3).then(2.0)).verdict.step == 6


@interpreted
def test_progressive_loss_looks_after_every_step(problem):
    result = fit(problem, ProgressiveLoss(1e-2))
    assert result.verdict.status is Status.CONVERGED
    path = slow_path(problem, LOGISTIC, 0.1, result.state.step.gamma, result.verdict.step)
    used = problem.weights > 0
    X, y, v = np.column_stack([problem.X, np.ones(len(problem.y))])[used], problem.y[used], problem.weights[used]
    means = np.array([v @ LOGISTIC.value(X @ theta, y) for theta in path[:-1]])
    gains = means[1:] < (1 - 1e-2) * means[:-1]
    assert np.all(gains[:-1])
    assert not gains[-1]
    assert f"pass {result.verdict.step} lowered" in result.verdict.reason


@pytest.mark.slow
def test_a_hook_is_told_passes_and_may_stop(problem):
    seen = []

    def hook(progress):
        seen.append((progress.step, progress.pass_number, progress.passes, progress.pass_ended))
        return "enough" if progress.step >= 6 else None

    result = fit(problem, MaxPasses(100), hook=hook, block_size=2 * 101)
    assert seen == [(2, 2, 2.0, True), (4, 4, 4.0, True), (6, 6, 6.0, True)]
    assert result.verdict.status is Status.STOPPED


@pytest.mark.slow
def test_many_steps_leave_few_rows_in_the_trace(problem):
    result = fit(problem, MaxSamples(40_000))
    assert result.verdict.step == 40_000
    assert 1 <= len(result.trace) < 50


# --- What it refuses, and edges -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", fast_first(1, ["isgd", "aisgd", "isgd-half"]))
def test_implicit_steps_on_a_loss_that_is_not_convex_are_refused(solver):
    with pytest.raises(ValueError, match="implicit steps, which need a convex loss, and 'margin_distribution' is not"):
        SGDClassifier("margin-distribution", solver=solver).fit([[-1.0], [1.0]], [0, 1])
