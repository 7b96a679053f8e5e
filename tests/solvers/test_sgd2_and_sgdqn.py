"""What SGD2 and SGD-QN share: their parameters, the optimum, and rules that watch them."""

import numpy as np
import pytest
from bottou_cases import assert_same, two_classes
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from problems import random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, stopping
from sgdone.papers.averaging import rivals
from sgdone.rows import ArraySource
from sgdone.solvers.bottou_schedule import skip_of
from sgdone.solvers.sgd2 import SGD2
from sgdone.solvers.sgdqn import SGDQN
from sgdone.steps.bottou import Bottou, typical_t0
from sgdone.steps.step_size import Preliminary
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()
of_both = pytest.mark.parametrize("method", [SGD2, SGDQN], ids=["sgd2", "sgdqn"])
by_both_names = pytest.mark.parametrize("name", ["sgd2", "sgdqn"])
in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array], upto=1))
TWINS = {SGD2: rivals.sgd2, SGDQN: rivals.sgdqn}


def fit(problem, solver, stop, *, as_csr=False, **options):
    source = problem.source(as_csr=as_csr, shuffle=False)
    return run(source, LOGISTIC, solver, stop, **{"alpha": 0.01, "step": Bottou(200.0)} | options)


@pytest.fixture
def problem():
    return random_problem(3, LOGISTIC, n_rows=300, n_features=4)


# --- Parameters ---------------------------------------------------------------------------------------------------


@of_both
@pytest.mark.parametrize("skip", [0, -3, 2.5, True, "all", None])
def test_a_skip_that_is_none(method, skip):
    with pytest.raises(ValueError, match=r"skip=.*: give the samples between two shrinkages, 1 or more"):
        method(skip)


@of_both
def test_a_solver_is_what_it_says(method):
    assert eval(repr(method(7))) == method(7)
    assert method() == method("auto")


@pytest.mark.parametrize("X", [np.ones((3, 7)), np.eye(10), np.zeros((2, 3)), np.eye(50, 40)])
def test_the_automatic_skip_is_the_twins_of_sparse_rows(X):
    assert skip_of(ArraySource(sparse.csr_array(X), np.ones(len(X))).rows) == min(rivals.skip_of(X), 1000)
    assert skip_of(ArraySource(X, np.ones(len(X))).rows) == 16


def test_the_automatic_skip_is_no_longer_than_a_pass_or_a_thousand_samples():
    for n_rows, skip in ((10, 1000), (3000, 3000), (20_000, 16_000)):
        X = sparse.csr_array((np.ones(n_rows), (np.arange(n_rows), np.zeros(n_rows, int))), shape=(n_rows, 1000))
        assert skip_of(ArraySource(X, np.ones(n_rows)).rows) == skip


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredHinge(), losses.Hinge(), losses.Squared()])
@pytest.mark.parametrize("alpha", [1e-7, 1e-3, 1.0, 16.0])
def test_the_typical_t0_is_the_twins(loss, alpha):
    t0 = rivals.typical_t0(loss, alpha)
    assert typical_t0(loss, alpha) == pytest.approx(t0, rel=1e-14)
    for energy in (1.0, 30.0):
        step = Bottou().resolve(Preliminary(loss, alpha, energy, energy))
        assert step.t0 == pytest.approx(energy * t0)
        assert step(np.arange(1, 4)) == pytest.approx(1 / (alpha * (np.arange(3) + energy * t0)))
    assert Bottou().resolve(Preliminary(loss, alpha, 1e-9, 1e-9)).t0 >= 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t0": 0.5}, "t0=0.5 is below 1"),
        ({"t0": -1.0}, "t0=-1.0 is not a positive finite number"),
        ({"t0": np.nan}, "t0=nan is not a positive"),
        ({"t0": "typical"}, "t0='typical' is neither a number"),
        ({"alpha": 0.0}, "alpha=0.0 is not a positive finite number"),
    ],
)
def test_step_sizes_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Bottou(**options)


@by_both_names
@pytest.mark.parametrize("step", ["auto", "bottou"])
def test_no_penalty_is_an_error(name, step):
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"needs? a positive alpha"):
        SGDClassifier(solver=name, alpha=0.0, step=step).fit(X, y)


@interpreted
@by_both_names
def test_a_step_by_name_is_the_typical_one(name):
    X, y = two_classes()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    options = {"alpha": 1e-4, "fit_intercept": False, "stop": 1}
    model = SGDClassifier(solver=name, step="bottou", **options).fit(X, y)
    assert model.verdict_.evidence["t0"] == pytest.approx(1000.0)
    assert "t₀ = 1e+03" in model.verdict_.reason


# --- The optimum --------------------------------------------------------------------------------------------------


