"""What SGD2 and SGD-QN share: kinds of rows, going on after a run, and bad data."""

import numpy as np
import pytest
from bottou_cases import two_classes
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import sgdone
from problems import random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, stopping
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource, Scaling
from sgdone.rows.faults import BadRowError
from sgdone.solvers.sgd2 import SGD2
from sgdone.solvers.sgdqn import SGDQN
from tiers import examples, grid

pytestmark = [pytest.mark.slow, grid]

LOGISTIC = losses.Logistic()
of_both = pytest.mark.parametrize("method", [SGD2, SGDQN], ids=["sgd2", "sgdqn"])
by_both_names = pytest.mark.parametrize("name", ["sgd2", "sgdqn"])
in_both_forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


@pytest.fixture
def problem():
    return random_problem(3, LOGISTIC, n_rows=300, n_features=4)


# --- Rows ---------------------------------------------------------------------------------------------------------


@of_both
@pytest.mark.parametrize("shifted", [False, True])
@examples(15)
@given(seed=st.integers(0, 10**6))
def test_scaled_rows_equal_a_scaled_copy(method, shifted, seed):
    problem = random_problem(seed, LOGISTIC)
    rng = np.random.default_rng(seed)
    d = problem.X.shape[1]
    scale = np.exp(rng.standard_normal(d))
    shift = rng.standard_normal(d) if shifted else None
    centre = np.zeros(d) if shift is None else shift

    def passes(X, scaling=None):
        source = ArraySource(X, problem.y, problem.weights, scaling=scaling)
        return run(source, LOGISTIC, method(5), stopping.MaxPasses(2), alpha=0.01)

    copied = passes((problem.X - centre) / scale)
    coef = copied.coef / scale
    for X in (problem.X, sparse.csr_array(problem.X)):
        if shifted and method is SGDQN and sparse.issparse(X):
            continue
        result = passes(X, Scaling(scale, shift))
        assert np.allclose(result.coef, coef, rtol=1e-9, atol=1e-9)
        assert result.intercept == pytest.approx(copied.intercept - coef @ centre, rel=1e-9, abs=1e-9)


@of_both
@in_both_forms
def test_single_precision(method, form):
    X, y = two_classes()
    ours, theirs = (
        run(ArraySource(form(X.astype(dtype)), y), LOGISTIC, method(5), stopping.MaxPasses(5), alpha=0.01)
        for dtype in (np.float32, np.float64)
    )
    assert ours.coef.dtype == np.float32
    assert ours.verdict.evidence["t0"] == theirs.verdict.evidence["t0"]
    assert np.allclose(ours.coef, theirs.coef, rtol=1e-3)


