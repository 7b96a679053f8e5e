"""Pegasos: equal to its slow twin, minibatches across blocks, the ball, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

from problems import RandomProblem, random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.kernels.loop import make_loop
from sgdone.kernels.pegasos import NORM, make_pegasos
from sgdone.papers.averaging import rivals as slow
from sgdone.rows import ArraySource
from sgdone.rows.source import Source
from sgdone.solvers import pegasos
from sgdone.solvers.pegasos import Pegasos
from sgdone.stopping import MaxPasses, MaxSamples
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

HINGE = losses.Hinge()
LOSSES = [losses.Logistic(), HINGE, losses.SquaredHinge()]
FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array], upto=1))


def fit(problem, solver, stop, loss=HINGE, *, as_csr=False, shuffle=False, **options):
    options = {"alpha": 0.1} | options
    return run(problem.source(as_csr=as_csr, shuffle=shuffle), loss, solver, stop, **options)


def radius_of(problem, loss, alpha):
    return max(1 / np.sqrt(alpha), slow.radius_of_optimum(problem.y, problem.weights, loss, alpha))


def slow_path(problem, loss=HINGE, alpha=0.1, minibatch=1, radius=None, intercept=True, passes=1):
    radius = radius_of(problem, loss, alpha) if radius is None else radius
    X, y, v = (np.concatenate([part] * passes) for part in (problem.X, problem.y, problem.weights))
    return slow.pegasos(X, y, v, loss, alpha, minibatch, radius, intercept)


def assert_same(result, expected, tolerance=1e-10):
    w, b = expected
    scale = max(1.0, np.max(np.abs(w), initial=0.0), abs(b))
    assert np.max(np.abs(result.coef - w), initial=0.0) <= tolerance * scale
    assert abs(result.intercept - b) <= tolerance * scale


@pytest.fixture
def problem():
    return random_problem(3, HINGE, n_rows=101, n_features=4)


# --- The method ---------------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("loss", fast_first(1, LOSSES, upto=2), ids=lambda loss: loss.name)
@examples(15)  # of each loss
@given(
    seed=st.integers(0, 10**6),
    as_csr=st.booleans(),
    intercept=st.booleans(),
    projection=st.booleans(),
    minibatch=st.sampled_from([1, 1, 2, 3, 10, 64]),
    alpha=st.sampled_from([0.05, 0.3, 2.0]),
    passes=st.integers(1, 3),
    block_size=st.sampled_from([1, 7, 100, None]),
)
def test_it_equals_its_slow_twin(loss, seed, as_csr, intercept, projection, minibatch, alpha, passes, block_size):
    problem = random_problem(seed, loss)
    radius = None if projection else np.inf
    path = slow_path(problem, loss, alpha, minibatch, radius, intercept, passes)
    result = fit(
        problem,
        Pegasos(minibatch, projection),
        MaxPasses(passes),
        loss,
        as_csr=as_csr,
        alpha=alpha,
        fit_intercept=intercept,
        block_size=block_size,
        step=steps.Bottou(t0=1.0),
    )
    assert result.verdict.step == len(path) - 1
    assert_same(result, path[-1])


@pytest.mark.slow
def test_the_trace_is_of_the_rows_before_they_are_learnt_from(problem):
    result = fit(problem, Pegasos(8), MaxPasses(1))
    path = slow_path(problem, minibatch=8)
    of = slow.minibatches(problem.weights, 8)
    z = np.array([problem.X[rows] @ w + b for rows, (w, b) in zip(of, path[:-1], strict=True)])
    v, y = problem.weights[of], problem.y[of]
    assert result.trace[-1].loss == pytest.approx(np.sum(v * HINGE.value(z, y)) / np.sum(v), rel=1e-10)
    assert result.trace[-1].error == pytest.approx(np.mean(y * z <= 0))
    assert result.trace[-1].step_size == pytest.approx(1 / (0.1 * len(of)))
    assert result.trace[-1].step == len(of) == result.verdict.step


@pytest.mark.slow
def test_another_step_size_may_be_given(problem):
    plain = run(problem.source(shuffle=False), HINGE, solvers.SGD(), MaxPasses(2), alpha=0.1, step=steps.Constant(0.03))
    result = fit(problem, Pegasos(projection=False), MaxPasses(2), step=steps.Constant(0.03))
    assert_same(result, (plain.coef, plain.intercept))


# --- The ball -----------------------------------------------------------------------------------------------------


@interpreted
def test_projections_are_counted_and_named(problem):
    problem.weights = np.ones(101)
    path = slow_path(problem, alpha=0.01)
    result = fit(problem, Pegasos(), MaxPasses(1), alpha=0.01)
    on_the_sphere = sum(abs(w @ w - 100.0) < 1e-8 for w, _ in path)
    assert result.verdict.evidence["projections"] == on_the_sphere > 3
    assert result.verdict.evidence["radius"] == 10.0
    assert f"{on_the_sphere} projections onto the ball of radius 10" in result.verdict.reason
    none = fit(problem, Pegasos(projection=False), MaxPasses(1), alpha=0.01).verdict
    assert (none.evidence["projections"], none.evidence["radius"]) == (0, np.inf)
    assert "ball" not in none.reason


@pytest.mark.slow
@pytest.mark.parametrize("radius", [0.03, 0.7])
def test_a_radius_of_ones_own(radius, problem):
    result = fit(problem, Pegasos(3, radius=radius), MaxPasses(2))
    assert_same(result, slow_path(problem, minibatch=3, radius=radius, passes=2)[-1])
    assert np.linalg.norm(result.coef) <= radius * (1 + 1e-12)


@pytest.mark.slow
def test_the_automatic_ball_holds_the_optimum_of_heavy_rows_and_of_targets(problem):
    problem.weights *= 50
    expected = slow.radius_of_optimum(problem.y, problem.weights, HINGE, 0.1)
    assert fit(problem, Pegasos(), MaxPasses(1)).verdict.evidence["radius"] == pytest.approx(expected)
    targets = RandomProblem(problem.X, 30.0 * problem.X[:, 0], problem.weights)
    loss = losses.Squared()
    result = fit(targets, Pegasos(10), MaxPasses(1), loss, task="regression", alpha=10.0)
    expected = slow.radius_of_optimum(targets.y, targets.weights, loss, 10.0)
    assert result.verdict.evidence["radius"] == pytest.approx(expected)
    assert expected > 10 / np.sqrt(10.0)


@pytest.mark.slow
def test_the_squared_norm_is_renewed_now_and_then(problem, monkeypatch):
    expected = slow_path(problem, alpha=0.02, minibatch=2, passes=3)[-1]
    monkeypatch.setattr(pegasos, "_RENEWAL", 4)
    for as_csr in (False, True):
        result = fit(problem, Pegasos(2), MaxPasses(3), alpha=0.02, as_csr=as_csr)
        assert_same(result, expected)
        assert result.state.extra.kept[NORM] == pytest.approx(result.coef @ result.coef, rel=1e-13)


@pytest.mark.slow
def test_the_squared_norm_does_not_drift():
    problem = random_problem(5, HINGE, n_rows=400, n_features=10)
    result = fit(problem, Pegasos(), MaxPasses(150), alpha=0.01)
    assert 50_000 < result.verdict.step < 1 << 16
    assert result.state.extra.kept[NORM] == pytest.approx(result.coef @ result.coef, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("as_csr", [False, True])
def test_rows_that_all_but_cancel_are_projected_right(as_csr):
    """Steps of 1/α along rows that differ by 10⁻⁵ of themselves: their sum is a small difference of huge numbers."""
    rng = np.random.default_rng(0)
    near = np.repeat(rng.standard_normal((40, 6)), 2, axis=0)
    X = near * (1 + 1e-5 * rng.standard_normal(near.shape))
    problem = RandomProblem(X, np.tile([1.0, -1.0], 40), np.ones(80))
    alpha = 1e-8
    expected = slow_path(problem, alpha=alpha, minibatch=2, intercept=False)[-1]
    result = fit(problem, Pegasos(2), MaxPasses(1), alpha=alpha, fit_intercept=False, as_csr=as_csr)
    assert result.verdict.evidence["projections"] > 0
    assert_same(result, expected)


# --- Blocks, streams, kinds of rows -------------------------------------------------------------------------------


class Parts(Source):
    """The rows of a problem as matrices of their own, a few rows each."""

    def __init__(self, problem, form, sizes):
        self._problem, self._form, self._sizes = problem, form, sizes

    n_rows = None

    @property
    def n_features(self):
        return self._problem.X.shape[1]

    def blocks(self, rng):
        ends = np.cumsum(self._sizes)
        for begin, end in zip(ends - self._sizes, ends, strict=True):
            part = slice(begin, end)
            X, y, v = self._form(self._problem.X[part]), self._problem.y[part], self._problem.weights[part].copy()
            yield from ArraySource(X, y.copy(), v, shuffle=False).blocks(rng)


@pytest.mark.slow
@FORMS
@pytest.mark.parametrize("minibatch", [1, 7, 40])
def test_a_minibatch_may_be_of_several_matrices(form, minibatch, problem):
    source = Parts(problem, form, [3, 30, 1, 1, 20, 46])
    radius = {"radius": 2.0}
    result = run(source, HINGE, Pegasos(minibatch, **radius), MaxPasses(3), alpha=0.1)
    whole = fit(problem, Pegasos(minibatch, **radius), MaxPasses(3), as_csr=form is sparse.csr_array)
    assert result.verdict.step == whole.verdict.step == 3 * np.count_nonzero(problem.weights) // minibatch
    assert result.coef.tobytes() == whole.coef.tobytes()


@pytest.mark.slow
@FORMS
def test_completing_a_minibatch_compiles_nothing_new(form, problem):
    source = ArraySource(form(problem.X), problem.y, problem.weights, shuffle=False)
    run(source, HINGE, Pegasos(7), MaxPasses(2), alpha=0.1, block_size=3)
    rows = source.rows
    loop = make_loop(rows.access, make_pegasos, (HINGE.kernel.value, HINGE.kernel.slope), rows.types, ())
    assert len(loop.signatures) == 1


@pytest.mark.slow
def test_centred_sparse_rows_renew_the_squared_norm(problem, monkeypatch):
    monkeypatch.setattr(pegasos, "_RENEWAL", 4)
    result = fit(problem, Pegasos(), MaxPasses(3), as_csr=True, center=True)
    assert result.state.extra.kept[NORM] == pytest.approx(result.coef @ result.coef, rel=1e-12)


# --- Going on -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_regressions_go_to_the_optimum(problem):
    X, y = problem.X, problem.y
    target = X @ [1.0, 2.0, 0.0, 0.0]
    model = SGDRegressor(solver=Pegasos(10), alpha=0.1, stop=200, fit_intercept=False, random_state=0)
    exact = np.linalg.solve(X.T @ X / len(y) + 0.1 * np.eye(4), X.T @ target / len(y))
    assert np.allclose(model.fit(X, target).coef_, exact, atol=0.02)


@pytest.mark.slow
def test_it_starts_from_given_weights(problem):
    """The first step takes the weights to 0 times themselves, but predicts with them before."""
    start, y = np.full(4, 7.0), problem.y[0]
    z = float(problem.X[0] @ start) + 2.0
    assert y * z < 1
    result = fit(problem, Pegasos(projection=False), MaxSamples(1), coef=start, intercept=2.0)
    assert np.allclose(result.coef, 10 * y * problem.weights[0] * problem.X[0])
    assert result.intercept == pytest.approx(2.0 + 10 * y * problem.weights[0])
    assert result.trace[-1].loss == pytest.approx(1 - y * z)


# --- What it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"minibatch": k}, "minibatch=.*: give the rows of an update") for k in (0, -3, 2.5, True, "all", None)),
        *(({"radius": r}, "radius=.*: give the radius of the ball") for r in (0, 0.0, -1, np.inf, np.nan, True, "x")),
        ({"projection": False, "radius": 2.0}, "radius=2.0 of a ball that projection=False does without"),
    ],
    ids=repr,
)
def test_parameters_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Pegasos(**options)


def test_a_projection_that_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="projection='yes' is not True or False"):
        Pegasos(projection="yes")


@pytest.mark.slow
@pytest.mark.parametrize("minibatch", [1, 7])
@pytest.mark.parametrize("as_csr", [False, True])
def test_divergence_is_found(as_csr, minibatch, problem):
    loss = losses.SquaredHinge()
    options = {"alpha": 1e-6, "as_csr": as_csr, "fit_intercept": False}
    result = fit(problem, Pegasos(minibatch, projection=False), MaxPasses(9), loss, **options)
    assert result.verdict.status is Status.DIVERGED
    assert np.all(np.isfinite(result.coef))
    held = fit(problem, Pegasos(minibatch), MaxPasses(9), loss, **options)
    assert held.verdict.status is Status.BUDGET_SPENT
    assert np.linalg.norm(held.coef) <= 1e3 * (1 + 1e-12)


@pytest.mark.slow
def test_an_intercept_outside_of_the_ball_can_leave_all_bounds(problem):
    """By steps of 1/(αt) on losses steeper than the hinge, which are not the default then; nor without an intercept."""
    loss, alpha = losses.SquaredHinge(), 1e-4
    printed = fit(problem, Pegasos(), MaxPasses(9), loss, alpha=alpha, step=steps.Bottou(t0=1.0))
    assert printed.verdict.status is Status.DIVERGED
    for options in ({"fit_intercept": False}, {}):
        result = fit(problem, Pegasos(), MaxPasses(9), loss, alpha=alpha, **options)
        assert result.verdict.status is Status.BUDGET_SPENT


@interpreted
@pytest.mark.parametrize("alpha", [1e-4, 1e-8])
def test_steep_losses_with_an_intercept_do_not_diverge(alpha, rng):
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(300) > 0
    model = SGDClassifier("squared_hinge", solver="pegasos", alpha=alpha, stop=20, random_state=0).fit(X, y)
    assert model.verdict_.status is Status.BUDGET_SPENT
    optimum = LinearSVC(C=1 / (2 * 300 * alpha), fit_intercept=True, intercept_scaling=100.0, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(model.coef_, optimum.coef_, atol=0.3)
