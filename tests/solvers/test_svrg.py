"""SVRG: what a pass counts, anchors, both options, and data it cannot learn from."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from problems import random_problem
from running import run
from sgdone import SGDClassifier, losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.solvers import SVRG
from sgdone.stopping import MaxPasses
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
def test_a_second_fit_may_start_from_the_first(problem):
    X, y = problem.X, problem.y
    model = SGDClassifier(solver="svrg", alpha=0.01, stop=200, warm_start=True, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.set_params(stop=2).fit(X, y)
    assert np.allclose(model.coef_, before, rtol=1e-4)


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