@of_both
def test_a_sample_is_a_thousand_rows_of_positive_weight(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    weights = np.zeros(20_000)
    # The first block (of 16,384 rows) has nothing to learn from, and the second more than a sample.
    weights[-1500:] = 1.0
    late = run(ArraySource(X, y, weights, shuffle=False), LOGISTIC, method(), stopping.MaxPasses(1), alpha=0.01)
    few = run(ArraySource(X[-1500:], y[-1500:], shuffle=False), LOGISTIC, method(), stopping.MaxPasses(1), alpha=0.01)
    assert late.verdict.step == 1500
    assert late.coef.tobytes() == few.coef.tobytes()
    # Labels beyond the first thousand of those rows have no say in t₀.
    y[-500:] = 1.0
    other = run(ArraySource(X, y, weights, shuffle=False), LOGISTIC, method(), stopping.MaxPasses(1), alpha=0.01)
    assert other.verdict.evidence["t0"] == late.verdict.evidence["t0"]
    assert other.coef.tobytes() != late.coef.tobytes()


# --- Going on -----------------------------------------------------------------------------------------------------


@of_both
@pytest.mark.parametrize("as_csr", [False, True])
def test_one_pass_after_another_gives_the_same_bits(method, as_csr, problem):
    source = problem.source(as_csr=as_csr, shuffle=False)
    never = stopping.MaxPasses(float("inf"))
    once = run(source, LOGISTIC, method(7), never, alpha=0.01, single_pass=True)
    kept = once.state.copy()
    twice = run(source, LOGISTIC, method(7), never, alpha=0.01, single_pass=True, resume=once)
    whole = run(source, LOGISTIC, method(7), stopping.MaxPasses(2), alpha=0.01)
    assert twice.coef.tobytes() == whole.coef.tobytes()
    assert twice.intercept == whole.intercept
    assert kept.steps == once.state.steps // 2


@of_both
def test_a_state_moves_between_dense_and_sparse_rows(method, problem):
    never = stopping.MaxPasses(float("inf"))

    def two_passes(kinds):
        result = None
        for as_csr in kinds:
            source = problem.source(as_csr=as_csr, shuffle=False)
            result = run(source, LOGISTIC, method(7), never, alpha=0.01, resume=result, single_pass=True)
        return result

    assert np.allclose(two_passes([False, True]).coef, two_passes([False, False]).coef, rtol=1e-12, atol=1e-12)
    assert np.allclose(two_passes([True, False]).coef, two_passes([True, True]).coef, rtol=1e-12, atol=1e-12)


@by_both_names
@in_both_forms
def test_partial_fit_after_save_and_load(name, form, tmp_path):
    X, y = two_classes()
    model = SGDClassifier(solver=name, alpha=0.01, random_state=0)
    model.partial_fit(form(X[:130]), y[:130], classes=[-1, 1])
    sgdone.save(model, tmp_path / "model")
    loaded = sgdone.load(tmp_path / "model")
    for part in (slice(130, 131), slice(131, 400)):
        model.partial_fit(form(X[part]), y[part])
        loaded.partial_fit(form(X[part]), y[part])
    assert loaded.coef_.tobytes() == model.coef_.tobytes()
    assert loaded.intercept_.tobytes() == model.intercept_.tobytes()
    assert model._fitted.results[0].state.steps == 400
    assert model.verdict_.evidence["t0"] > 1


@by_both_names
def test_three_classes_and_weights(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = np.argmax(X, axis=1)
    weights = rng.uniform(0.5, 2.0, 600) * (rng.random(600) < 0.9)
    model = SGDClassifier(solver=name, alpha=0.01, stop=10, random_state=0).fit(X, y, sample_weight=weights)
    assert model.score(X, y) > 0.9


# --- Bad data -----------------------------------------------------------------------------------------------------


@by_both_names
@in_both_forms
@pytest.mark.parametrize("step", ["auto", 0.1])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_a_bad_row_is_named(name, form, step, bad):
    X, y = two_classes()
    X[57, 2] = bad
    with pytest.raises(BadRowError, match="row 57 of X "):
        SGDClassifier(solver=name, step=step, alpha=0.01, stop=3, random_state=0).fit(form(X), y)


@by_both_names
@pytest.mark.parametrize("step", ["auto", 0.1])
def test_an_index_out_of_range_is_named(name, step):
    X, y = two_classes()
    X = sparse.csr_array(X)
    X.indices[X.indptr[57]] = 5
    with pytest.raises(ValueError, match="row 57 of the CSR matrix X has the column index 5"):
        SGDClassifier(solver=name, step=step, stop=3).fit(X, y)


@by_both_names
def test_a_column_beyond_all_steps_ends_in_a_verdict(name):
    X, y = two_classes()
    X[:, 2] *= 1e60
    model = SGDRegressor(solver=name, alpha=0.01, stop=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Diverged after 0 samples.*scale the features"):
        model.fit(X, y)
    assert not np.any(model.coef_)


@by_both_names
@in_both_forms
def test_small_data(name, form):
    rng = np.random.default_rng(0)
    for X in (np.ones((1, 1)), np.zeros((5, 2)), rng.standard_normal((3, 20)), np.ones((8, 2))):
        model = SGDRegressor(solver=name, stop=7, random_state=0).fit(form(X), np.arange(len(X), dtype=float))
        assert np.all(np.isfinite(model.coef_))
        assert model.verdict_.status is Status.BUDGET_SPENT
