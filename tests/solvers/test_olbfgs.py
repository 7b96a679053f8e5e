"""Online L-BFGS: equal to its slow twin, minibatches across blocks, its memory, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from problems import RandomProblem, random_problem
from running import run, with_new_rule
from sgdone import SGDClassifier, losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.papers.averaging import rivals as slow
from sgdone.rows import ArraySource
from sgdone.solvers.olbfgs import OLBFGS
from sgdone.stopping import MaxPasses, MaxSamples
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()
LOSSES = [LOGISTIC, losses.Hinge(), losses.Squared()]
FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array], upto=1))
#: A first step that does not divide by tiny differences: with 1e-10 the twins part ways at once.
PLAIN = {"epsilon": 0.05, "damping": 0.1}


def fit(problem, solver, stop, loss=LOGISTIC, *, as_csr=False, shuffle=False, **options):
    options = {"alpha": 0.1, "task": "regression" if loss.name == "squared" else "classification"} | options
    return run(problem.source(as_csr=as_csr, shuffle=shuffle), loss, solver, stop, **options)


def slow_path(problem, solver, loss=LOGISTIC, alpha=0.1, intercept=True, passes=1):
    X, y, v = (np.concatenate([part] * passes) for part in (problem.X, problem.y, problem.weights))
    of = solver.minibatch, solver.memory, solver.eta0, solver.tau, solver.epsilon, solver.damping
    return slow.olbfgs(X, y, v, loss, alpha, *of, intercept)


def assert_same(result, expected, tolerance=1e-10):
    w, b = expected
    scale = max(1.0, np.max(np.abs(w), initial=0.0), abs(b))
    assert np.max(np.abs(result.coef - w), initial=0.0) <= tolerance * scale
    assert abs(result.intercept - b) <= tolerance * scale


@pytest.fixture
def problem():
    return random_problem(3, LOGISTIC, n_rows=101, n_features=4)


# --- The method ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("loss", fast_first(0, LOSSES, upto=1), ids=lambda loss: loss.name)
@examples(40, derandomize=True)  # of each loss
@given(
    seed=st.integers(0, 10**6),
    as_csr=st.booleans(),
    intercept=st.booleans(),
    minibatch=st.sampled_from([1, 3, 10, 64]),
    memory=st.sampled_from([1, 4, 10]),
    epsilon=st.sampled_from([0.01, 0.05]),
    damping=st.sampled_from([0.1, 1.0]),
    alpha=st.sampled_from([0.0, 0.05, 0.3]),
    passes=st.integers(1, 3),
    block_size=st.sampled_from([1, 7, 100, None]),
)
def test_it_equals_its_slow_twin(
    loss, seed, as_csr, intercept, minibatch, memory, epsilon, damping, alpha, passes, block_size
):
    """On problems of continuous values; of minibatches of one row the steps are small, or errors of rounding grow."""
    problem = random_problem(seed, loss)
    eta0 = 0.02 if minibatch == 1 else 0.3
    solver = OLBFGS(minibatch, memory, eta0=eta0, tau=20.0, epsilon=epsilon, damping=damping)
    path = slow_path(problem, solver, loss, alpha, intercept, passes)
    options = {"alpha": alpha, "fit_intercept": intercept, "block_size": block_size}
    result = fit(problem, solver, MaxPasses(passes), loss, as_csr=as_csr, **options)
    assert result.verdict.step == len(path) - 1
    assert_same(result, path[-1])


@interpreted
def test_every_sample_is_an_update_of_a_minibatch(problem):
    solver = OLBFGS(8, **PLAIN)
    path = slow_path(problem, solver, passes=3)
    for updates in (1, 5, 12, 30):
        result = fit(problem, solver, MaxSamples(updates))
        assert result.verdict.step == updates
        assert result.verdict.evidence["pairs"] == min(updates, 10)
        assert_same(result, path[updates])
    assert fit(problem, OLBFGS(1000), MaxPasses(3)).verdict.step == 0


@pytest.mark.slow
def test_its_own_steps_and_others(problem):
    solver = OLBFGS(8, eta0=0.5, tau=3.0, **PLAIN)
    assert np.allclose(solver.default_step(np.array([1, 2, 4])), [0.5, 0.5 * 3 / 4, 0.5 * 3 / 6])
    other = fit(problem, OLBFGS(8, **PLAIN), MaxPasses(1), step=steps.Bottou(3.0, 2.0 / 3.0))
    assert_same(other, slow_path(problem, solver)[-1])
    assert other.trace[-1].step_size == pytest.approx(1.5 / (3 + other.verdict.step - 1))


@pytest.mark.slow
@FORMS
def test_it_learns_curvatures_of_badly_scaled_features(form):
    """Columns whose sizes differ by a hundred: plain steps along the largest would be far too small for the least."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3)) * [0.1, 1.0, 10.0]
    y = X @ [10.0, 1.0, 0.1]
    options = {"alpha": 0.0, "fit_intercept": False, "task": "regression"}

    def error(solver, step=None):
        result = run(ArraySource(form(X), y), losses.Squared(), solver, MaxPasses(20), step=step, **options)
        return np.max(np.abs(X @ result.coef - y))

    assert error(OLBFGS(damping=1e-4)) < 1e-3 < 0.1 < error(solvers.SGD(), steps.Constant(0.5 / np.max(X**2)))


