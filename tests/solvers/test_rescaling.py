"""Scales of margin pursuit that a fit finds: before the first step, once on the way, for every kind of solver."""

import numpy as np
import pytest
from scipy import sparse

from problems import random_problem
from running import run
from sgdone import SGDClassifier, load, save, solvers, steps
from sgdone.losses import AdaptiveScale, AutoScale, Logistic, MarginPursuit
from sgdone.papers.margin_pursuit import reference as slow
from sgdone.rows import ArraySource
from sgdone.rows.faults import BadRowError
from sgdone.stopping import MaxPasses, MaxSamples
from tiers import fast_first, grid, interpreted

pytestmark = grid

PURSUIT = MarginPursuit()
SOLVERS = [solvers.SGD(), solvers.asgd(), solvers.ISGD(), solvers.Pegasos(), solvers.GD()]
EACH = pytest.mark.parametrize("solver", fast_first(1, SOLVERS), ids=lambda solver: getattr(solver, "name", "asgd"))


def fit(problem, loss, solver, stop, *, as_csr=False, **options):
    options = {"alpha": 0.1} | options
    return run(problem.source(as_csr=as_csr, shuffle=False), loss, solver, stop, **options)


def drawn(seed, **sizes):
    problem = random_problem(seed, PURSUIT, **sizes)
    problem.weights[:] = 1.0
    return problem


# --- Before the first step ------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("seed", fast_first(2, range(10)))
def test_auto_is_the_variance_along_the_mean_of_the_classes(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, PURSUIT, n_rows=int(rng.integers(3, 100)))
    gamma, k, intercept = rng.uniform(0.2, 3.0), rng.uniform(0.5, 5.0), seed % 2 == 0
    rows = problem.y[:, None] * np.column_stack([problem.X, np.full(len(problem.y), float(intercept))])
    v = problem.weights / problem.weights.sum()
    mean = v @ rows
    margins = rows @ (gamma * mean / (mean @ mean))
    assert v @ margins == pytest.approx(gamma)
    expected = (v @ (margins - gamma) ** 2) * k / gamma
    loss = MarginPursuit(gamma, AutoScale(k))
    for as_csr in (False, True):
        result = fit(problem, loss, solvers.GD(), MaxPasses(1), as_csr=as_csr, fit_intercept=intercept)
        assert result.verdict.evidence["scale"] == pytest.approx(expected, rel=1e-10)
        assert result.state.objective.loss.parameters.tolist() == [gamma, result.verdict.evidence["scale"]]


@pytest.mark.slow
@EACH
def test_a_fit_that_finds_a_scale_equals_one_that_is_given_it(solver):
    problem = drawn(1, n_rows=90)
    found = fit(problem, MarginPursuit(scale="auto"), solver, MaxPasses(3))
    given = fit(problem, MarginPursuit(scale=found.verdict.evidence["scale"]), solver, MaxPasses(3))
    assert np.array_equal(found.coef, given.coef)
    assert "scale" not in given.verdict.evidence


@pytest.mark.slow
def test_with_centred_rows_the_variance_is_that_of_centred_margins():
    problem = drawn(2, n_rows=70)
    problem.X += 3.0
    scales = [
        fit(problem, MarginPursuit(scale="auto"), solvers.SGD(), MaxPasses(1), as_csr=as_csr, center=True)
        for as_csr in (False, True)
    ]
    first, second = (result.verdict.evidence["scale"] for result in scales)
    assert first == pytest.approx(second, rel=1e-10)
    uncentred = fit(problem, MarginPursuit(scale="auto"), solvers.SGD(), MaxPasses(1))
    assert uncentred.verdict.evidence["scale"] != pytest.approx(first, rel=1e-2)


@pytest.mark.slow
def test_margins_that_are_all_equal_and_classes_of_one_mean_are_refused():
    one = ArraySource(np.array([[2.0]]), np.array([1.0]))
    same = ArraySource(np.array([[0.3, 0.1], [-0.3, -0.1]] * 7), np.array([1.0, -1.0] * 7))
    for source in (one, same):
        with pytest.raises(ValueError, match="all margins are equal before the first step"):
            run(source, MarginPursuit(scale="auto"), solvers.GD(), MaxPasses(1), alpha=0.1, fit_intercept=False)
    symmetric = ArraySource(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="the mean of y·x is 0"):
        run(symmetric, MarginPursuit(scale="auto"), solvers.GD(), MaxPasses(1), alpha=0.1)


