"""SVRG: what a pass counts, anchors, both options, and data it cannot learn from."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from problems import random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from sgdone.rows.faults import BadRowError
from sgdone.rows.source import Source
from sgdone.solvers import SVRG
from sgdone.stopping import Distance, MarginTest, MaxPasses, MaxSamples, ProgressiveLoss, SmallValidationSet
from tiers import fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()


def fit(problem, solver, stop, *, as_csr=False, shuffle=False, gamma=0.1, **options):
    source = problem.source(as_csr=as_csr, shuffle=shuffle)
    options = {"alpha": 0.01, "step": steps.Constant(gamma)} | options
    return run(source, LOGISTIC, solver, stop, **options)


@pytest.fixture
def problem():
    problem = random_problem(3, LOGISTIC, n_rows=100, n_features=4)
    problem.weights[:] = np.where(problem.weights > 0, problem.weights, 1.0)
    return problem


@interpreted
@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"inner_length": n}, "inner_length=.*: give the steps") for n in (0, -3, 2.5, True, "all", None)),
        *(({"option": o}, 'option=.* is neither "I" nor "II"') for o in ("III", 1, None)),
        *(({"seed": s}, "seed=.*: give a whole number") for s in (-1, 0.5, True, "x", None)),
    ],
    ids=repr,
)
def test_parameters_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        SVRG(**options)


@interpreted
@pytest.mark.parametrize("solver", [SVRG(), SVRG(7, "II", seed=3)])
def test_a_solver_is_what_it_says(solver):
    assert eval(repr(solver)) == solver


@interpreted
def test_a_pass_is_as_many_reads_as_there_are_rows_those_of_anchors_included(problem):
    """One anchor, then twice the rows in steps: three passes, of which the model makes two."""
    for passes, step, anchors in ((1, 0, 1), (2, 100, 1), (3, 200, 1), (4, 200, 2), (5.5, 350, 2), (7, 400, 3)):
        verdict = fit(problem, SVRG(), MaxPasses(passes)).verdict
        assert (verdict.step, verdict.passes, verdict.evidence["anchors"]) == (step, passes, anchors)
    assert "2 full gradients" in fit(problem, SVRG(), MaxPasses(4)).verdict.reason
    assert "1 full gradient" in fit(problem, SVRG(), MaxPasses(1)).verdict.reason


@interpreted
@pytest.mark.slow
def test_rows_of_weight_zero_are_read_and_not_counted(problem):
    problem.weights[::2] = 0.0
    verdict = fit(problem, SVRG(), MaxPasses(3)).verdict
    assert (verdict.step, verdict.passes, verdict.evidence["anchors"]) == (100, 3.0, 1)  # m is 2·50
    rest = random_problem(3, LOGISTIC, n_rows=100, n_features=4)
    rest.X, rest.y, rest.weights = rest.X[1::2].copy(), rest.y[1::2].copy(), problem.weights[1::2].copy()
    expected = fit(rest, SVRG(), MaxPasses(3))
    result = fit(problem, SVRG(), MaxPasses(3))
    assert np.allclose(result.coef, expected.coef, rtol=1e-12)


@interpreted
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_it_goes_to_the_optimum(form, problem):
    X, y = problem.X, problem.y
    model = SGDClassifier(solver="svrg", alpha=0.01, stop=400, random_state=0).fit(form(X), y)
    exact = LogisticRegression(C=1 / (0.01 * 100), tol=1e-12, max_iter=10_000).fit(X, y)
    assert np.allclose(model.coef_, exact.coef_, rtol=1e-7, atol=1e-8)
    assert np.allclose(model.intercept_, exact.intercept_, rtol=1e-7, atol=1e-8)


@interpreted
def test_its_own_step_is_a_quarter_of_the_largest_stable_one(problem):
    own = fit(problem, SVRG(), MaxPasses(2), step=None)
    stable = fit(problem, solvers.SGD(), MaxPasses(1), step=steps.Constant())
    assert own.trace[-1].step_size == pytest.approx(0.25 * stable.trace[0].step_size)


@interpreted
@pytest.mark.parametrize("option", ["I", "II"])
@pytest.mark.parametrize("length", [7, "auto"])
def test_block_size_is_irrelevant(problem, option, length):
    solver = SVRG(length, option)
    problem.weights[::7] = 0.0
    whole = fit(problem, solver, MaxPasses(6), shuffle=True)
    for block_size in (1, 13):
        parts = fit(problem, solver, MaxPasses(6), shuffle=True, block_size=block_size)
        assert parts.coef.tobytes() == whole.coef.tobytes()
        assert parts.verdict.reason == whole.verdict.reason


@interpreted
@pytest.mark.slow
def test_the_second_option_is_reproducible(problem):
    stop = MaxPasses(9)
    first, same = (fit(problem, SVRG(30, "II", seed=4), stop) for _ in range(2))
    assert first.coef.tobytes() == same.coef.tobytes()
    others = {fit(problem, SVRG(30, "II", seed=seed), stop).coef.tobytes() for seed in range(5)}
    assert len(others) == 5
    assert fit(problem, SVRG(30, "I", seed=1), stop).coef.tobytes() == fit(problem, SVRG(30), stop).coef.tobytes()


@interpreted
@pytest.mark.slow
@pytest.mark.parametrize("center", [False, True])
def test_sparse_rows_equal_dense_ones(problem, center):
    for option in ("I", "II"):
        dense = fit(problem, SVRG(70, option), MaxPasses(8), center=center)
        csr = fit(problem, SVRG(70, option), MaxPasses(8), center=center, as_csr=True)
        assert np.allclose(csr.coef, dense.coef, rtol=1e-10, atol=1e-10)
        assert csr.intercept == pytest.approx(dense.intercept, rel=1e-10, abs=1e-10)


@interpreted
@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    fast_first(
        1, [MarginTest(), Distance(), MaxSamples(77), ProgressiveLoss(0.05), MarginTest().then(1.5), Distance(first=50)]
    ),
    ids=repr,
)
def test_rules_that_stop_it(rule, problem):
    whole = fit(problem, SVRG(), rule | MaxPasses(12))
    assert whole.verdict.step > 0
    for options in ({"block_size": 1}, {"block_size": 30}, {"as_csr": True}):
        other = fit(problem, SVRG(), rule | MaxPasses(12), **options)
        assert (other.verdict.step, other.verdict.rule) == (whole.verdict.step, whole.verdict.rule)


@interpreted
@pytest.mark.slow
def test_a_margin_returns_the_iterate_without_its_sample(problem):
    result = fit(problem, SVRG(), MarginTest(0.5))
    k, row = result.verdict.step, result.rows_read - 100
    assert result.verdict.rule == "MarginTest"
    assert k == row < 100
    margin = problem.y[k] * (problem.X[k] @ result.coef + result.intercept)
    assert margin == pytest.approx(result.verdict.evidence["margin"], rel=1e-10)
    assert np.allclose(result.coef, fit(problem, SVRG(), MaxSamples(k)).coef, rtol=1e-12)


@interpreted
def test_rules_that_look_at_the_weights_inside_the_loop_are_refused(problem):
    with pytest.raises(ValueError, match="a rule that checks the weights at every sample cannot be used with svrg"):
        fit(problem, SVRG(), SmallValidationSet(8))


@interpreted
@pytest.mark.parametrize(("row", "bad"), [(0, np.nan), (57, np.inf), (99, 1e200)])
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_a_bad_row_is_found_at_the_first_anchor(form, bad, row, problem):
    problem.X[row, 2] = bad
    with pytest.raises(BadRowError, match=f"row {row} of X "):
        SGDClassifier(solver="svrg", step=0.1, stop=3, random_state=0).fit(form(problem.X), problem.y)


@interpreted
@pytest.mark.slow
def test_an_index_out_of_range_is_found_at_the_first_anchor(problem):
    X = sparse.csr_array(problem.X)
    X.indices[X.indptr[57]] = 4
    with pytest.raises(ValueError, match="row 57 of the CSR matrix X has the column index 4"):
        SGDClassifier(solver="svrg", stop=3).fit(X, problem.y)


@interpreted
def test_a_label_that_is_none(problem):
    y = problem.X[:, 0].copy()
    y[57] = np.nan
    with pytest.raises(BadRowError, match="the label of row 57 is nan"):
        run(ArraySource(problem.X, y), losses.Squared(), SVRG(), MaxPasses(3), alpha=0.0, task="regression")


@interpreted
@pytest.mark.slow
def test_steps_that_are_too_large_diverge(problem):
    X = 1e3 * problem.X
    source = ArraySource(X, X @ np.ones(4))
    step = steps.Constant(1.0)
    result = run(source, losses.Squared(), SVRG(), MaxPasses(9), alpha=0.0, step=step, task="regression")
    assert result.verdict.status is Status.DIVERGED
    assert np.all(np.isfinite(result.coef))


class Endless(Source):
    """Blocks of equally many rows, never the same."""

    n_features = 3
    n_rows = None

    def blocks(self, rng):
        while True:
            X = rng.standard_normal((50, 3))
            yield from ArraySource(X, np.where(X[:, 0] > 0, 1.0, -1.0)).blocks(rng)


@interpreted
@pytest.mark.parametrize("source", [Endless(), ArraySource(np.eye(4), np.ones(4), part_of_stream=True)])
def test_streams_are_refused(source):
    with pytest.raises(ValueError, match="must be able to read all rows at any time: a stream is not enough"):
        run(source, LOGISTIC, SVRG(20), MaxSamples(100), alpha=0.01)


@interpreted
def test_partial_fit_is_refused(problem):
    X, y = problem.X, problem.y
    with pytest.raises(ValueError, match="Use fit, not partial_fit"):
        SGDClassifier(solver="svrg").partial_fit(X, y, classes=[-1, 1])
    fitted = SGDClassifier(solver="svrg", random_state=0).fit(X, y)
    before = fitted.coef_.tobytes()
    with pytest.raises(ValueError, match="Use fit, not partial_fit"):
        fitted.partial_fit(X, y)
    assert fitted.coef_.tobytes() == before
    with pytest.raises(ValueError, match="cannot be averaged"):
        SGDClassifier(solver="svrg", average=True).fit(X, y)


@dataclass(frozen=True)
class InterruptingStep(steps.StepSize):
    """Presses Ctrl-C when asked for a second chunk of step sizes."""

    name = "interrupting"

    def __call__(self, t):
        if t[0] > 1:
            raise KeyboardInterrupt
        return np.full(t.shape, 0.01)

    def resolve(self, preliminary):
        return self


@interpreted
@pytest.mark.slow
@pytest.mark.parametrize("option", ["I", "II"])
def test_an_interruption_keeps_the_model(option, problem):
    result = fit(problem, SVRG(300, option), MaxPasses(1000), step=InterruptingStep())
    assert result.verdict.status is Status.INTERRUPTED
    assert 8000 < result.verdict.step <= 8192
    assert np.all(np.isfinite(result.coef))
    assert result.coef @ problem.X[problem.y > 0].mean(axis=0) > 0


@interpreted
@pytest.mark.slow
def test_a_second_fit_may_start_from_the_first(problem):
    X, y = problem.X, problem.y
    model = SGDClassifier(solver="svrg", alpha=0.01, stop=200, warm_start=True, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.set_params(stop=2).fit(X, y)
    assert np.allclose(model.coef_, before, rtol=1e-4)


@interpreted
@pytest.mark.slow
def test_small_data():
    rng = np.random.default_rng(0)
    for X in (np.ones((1, 1)), np.zeros((5, 2)), rng.standard_normal((3, 20)), np.ones((8, 2))):
        for form in (np.asarray, sparse.csr_array):
            model = SGDRegressor(solver="svrg", stop=7, random_state=0).fit(form(X), np.arange(len(X), dtype=float))
            assert np.all(np.isfinite(model.coef_))


@interpreted
def test_by_default_it_ends_at_the_optimum(rng):
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(300) > 0
    model = SGDClassifier(solver="svrg", random_state=0).fit(X, y)
    assert (model.verdict_.status, model.verdict_.rule) == (Status.CONVERGED, "SVRG")
    scores = model.decision_function(X)
    slopes = 1.0 / (1.0 + np.exp(-scores)) - y
    gradient = np.append(X.T @ slopes / 300 + model.alpha_ * model.coef_[0], slopes.mean())
    start = np.append(X.T @ (0.5 - y), (0.5 - y).sum()) / 300
    assert np.linalg.norm(gradient) == pytest.approx(model.verdict_.evidence["gradient"], rel=1e-8)
    assert np.linalg.norm(gradient) <= 1e-4 * np.linalg.norm(start)
    optimum = LogisticRegression(C=1 / (300 * model.alpha_), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, optimum.coef_, atol=5e-3)


@interpreted
def test_a_rule_that_is_given_decides(rng):
    X = rng.standard_normal((60, 3))
    model = SGDClassifier(solver="svrg", stop=200, random_state=0).fit(X, X[:, 0] > 0)
    assert model.verdict_.passes == 200


@interpreted
def test_a_tolerance_out_of_range():
    with pytest.raises(ValueError, match=r"tol=1: give the relative norm of the gradient"):
        SVRG(tol=1)
