"""Every rule against its slow twin: the same stop sample and the same weights, on many random problems each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import random_problem
from running import run
from sgdone import losses, solvers, steps, stopping
from sgdone.papers import sgd_reference
from sgdone.papers.diagnostics import reference as diagnostics
from sgdone.papers.diagnostics.reference import implicit
from sgdone.papers.termination import reference as termination
from tiers import examples, fast_first, interpreted

ALPHA = 0.01
LOSSES = [losses.Logistic(), losses.Hinge()]
problems_of_both_losses = pytest.mark.parametrize("loss", fast_first(1, LOSSES, upto=1), ids=lambda loss: loss.name)
random_cases = given(
    options=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 10**6),
            "as_csr": st.booleans(),
            "intercept": st.booleans(),
            "gamma": st.floats(0.02, 0.5),
            "passes": st.integers(1, 4),
            "block_size": st.sampled_from([1, 7, 100, None]),
        }
    )
)
many = examples(60)


class Case:
    """A problem read several times in order, for the fast and for the slow side."""

    def __init__(self, seed, loss, as_csr, intercept, gamma, passes, block_size, n_rows=None):
        self.loss, self.as_csr, self.intercept, self.gamma = loss, as_csr, intercept, gamma
        self.passes, self.block_size = passes, block_size
        self.problem = random_problem(seed, loss, n_rows)

    def fast(self, rule, solver=None):
        return run(
            self.problem.source(as_csr=self.as_csr, shuffle=False),
            self.loss,
            solver or solvers.SGD(),
            rule | stopping.MaxPasses(self.passes),
            alpha=ALPHA,
            step=steps.Constant(self.gamma),
            fit_intercept=self.intercept,
            block_size=self.block_size,
        )

    def rows(self):
        """Rows, labels and weights of all passes, one after the other."""
        X, y, v = self.problem.X, self.problem.y, self.problem.weights
        return np.tile(X, (self.passes, 1)), np.tile(y, self.passes), np.tile(v, self.passes)

    @property
    def update(self):
        return sgd_reference.explicit(self.loss, ALPHA, self.intercept)

    def step_size(self, t):
        return self.gamma


def assert_same(result, rule, k, w, b):
    fired = result.verdict.rule == rule
    assert fired == (k is not None)
    if fired:
        assert result.verdict.step == k
    assert np.allclose(result.coef, w, rtol=1e-9, atol=1e-9)
    assert result.intercept == pytest.approx(b, rel=1e-9, abs=1e-9)


@interpreted
@problems_of_both_losses
@many
@random_cases
def test_margin_test(loss, options):
    case = Case(loss=loss, **options)
    expected = termination.margin_test(*case.rows(), case.step_size, case.update)
    assert_same(case.fast(stopping.MarginTest()), "MarginTest", *expected)


@pytest.mark.slow
@problems_of_both_losses
@many
@random_cases
def test_fresh_margin_test(loss, options):
    case = Case(loss=loss, **options)
    expected = termination.margin_test_fresh(*case.rows(), case.step_size, case.update)
    assert_same(case.fast(stopping.MarginTest(fresh=True)), "MarginTest", *expected)


@interpreted
@problems_of_both_losses
@many
@random_cases
def test_small_validation_set(loss, options):
    case = Case(loss=loss, **options)
    used = np.flatnonzero(case.problem.weights)
    size = max(1, min(8, used.size // 3))
    if used.size <= size:
        return
    X, y, v = case.rows()
    later = np.arange(v.size) >= len(case.problem.y)
    v[later & np.isin(np.arange(v.size) % len(case.problem.y), used[:size])] = 0.0
    expected = termination.small_validation_set(X, y, v, case.step_size, case.update, size, 2 * size)
    assert_same(case.fast(stopping.SmallValidationSet(size)), "SmallValidationSet", *expected)


@interpreted
@problems_of_both_losses
@pytest.mark.parametrize("kind", fast_first(1, ["explicit", "implicit"]))
@many
@random_cases
def test_pflug(loss, kind, options):
    case = Case(loss=loss, **options, n_rows=None if kind == "explicit" else 1 + options["seed"] % 60)
    if kind == "explicit":
        solver, update = solvers.SGD(), case.update
        gradient = diagnostics.explicit_gradient(loss, case.intercept)
    else:
        solver, update = solvers.ISGD(), implicit(loss, ALPHA, case.intercept)
        gradient = diagnostics.implicit_gradient(loss, ALPHA, case.intercept)
    n, w, b, total = diagnostics.pflug(*case.rows(), case.step_size, update, gradient, 10)
    result = case.fast(stopping.Pflug(10), solver)
    assert_same(result, "Pflug", n, w, b)
    if n is not None:
        assert result.verdict.evidence["sum"] == pytest.approx(total, rel=1e-6, abs=1e-9)


@problems_of_both_losses
@many
@random_cases
@pytest.mark.slow
def test_distance(loss, options):
    case = Case(loss=loss, **options)
    path = sgd_reference.sgd(*case.rows(), case.step_size, case.update)
    n = diagnostics.distance_test(path)
    assert_same(case.fast(stopping.Distance()), "Distance", n, *path[len(path) - 1 if n is None else n])


@pytest.mark.slow
@problems_of_both_losses
@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@many
@random_cases
def test_halving(loss, kind, options):
    case = Case(loss=loss, **options, n_rows=None if kind == "explicit" else 1 + options["seed"] % 60)
    if kind == "explicit":
        inner, update = solvers.SGD(), case.update
        gradient = diagnostics.explicit_gradient(loss, case.intercept)
    else:
        inner, update = solvers.ISGD(), implicit(loss, ALPHA, case.intercept)
        gradient = diagnostics.implicit_gradient(loss, ALPHA, case.intercept)
    halvings, w, b = diagnostics.sgd_half(*case.rows(), case.gamma, update, gradient, 10, smallest=1e-3)
    solver = solvers.Halving(inner, stopping.Pflug(10), smallest=1e-3)
    result = run(
        case.problem.source(as_csr=case.as_csr, shuffle=False),
        loss,
        solver,
        stopping.MaxPasses(case.passes),
        alpha=ALPHA,
        step=steps.Constant(case.gamma),
        fit_intercept=case.intercept,
        block_size=case.block_size,
    )
    found = [(halving["sample"], halving["step_size"]) for halving in result.verdict.evidence["halvings"]]
    assert found == halvings
    assert np.allclose(result.coef, w, rtol=1e-9, atol=1e-9)
    assert result.intercept == pytest.approx(b, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@problems_of_both_losses
@pytest.mark.parametrize("option", ["I", "II"])
@many
@random_cases
def test_svrg(loss, option, options):
    case = Case(loss=loss, **options)
    used = np.flatnonzero(case.problem.weights)
    length = max(1, used.size // 2)
    solver = solvers.SVRG(length, option, seed=3)
    result = case.fast(stopping.MaxSamples(2 * used.size), solver)
    steps_made = result.verdict.step
    order = np.tile(used, 1 + steps_made // used.size)[:steps_made]
    stages = 1 + steps_made // length
    picks = [int(np.random.default_rng([3, stage]).integers(1, length + 1)) for stage in range(1, stages + 1)]
    path = diagnostics.svrg(
        case.problem.X,
        case.problem.y,
        case.problem.weights,
        order,
        loss,
        ALPHA,
        case.gamma,
        length,
        option,
        picks,
        case.intercept,
    )
    stage = steps_made // length
    renewed = result.verdict.evidence["anchors"] == stage + 1 and steps_made == stage * length > 0
    # A run may end just after an anchor was made: of option II, it is not the last iterate.
    w, b = path[(stage - 1) * length + picks[stage - 1]] if renewed and option == "II" else path[-1]
    scale = max(1.0, np.abs(w).max(), abs(b))
    assert np.allclose(result.coef, w, rtol=1e-8, atol=1e-8 * scale)
    assert result.intercept == pytest.approx(b, rel=1e-8, abs=1e-8 * scale)


@problems_of_both_losses
@many
@random_cases
@pytest.mark.slow
def test_the_papers_set_up(loss, options):
    """Centring and class scale: the homogeneous predictor of rows seen from between the class means."""
    case = Case(loss=loss, **options | {"intercept": True})
    X, y, v = case.rows()
    one_pass = case.problem.X, case.problem.y, case.problem.weights
    if len(set(y[v > 0])) < 2:
        return
    shift, scale = termination.centre(*one_pass), termination.class_scale(*one_pass)
    if scale == 0:
        return
    update = sgd_reference.explicit(loss, 0.0, False)
    k, w, _ = termination.margin_test(X - shift, y, v, lambda t: 1 / 16 / scale, update)
    result = run(
        case.problem.source(as_csr=case.as_csr, shuffle=False),
        loss,
        solvers.SGD(),
        stopping.MarginTest() | stopping.MaxPasses(case.passes),
        alpha=0.0,
        step=steps.ClassScale(),
        center=True,
        block_size=case.block_size,
    )
    assert_same(result, "MarginTest", k, w, -float(w @ shift))