@pytest.mark.slow
def test_a_row_with_nan_is_named():
    problem = drawn(3, n_rows=20, n_features=3)
    problem.X[11, 2] = np.nan
    for as_csr in (False, True):
        with pytest.raises(BadRowError, match="row 11 of X holds NaN in column 2"):
            fit(problem, MarginPursuit(scale="auto"), solvers.SGD(), MaxPasses(1), as_csr=as_csr)


@pytest.mark.parametrize("k", [0.0, -1.0, np.nan, np.inf, "two"])
def test_a_k_that_is_not_positive_is_refused(k):
    with pytest.raises(ValueError, match=r"k=.* of AutoScale is not a positive number"):
        AutoScale(k)


# --- Once on the way ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["printed", "pegasos", "root"])
@pytest.mark.parametrize("seed", range(3))
def test_the_stochastic_form_equals_its_slow_twin(seed, rule):
    """Section 4: a row a step, the ball, the three step sizes, and the reset of Fig. 5."""
    problem = drawn(seed, n_rows=40)
    alpha, reset = 0.03, 25 + seed
    step = {"printed": steps.Pursuit(), "pegasos": None, "root": steps.InverseSqrt(1.0)}[rule]
    order = np.tile(np.arange(40), 3)
    start = np.random.default_rng(seed).standard_normal(problem.X.shape[1])
    path = slow.stochastic_margin_pursuit(problem.X, problem.y, order, 1.0, 1.0, alpha, rule, start, reset_at=reset)
    loss = MarginPursuit(scale=AdaptiveScale(after=reset))
    for as_csr in (False, True):
        options = {"as_csr": as_csr, "alpha": alpha, "step": step, "fit_intercept": False, "coef": start}
        result = fit(problem, loss, solvers.Pegasos(), MaxSamples(120), **options)
        assert np.max(np.abs(result.coef - path[-1])) <= 1e-10 * max(1.0, np.max(np.abs(path[-1])))
        expected = slow.rescaled(problem.y * (problem.X @ path[reset]), alpha)
        assert result.verdict.evidence["scale"] == pytest.approx(expected, rel=1e-10)
        # The reset reads the rows once more.
        assert result.rows_read == 120 + 40


@interpreted
@EACH
def test_the_scale_is_one_until_it_is_reset_and_another_after(solver):
    problem = drawn(4, n_rows=50)
    loss = MarginPursuit(scale=AdaptiveScale(after=6))
    before = fit(problem, loss, solver, MaxSamples(6))
    assert np.array_equal(before.coef, fit(problem, PURSUIT, solver, MaxSamples(6)).coef)
    assert before.verdict.evidence["scale"] == 1.0
    after = fit(problem, loss, solver, MaxSamples(30))
    scale = after.verdict.evidence["scale"]
    assert scale != 1.0
    assert after.state.objective.loss.parameters[1] == scale
    w, b = before.state.iterate()
    assert scale == pytest.approx(slow.rescaled(problem.y * (problem.X @ w + b), 0.1), rel=1e-10)
    assert not np.array_equal(after.coef, fit(problem, PURSUIT, solver, MaxSamples(30)).coef)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("block_size", [1, 7, None])
def test_neither_the_block_size_nor_a_pause_changes_a_result(solver, block_size):
    problem = drawn(5, n_rows=50)
    loss = MarginPursuit(scale=AdaptiveScale(after=12))
    whole = fit(problem, loss, solver, MaxSamples(100))
    cut = fit(problem, loss, solver, MaxSamples(100), block_size=block_size)
    assert np.array_equal(cut.coef, whole.coef)
    # A pause at the end of a pass, before or after the reset.
    pause = 50 if not solver.whole_passes else 8
    part = fit(problem, loss, solver, MaxSamples(pause), block_size=block_size)
    rest = fit(problem, loss, solver, MaxSamples(100), resume=part)
    assert np.array_equal(rest.coef, whole.coef)