@in_both_forms
@pytest.mark.parametrize(("name", "alpha"), [("sgd2", 0.01), ("sgdqn", 0.001)])
@pytest.mark.slow
def test_it_reaches_the_optimum_of_the_logistic_loss(name, alpha, form):
    X, y = two_classes()
    exact = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=1000).fit(X, y)
    model = SGDClassifier(solver=name, alpha=alpha, stop=50, random_state=0).fit(form(X), y)

    def objective(it):
        w = it.coef_[0]
        return np.mean(LOGISTIC.value(X @ w + it.intercept_[0], y)) + 0.5 * alpha * w @ w

    assert objective(model) == pytest.approx(objective(exact), rel=1e-3)


@pytest.mark.slow
@in_both_forms
@pytest.mark.parametrize(("name", "alpha"), [("sgd2", 0.05), ("sgdqn", 0.005)])
def test_it_reaches_the_optimum_of_the_squared_hinge(name, alpha, form):
    X, y = two_classes()
    loss = losses.SquaredHinge()
    exact = LinearSVC(C=0.5 / (alpha * len(y)), fit_intercept=False, tol=1e-10, dual=False).fit(X, y)
    options = {"solver": name, "alpha": alpha, "fit_intercept": False, "stop": 50, "random_state": 0}
    model = SGDClassifier(loss, **options).fit(form(X), y)

    def objective(it):
        w = it.coef_[0]
        return np.mean(loss.value(X @ w, y)) + 0.5 * alpha * w @ w

    assert objective(model) == pytest.approx(objective(exact), rel=1e-3)


@pytest.mark.slow
@by_both_names
def test_regressions_too(name):
    X, _ = two_classes()
    rng = np.random.default_rng(0)
    y = X @ [1.0, 2.0, 3.0, 4.0, 5.0] + 0.1 * rng.standard_normal(400) - 1.0
    model = SGDRegressor(solver=name, alpha=1e-3, stop=50, random_state=0).fit(X, y)
    assert np.allclose(model.coef_, [1, 2, 3, 4, 5], atol=0.1)
    assert model.intercept_[0] == pytest.approx(-1.0, abs=0.1)


# --- Rules --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@of_both
@examples(30)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), threshold=st.floats(0.1, 2.0))
def test_a_margin_returns_the_iterate_without_its_sample(method, seed, as_csr, threshold):
    problem = random_problem(seed, LOGISTIC)
    X, y, v = problem.X, problem.y, problem.weights
    path = TWINS[method](X, y, v, LOGISTIC, 0.01, 200.0, 5, True)
    result = fit(problem, method(5), stopping.MarginTest(threshold) | stopping.MaxPasses(1), as_csr=as_csr)
    margins = [y[i] * (X[i] @ w + b) for i, (w, b) in zip(np.flatnonzero(v), path, strict=False)]
    k = next((k for k, margin in enumerate(margins) if margin >= threshold), None)
    assert (result.verdict.rule == "MarginTest") == (k is not None)
    assert result.verdict.step == (len(margins) if k is None else k)
    assert_same(result, path[result.verdict.step])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "rule"),
    [
        (SGD2, stopping.Distance(first=20)),
        (SGDQN, stopping.Distance(first=20)),
        (SGDQN, stopping.MarginTest(2.0, fresh=True)),
        (SGDQN, stopping.SmallValidationSet(20, every=50) | stopping.Pflug(30)),
    ],
    ids=repr,
)
def test_rules_fire_at_the_same_sample_in_any_block_size_and_form(method, rule, problem):
    whole = fit(problem, method(5), rule | stopping.MaxPasses(30))
    assert whole.verdict.rule != "MaxPasses"
    for options in ({"block_size": 1}, {"block_size": 30}, {"as_csr": True}):
        other = fit(problem, method(5), rule | stopping.MaxPasses(30), **options)
        assert (other.verdict.step, other.verdict.rule) == (whole.verdict.step, whole.verdict.rule)
        if "as_csr" not in options:
            assert other.coef.tobytes() == whole.coef.tobytes()


@pytest.mark.slow
@of_both
def test_rows_held_out_are_in_no_sample(method, problem):
    """They are rows of weight 0 for the choice of t₀, too."""
    used = np.flatnonzero(problem.weights)[:40]
    stop = stopping.SmallValidationSet(40, every=10**9) | stopping.MaxPasses(1)
    held = fit(problem, method(), stop, step=None)
    problem.weights[used] = 0.0
    without = fit(problem, method(), stopping.MaxPasses(1), step=None)
    assert held.coef.tobytes() == without.coef.tobytes()
    assert held.verdict.evidence["t0"] == without.verdict.evidence["t0"]
