"""SGD-QN against its slow twin: what it learns, from where its steps start, and rows it cannot learn from."""

import numpy as np
import pytest
from bottou_cases import assert_same, hundred_cases, two_classes
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from running import run
from sgdone import SGDClassifier, SGDRegressor, solvers, steps, stopping
from sgdone.losses import Logistic, Squared
from sgdone.papers.averaging import rivals
from sgdone.rows import ArraySource
from sgdone.solvers.sgdqn import SGDQN
from sgdone.steps.bottou import Bottou
from tiers import grid, interpreted

pytestmark = grid


@pytest.mark.slow
@hundred_cases
def test_it_equals_its_slow_twin(case):
    result = case.fast(SGDQN(case.skip))
    assert_same(result, case.slow(rivals.sgdqn)[-1])
    assert result.verdict.step == case.passes * np.count_nonzero(case.problem.weights)


@pytest.mark.slow
@hundred_cases
def test_its_t0_is_the_one_that_does_best_on_the_first_rows(case):
    """Of those that do not let the first shrinkage change signs."""
    tried = [t0 for t0 in 10.0 ** np.arange(11) if t0 >= case.skip]
    with np.errstate(all="ignore"):
        costs = [case.objective(*case.slow(rivals.sgdqn, t0, passes=1)[-1]) for t0 in tried]
    t0 = tried[int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))]
    result = case.fast(SGDQN(case.skip), step=Bottou("sample"))
    assert result.verdict.evidence["t0"] == t0
    assert_same(result, case.slow(rivals.sgdqn, t0)[-1])


@interpreted
def test_no_t0_below_the_skip_is_taken():
    X, y = two_classes()
    for skip, t0 in ((1, 10.0), (100, 100.0), (101, 1000.0), (10**11, 1e11)):
        model = SGDClassifier(solver=SGDQN(skip), alpha=1.0, stop=1, random_state=0).fit(X, y)
        assert model.verdict_.evidence == {"passes": 1, "t0": t0, "skip": skip}


@pytest.mark.slow
def test_of_any_step_size_the_first_value_starts_the_diagonal():
    X, y = two_classes()
    results = [
        run(ArraySource(X, y), Logistic(), SGDQN(5), stopping.MaxPasses(3), alpha=0.01, step=step)
        for step in (Bottou(200.0), steps.Constant(0.5), steps.InverseSqrt(0.5))
    ]
    for other in results[1:]:
        assert np.allclose(other.coef, results[0].coef, rtol=1e-12)


@pytest.mark.slow
def test_it_learns_larger_steps_for_smaller_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2)) * [1.0, 0.1]
    y = X @ [1.0, 10.0] + 0.1 * rng.standard_normal(4000)
    for form in (np.asarray, sparse.csr_array):
        source = ArraySource(form(X), y)
        options = {"step": Bottou(100.0), "fit_intercept": False, "task": "regression"}
        result = run(source, Squared(), SGDQN(4), stopping.MaxPasses(1), alpha=0.01, **options)
        steep, flat = result.state.vector(1)
        assert flat > 3 * steep
        assert result.trace[-1].step_size == pytest.approx((steep + flat) / 2)


def test_it_is_not_for_averaging():
    X, y = two_classes()
    with pytest.raises(ValueError, match="sgdqn cannot be averaged"):
        SGDClassifier(solver="sgdqn", average=True).fit(X, y)
    with pytest.raises(TypeError, match="cannot be averaged"):
        solvers.Averaged(SGDQN())


@pytest.mark.slow
def test_without_a_penalty_it_has_no_bounds_on_its_steps():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"sgdqn needs a positive alpha: it keeps its steps between"):
        SGDClassifier(solver="sgdqn", alpha=0.0, step=0.1).fit(X, y)


@pytest.mark.slow
def test_centred_sparse_rows_are_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"sgdqn cannot learn from centred sparse rows.*dense array"):
        SGDClassifier(solver="sgdqn", center=True).fit(sparse.csr_array(X), y)
    model = SGDClassifier(solver="sgdqn", center=True, random_state=0).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="sgdqn cannot learn from centred sparse rows"):
        model.partial_fit(sparse.csr_array(X), y)


@pytest.mark.slow
def test_a_memory_of_another_size_is_refused():
    X, y = two_classes()
    model = SGDClassifier(solver="sgdqn", random_state=0).partial_fit(X, y, classes=[-1, 1])
    model._fitted.results[0].state.extra.kept = np.zeros(3)
    with pytest.raises(ValueError, match="a memory of 3 weights does not fit 5 features"):
        model._fitted.options.method.check_memory(model._fitted.results[0].state)


@pytest.mark.slow
def test_steps_that_are_too_large_diverge():
    X, _ = two_classes()
    model = SGDRegressor(solver="sgdqn", alpha=1e-3, step=1e3, stop=9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Diverged"):
        model.fit(1e4 * X, X[:, 0])
    assert 0 < model.verdict_.step < 400
    assert np.all(np.isfinite(model.coef_))