@pytest.mark.slow
def test_by_itself_it_waits_for_a_pass_or_for_ten_steps_on_all_rows():
    problem = drawn(6, n_rows=33)
    for solver, due in ((solvers.SGD(), 33), (solvers.GD(), 10)):
        result = fit(problem, MarginPursuit(scale="adaptive"), solver, MaxSamples(due))
        assert result.verdict.evidence["scale"] == 1.0
        result = fit(problem, MarginPursuit(scale="adaptive"), solver, MaxSamples(due + 1))
        assert result.verdict.evidence["scale"] != 1.0


@pytest.mark.slow
def test_margins_that_are_all_zero_leave_the_scale_as_it_is():
    source = ArraySource(np.zeros((6, 2)), np.array([1.0, -1.0] * 3))
    loss = MarginPursuit(scale=AdaptiveScale(after=2, first=0.5))
    result = run(source, loss, solvers.GD(), MaxPasses(9), alpha=0.1, fit_intercept=False)
    assert result.verdict.evidence["scale"] == 0.5


@pytest.mark.slow
def test_a_penalty_of_zero_is_refused():
    problem = drawn(7, n_rows=20)
    with pytest.raises(ValueError, match="scale='adaptive' needs a positive alpha"):
        fit(problem, MarginPursuit(scale="adaptive"), solvers.SGD(), MaxPasses(1), alpha=0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"after": 0}, 'after=0 of AdaptiveScale is not a positive integer: give the number of updates, or "auto"'),
        ({"after": 2.5}, r"after=2\.5 of AdaptiveScale is not a positive integer"),
        ({"after": True}, "after=True of AdaptiveScale is not a positive integer"),
        ({"delta": 0.0}, r"delta=0\.0 of AdaptiveScale is not in \(0, 1\)"),
        ({"delta": 1.0}, r"delta=1\.0 of AdaptiveScale is not in"),
        ({"first": 0.0}, r"first=0\.0 of AdaptiveScale is not a positive number: give the first scale"),
    ],
)
def test_parameters_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveScale(**options)


# --- Estimators, files, steps ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["auto", "adaptive"])
def test_partial_fit_and_model_files_go_on_with_the_scale_that_was_found(scale, tmp_path):
    problem = drawn(8, n_rows=60, n_features=3)
    model = SGDClassifier(MarginPursuit(scale=scale), solver="sgd", alpha=0.1, random_state=0)
    model.partial_fit(problem.X[:30], problem.y[:30], classes=[-1, 1])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(problem.X[30:], problem.y[30:])
    assert np.array_equal(again.coef_, model.coef_)
    loss, stored = (one._fitted.results[0].state.objective.loss for one in (model, again))
    assert loss == stored
    assert loss.parameters[1] != 1.0


@pytest.mark.slow
def test_each_class_has_a_scale_of_its_own():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.argmax(X * [1.0, 2.0, 5.0], axis=1)
    model = SGDClassifier(MarginPursuit(scale="auto"), solver="gd", stop=5).fit(sparse.csr_array(X), y)
    assert len({verdict.evidence["scale"] for verdict in model.verdict_.per_class.values()}) == 3


@pytest.mark.slow
def test_the_printed_step_size_goes_by_the_scale_of_the_loss():
    problem = drawn(9, n_rows=30)
    t = np.array([1, 10])
    loss = MarginPursuit(scale=AdaptiveScale(after=5))
    result = fit(problem, loss, solvers.Pegasos(), MaxPasses(3), alpha=0.25, step=steps.Pursuit())
    scale = result.verdict.evidence["scale"]
    np.testing.assert_allclose(result.state.step(t), 1.0 / (scale * 0.5 * t))
    given = fit(problem, loss, solvers.Pegasos(), MaxPasses(3), alpha=0.25, step=steps.Pursuit(scale=2.0))
    np.testing.assert_allclose(given.state.step(t), 1.0 / (2.0 * 0.5 * t))
    with pytest.raises(ValueError, match="takes s from the loss, but 'logistic' has no scale: give scale"):
        fit(problem, Logistic(), solvers.Pegasos(), MaxPasses(1), step=steps.Pursuit())
    with pytest.raises(ValueError, match="needs a positive alpha"):
        fit(problem, PURSUIT, solvers.SGD(), MaxPasses(1), alpha=0.0, step=steps.Pursuit())


@pytest.mark.parametrize("options", [{"gamma": 0.0}, {"gamma": -1.0}, {"falling": "yes"}, {"curvature": -1.0}])
def test_steps_of_descent_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        steps.Descent(**options)
