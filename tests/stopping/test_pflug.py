"""Pflug's diagnostic: after the update, after the burn-in, in any storage."""

import numpy as np
import pytest
from scipy import sparse

from problems import random_problem
from running import run
from sgdone import SGDClassifier, losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.papers import sgd_reference
from sgdone.papers.diagnostics import reference as diagnostics
from sgdone.papers.termination import reference as termination
from sgdone.rows import ArraySource
from sgdone.stopping import MaxPasses, MaxSamples, Pflug
from storage_forms import FORMS
from tiers import fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()
BURN_IN = 20


def fit(X, y, stop, weights=None, *, solver=None, gamma=0.3, shuffle=False, **options):
    source = ArraySource(X, y, weights, shuffle=shuffle)
    solver = solvers.SGD() if solver is None else solver
    return run(source, LOGISTIC, solver, stop, alpha=0.01, step=steps.Constant(gamma), **options)


def gradients(X, y, weights, gamma, alpha, intercept=True):
    """The gradients of the losses, one an update, of a plain SGD run."""
    update = sgd_reference.explicit(LOGISTIC, alpha, intercept)
    gradient = diagnostics.explicit_gradient(LOGISTIC, intercept)
    w, b, found = np.zeros(X.shape[1]), 0.0, []
    for i in np.flatnonzero(weights):
        found.append(gradient(w, b, X[i], y[i], weights[i], gamma))
        w, b = update(w, b, X[i], y[i], weights[i], gamma)
    return np.array(found)


@pytest.fixture
def problem():
    return random_problem(9, LOGISTIC, n_rows=400, n_features=7)


@interpreted
@pytest.mark.parametrize("burn_in", [0, -1, 0.5, 10.0, float("nan"), True, "car", None])
def test_a_burn_in_that_is_none(burn_in):
    with pytest.raises(ValueError, match=r"burn_in=.*: give the number of samples \(1 or more\)"):
        Pflug(burn_in)


@interpreted
@pytest.mark.parametrize(("n_rows", "burn_in"), [(100, 50), (5000, 50), (70_000, 700), (None, 1000)])
def test_the_automatic_burn_in(n_rows, burn_in):
    state = Pflug().start(n_rows)
    assert f"burn-in of {burn_in:,} samples" in Pflug().describe(state, None)


@interpreted
def test_the_sample_that_fires_is_learnt_from(problem):
    X, y, v = problem.X, problem.y, problem.weights
    result = fit(X, y, Pflug(BURN_IN), v)
    k = result.verdict.step
    assert (result.verdict.status, result.verdict.rule) == (Status.CONVERGED, "Pflug")
    assert k > BURN_IN
    assert result.rows_read == np.flatnonzero(v)[k - 1] + 1
    assert np.allclose(result.coef, fit(X, y, MaxSamples(k), v).coef, rtol=1e-13, atol=1e-13)
    g = gradients(X[: result.rows_read], y, v[: result.rows_read], 0.3, 0.01)
    sums = np.cumsum(np.sum(g[1:] * g[:-1], axis=1))
    assert result.verdict.evidence == {"sum": pytest.approx(sums[-1], rel=1e-9), "burn_in": BURN_IN}
    assert np.all(sums[BURN_IN - 1 : -1] >= 0.0)
    assert sums[-1] < 0.0


@interpreted
def test_it_waits_for_the_end_of_the_burn_in():
    """Gradients that point against each other from the second sample on."""
    X, y = np.ones((100, 1)), np.where(np.arange(100) % 2, 1.0, -1.0)
    for burn_in in (1, 2, 10, 99):
        assert fit(X, y, Pflug(burn_in), gamma=0.01).verdict.step == burn_in + 1


@interpreted
def test_a_rule_that_never_fires_ends_at_the_budget():
    X, y = np.ones((30, 2)), np.ones(30)
    verdict = fit(X, y, Pflug(5), gamma=0.01).verdict
    assert (verdict.status, verdict.rule, verdict.passes) == (Status.BUDGET_SPENT, "MaxPasses", 100.0)
    assert "100 passes allowed and made; Pflug saw successive gradients agree" in verdict.reason
    early = fit(X, y, Pflug(10**6), gamma=0.01).verdict
    assert "Pflug was still in its burn-in of 1,000,000 samples" in early.reason


@interpreted
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize("seed", range(5))
def test_centred_rows(seed, form):
    """Products of shifted sparse rows are those of the dense rows that nobody makes."""
    problem = random_problem(seed, LOGISTIC, n_rows=150, n_features=5)
    problem.X[:] += 0.5 * (problem.X != 0)
    X, y, v = problem.X, problem.y, problem.weights
    shift = termination.centre(X, y, v)
    update = sgd_reference.explicit(LOGISTIC, 0.01, False)
    gradient = diagnostics.explicit_gradient(LOGISTIC, False)
    n, w, _, total = diagnostics.pflug(X - shift, y, v, lambda t: 0.3, update, gradient, 30)
    result = fit(FORMS[form](X), y, Pflug(30) | MaxPasses(1), v, center=True)
    assert result.verdict.rule == ("MaxPasses" if n is None else "Pflug")
    assert np.allclose(result.coef, w, rtol=1e-10, atol=1e-10)
    if n is not None:
        assert result.verdict.step == n
        assert result.verdict.evidence["sum"] == pytest.approx(total, rel=1e-8)


@interpreted
@pytest.mark.slow
def test_a_last_row_of_another_storage_is_left_out(problem):
    """partial_fit with dense rows and then sparse ones: one product is missing, and only that one."""
    X, y, v = problem.X[:100], problem.y[:100], np.ones(100)
    model = SGDClassifier(solver="sgd", step=0.3, stop=Pflug(10**6), alpha=0.01, shuffle=False)
    model.partial_fit(X[:60], y[:60], classes=[-1, 1])
    model.partial_fit(sparse.csr_array(X[60:]), y[60:])
    g = gradients(X, y, v, 0.3, 0.01)
    products = np.sum(g[1:] * g[:-1], axis=1)
    products[59] = 0.0
    assert model._fitted.results[0].rule_state.numbers[2] == pytest.approx(products.sum(), rel=1e-9)


@interpreted
@pytest.mark.slow
def test_rows_longer_than_the_matrix_is_wide():
    """Repeated columns that SciPy was told not to look for: no buffer is as long as such a row."""
    rng = np.random.default_rng(0)
    parts = rng.standard_normal(60 * 200), np.tile(np.arange(3), 20 * 200), 60 * np.arange(201)
    X = sparse.csr_array(parts, (200, 3))
    expected = fit(X.toarray(), np.where(np.arange(200) % 2, 1.0, -1.0), Pflug(10), gamma=0.01)
    X.has_canonical_format = True
    result = fit(X, np.where(np.arange(200) % 2, 1.0, -1.0), Pflug(10), gamma=0.01)
    assert result.verdict.step == expected.verdict.step
    assert np.allclose(result.coef, expected.coef, rtol=1e-10)
