"""SGD2 against its slow twin: the schedule, when it shrinks, and within averaging and halving."""

from types import SimpleNamespace

import numpy as np
import pytest
from bottou_cases import Case, assert_same, hundred_cases, two_classes
from hypothesis import given
from hypothesis import strategies as st

from running import run
from sgdone import SGDClassifier, solvers, steps, stopping
from sgdone.losses import Logistic, Squared
from sgdone.papers.averaging import reference as averaged_sgd
from sgdone.papers.averaging import rivals
from sgdone.rows import ArraySource
from sgdone.solvers.sgd2 import SGD2, _alphas
from sgdone.steps.bottou import Bottou
from tiers import examples, grid, interpreted

pytestmark = grid


@pytest.mark.slow
@hundred_cases
def test_it_equals_its_slow_twin(case):
    result = case.fast(SGD2(case.skip))
    assert_same(result, case.slow(rivals.sgd2)[-1])
    assert result.verdict.step == case.passes * np.count_nonzero(case.problem.weights)


@pytest.mark.slow
@hundred_cases
def test_its_t0_is_the_one_that_does_best_on_the_first_rows(case):
    t0 = rivals.t0_on_sample(lambda t0: case.slow(rivals.sgd2, t0, passes=1), case.objective)
    result = case.fast(SGD2(case.skip), step=Bottou("sample"))
    assert result.verdict.evidence["t0"] == t0
    assert_same(result, case.slow(rivals.sgd2, t0)[-1])


@pytest.mark.slow
@examples(200)
@given(
    gamma=st.floats(1e-6, 2.0),
    alpha=st.floats(1e-6, 2.0),
    skip=st.integers(1, 50),
    first=st.integers(1, 1000),
    count=st.integers(1, 200),
)
def test_shrinkages_are_those_of_the_twin_wherever_a_block_begins(gamma, alpha, skip, first, count):
    state = SimpleNamespace(step=steps.Constant(gamma), objective=SimpleNamespace(penalty=alpha))
    shrinkages = 1.0 - gamma * _alphas(state, skip, first, count)
    t = np.arange(first, first + count)
    expected = np.where(t % skip == 0, rivals.shrinkage(gamma * alpha, skip), 1.0)
    assert np.allclose(shrinkages, expected, rtol=1e-13, atol=1e-13)


@interpreted
def test_a_pass_has_as_many_shrinkages_as_whole_skips():
    """With slopes of 0 nothing but the penalty moves the weights."""
    X = np.zeros((50, 1))
    for skip, times in ((1, 50), (7, 7), (50, 1), (51, 0)):
        result = run(
            ArraySource(X, np.ones(50)),
            Logistic(),
            SGD2(skip),
            stopping.MaxPasses(1),
            alpha=0.1,
            step=steps.Constant(0.01),
            coef=np.ones(1),
        )
        assert result.coef[0] == pytest.approx((1 - skip * 0.001) ** times, rel=1e-12)


@pytest.mark.slow
def test_of_a_step_size_of_another_kind_it_takes_every_value():
    X, y = two_classes()
    step = steps.InverseTime(gamma0=0.1, a=0.01)
    result = run(ArraySource(X, y, shuffle=False), Logistic(), SGD2(1), stopping.MaxPasses(1), alpha=1e-4, step=step)
    plain = run(
        ArraySource(X, y, shuffle=False), Logistic(), solvers.SGD(), stopping.MaxPasses(1), alpha=1e-4, step=step
    )
    # The two differ by γ²α·ℓ′ a step.
    assert np.allclose(result.coef, plain.coef, rtol=1e-4)
    assert not np.array_equal(result.coef, plain.coef)
    assert "t₀" not in result.verdict.reason


@pytest.mark.slow
def test_without_a_penalty_and_with_given_steps_it_is_sgd():
    X, y = two_classes()
    options = {"alpha": 0.0, "step": 0.1, "stop": 2, "random_state": 0}
    ours, plain = (SGDClassifier(solver=solver, **options).fit(X, y) for solver in ("sgd2", "sgd"))
    assert np.allclose(ours.coef_, plain.coef_, rtol=1e-12)


@pytest.mark.slow
@examples(50)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), after=st.integers(0, 20), skip=st.integers(1, 40))
def test_its_iterates_can_be_averaged(seed, as_csr, after, skip):
    case = Case(seed, Logistic(), as_csr, True, 0.05, 1.0, skip, 2, 50)
    path = case.slow(rivals.sgd2)
    result = case.fast(solvers.Averaged(SGD2(case.skip), after))
    assert_same(result, averaged_sgd.average(path, after))


@pytest.mark.slow
def test_averaging_by_name_brings_its_own_steps():
    X, y = two_classes()
    model = SGDClassifier(solver="sgd2", average=True, alpha=0.01, stop=20, random_state=0).fit(X, y)
    like = SGDClassifier(solver="asgd", alpha=0.01, stop=20, random_state=0).fit(X, y)
    assert np.allclose(model.coef_, like.coef_, rtol=0.02)
    with pytest.raises(ValueError, match='t0="sample" works only with SGD2\\(\\) and SGDQN\\(\\), not averaged'):
        model.set_params(step=Bottou("sample")).fit(X, y)


@pytest.mark.slow
def test_its_step_can_be_halved_if_the_skip_is_given():
    X, y = two_classes()
    options = {"alpha": 0.01, "step": 0.1, "stop": 20, "random_state": 0}
    halved = SGDClassifier(solver=solvers.Halving(SGD2(4)), **options).fit(X, y)
    assert len(halved.verdict_.evidence["halvings"]) > 0
    with pytest.raises(ValueError, match=r"SGD2\(skip='auto'\) within another method.*give it a number"):
        SGDClassifier(solver=solvers.Halving(SGD2()), **options).fit(X, y)


@pytest.mark.slow
def test_large_steps_with_a_large_penalty_diverge_and_are_reported():
    X, _ = two_classes()
    source = ArraySource(X, X[:, 0])
    result = run(
        source, Squared(), SGD2(300), stopping.MaxPasses(9), alpha=100.0, step=steps.Constant(10.0), task="regression"
    )
    assert result.verdict.status.name == "DIVERGED"
    assert np.all(np.isfinite(result.coef))