@FORMS
@pytest.mark.slow
def test_the_automatic_damping_is_a_part_of_the_size_of_a_row(form, problem):
    size = np.mean((problem.weights * np.sum(problem.X**2, axis=1))[problem.weights > 0])
    for loss, part in ((LOGISTIC, 0.01), (losses.Hinge(), 0.1)):
        source = ArraySource(form(problem.X), problem.y, problem.weights)
        result = run(source, loss, OLBFGS(10), MaxPasses(1), alpha=0.1)
        assert result.verdict.evidence["damping"] == pytest.approx(part * size)


@pytest.mark.slow
def test_a_pair_without_curvature_is_not_kept(problem):
    """Rows of zeros have nothing but the penalty, and without it nothing at all."""
    empty = RandomProblem(np.zeros((50, 2)), problem.y[:50], np.ones(50))
    nothing = fit(empty, OLBFGS(5), MaxPasses(1), alpha=0.0, fit_intercept=False)
    assert (nothing.verdict.evidence["pairs"], nothing.coef.tolist()) == (0, [0.0, 0.0])
    # Steps of Newton towards 0, each of which leaves no more than rounding errors, then numbers too small to square.
    solver = OLBFGS(5, damping=0.0, epsilon=1.0)
    options = {"alpha": 0.5, "fit_intercept": False, "step": steps.Constant(1.0), "coef": np.array([1.0, -2.0])}
    result = fit(empty, solver, MaxPasses(20), **options)
    assert result.verdict.status is Status.BUDGET_SPENT
    assert np.max(np.abs(result.coef)) < 1e-100


# --- Blocks and kinds of rows -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_goes_on_from_weights_that_swallow_the_first_step(dtype, problem):
    """A step of 1e-10 is lost beside a weight of 1 in single precision: the pair then holds the damping alone."""
    source = ArraySource(sparse.csr_array(problem.X.astype(dtype)), problem.y, problem.weights)
    fresh, warm = (
        run(source, LOGISTIC, OLBFGS(20), MaxPasses(100), alpha=0.1, coef=coef) for coef in (None, np.full(4, 1.0))
    )
    assert np.allclose(warm.coef, fresh.coef, atol=0.02)


# --- Going on -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_that_wait_for_a_larger_minibatch_are_not_forgotten(problem):
    first = fit(problem, OLBFGS(60), MaxPasses(1))
    assert len(first.state.extra.waiting) > 7
    with pytest.raises(ValueError, match="rows wait for a minibatch of more than 7 rows"):
        fit(problem, OLBFGS(7), MaxPasses(2), resume=with_new_rule(first))


# --- What it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"minibatch": k}, "minibatch=.*: give the rows of an update, 1 or more") for k in (0, 2.5, True, "all")),
        *(({"memory": m}, "memory=.*: give the pairs to keep, 1 or more") for m in (0, -1, 2.5, True, None)),
        *(({"eta0": x}, "eta0=.*: give a finite number, above 0") for x in (0, -1.0, np.inf, np.nan, True, "x")),
        *(({"epsilon": x}, "epsilon=.*: give a finite number, above 0") for x in (0.0, None)),
        *(({"tau": x}, "tau=.*: give a finite number, 1 or more") for x in (0.5, np.inf)),
        *(({"damping": x}, "damping=.*: give a finite number, 0 or more") for x in (-0.1, np.nan, "none", False)),
    ],
    ids=repr,
)
def test_parameters_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        OLBFGS(**options)


@interpreted
@pytest.mark.parametrize("n_rows", [50, 100, 101])
def test_a_first_step_of_epsilon_is_not_convergence(n_rows):
    """With hardly more rows than a minibatch has, the first two passes are predicted from the start."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    y = X[:, 0] + rng.standard_normal(n_rows) > 0
    model = SGDClassifier(solver="olbfgs", random_state=0).fit(X, y)
    assert model.verdict_.passes > 4
    assert model.verdict_.step > 2
