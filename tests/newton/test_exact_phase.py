"""When the exact phase runs, and what it leaves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from exact_problems import classes, numbers
from running import objective_of
from sgdone.bank import Bank
from sgdone.interfaces.method import mismatch
from sgdone.interfaces.objective import Model
from sgdone.losses import EpsilonInsensitive, Exponential, Hinge, Huber, Logistic, Quantile, Squared, SquaredHinge
from sgdone.newton import counted_work
from sgdone.newton.counted_work import exact_work, factorises
from sgdone.newton.exact_phase import ExactInMemory
from sgdone.rows import ArraySource
from sgdone.rows.source import Stream
from sgdone.run import RunOptions, run
from sgdone.stopping import Decrement, Gain, MaxPasses, MaxSamples, MaxSeconds

SMOOTH = [Logistic(), SquaredHinge(), Squared(), Exponential(), Huber(0.7)]
NOT_SMOOTH = [Hinge(), Quantile(0.3), EpsilonInsensitive(0.2)]


def stream_of(X, y, weights=None, **options):
    return Stream(ArraySource(X, y, weights, **options), np.random.default_rng(0))


def suits(objective, stream, stop):
    phase = ExactInMemory()
    unmet = mismatch(phase, objective, phase.rule(stop), stream.source)
    return not unmet and phase.is_worthwhile(objective, stream, stop, None)


@pytest.mark.parametrize("loss", [*SMOOTH, *NOT_SMOOTH], ids=lambda loss: loss.name)
def test_it_suits_smooth_losses(loss):
    X, y = numbers() if loss.task == "regression" else classes(2)
    objective = objective_of(loss, None if loss.task == "regression" else 2)
    assert suits(objective, stream_of(X, y), Gain()) == (loss in SMOOTH)


def test_it_suits_default_fits_on_rows_in_memory_with_an_l2_penalty():
    X, y = classes(2)
    objective = objective_of(Logistic())
    assert suits(objective, stream_of(X, y), Gain() | MaxSeconds(60))
    assert not suits(objective, stream_of(X, y), MaxPasses(300))
    assert not suits(objective, stream_of(X, y, part_of_stream=True), Gain())
    assert not suits(replace(objective, l1_ratio=0.5), stream_of(X, y), Gain())


def test_it_replaces_the_bank_where_it_costs_little_enough():
    """Up to ten times the work of the bank, but hardly more than it with a thousand rows for each coefficient."""
    phase, objective = ExactInMemory(), objective_of(Logistic())
    labels = np.tile([-1.0, 1.0], 75_000)
    shapes = {(40, 3): True, (2000, 600): True, (20_000, 100): True, (150_000, 140): False}
    for (rows, columns), expected in shapes.items():
        stream = stream_of(np.zeros((rows, columns)), labels[:rows])
        assert phase.replaces_bank(objective, stream, Gain()) is expected, (rows, columns)


def test_of_rows_and_columns_the_fewer_are_factorised():
    objective, labels = objective_of(Logistic()), np.tile([-1.0, 1.0], 50)
    wide = sparse.csr_array((100, 10**6))
    assert factorises(objective, stream_of(wide, labels).block)


@pytest.mark.parametrize(
    ("stop", "first"),
    [
        (Gain() | MaxPasses(49), False),
        (Gain() | MaxPasses(50), True),
        (Gain() | MaxSamples(40 * 50 - 1), False),
        (Gain() | MaxSeconds(1e-9), True),
    ],
    ids=str,
)
def test_a_budget_of_few_passes_is_left_to_the_bank(stop, first):
    X, y = classes(2)
    assert ExactInMemory().replaces_bank(objective_of(Logistic()), stream_of(X, y), stop) is first


def test_least_squares_need_one_pass():
    X, y = numbers()
    objective = objective_of(Squared(), None)
    assert ExactInMemory().replaces_bank(objective, stream_of(X, y), Gain() | MaxPasses(1))
    assert not ExactInMemory().replaces_bank(objective, stream_of(X, y), Gain() | MaxSamples(39))


class Spent:
    """A method that has done some work, and expects a gain or none."""

    def __init__(self, work, gain):
        self._work, self._gain = work, gain

    def work(self, state):
        return self._work

    def expects_gain(self, state, tol):
        return self._gain


@pytest.mark.parametrize(
    ("share", "gain", "follows"),
    [(1.01, False, False), (1.01, True, True), (0.101, True, True), (0.099, True, False)],
)
def test_it_follows_the_bank_if_a_gain_is_expected_and_it_costs_at_most_ten_times_as_much(share, gain, follows):
    X, y = classes(2)
    objective, stream = objective_of(Logistic()), stream_of(X, y)
    cost = exact_work(objective, stream.block, warm=True)
    assert ExactInMemory().follows_bank(objective, stream, Spent(share * cost, gain), None) is follows


def test_the_cost_grows_with_rows_columns_and_classes():
    costs = [
        exact_work(objective_of(Logistic(), n_classes), stream_of(*classes(n_classes, rows, columns)).block)
        for n_classes, rows, columns in ((2, 40, 3), (2, 80, 3), (2, 80, 30), (4, 80, 30))
    ]
    assert costs == sorted(set(costs))


def finished(X, y, objective, weights=None, **options):
    how = RunOptions(optional=ExactInMemory())
    return run(ArraySource(X, y, weights, **options), objective, Bank(), Gain(), how)


@pytest.mark.parametrize("n_classes", [2, 3, None])
def test_the_result_can_be_continued_by_the_bank(n_classes):
    """Its state is that of a bank with one candidate at the optimum, after one pass."""
    X, y = numbers(100) if n_classes is None else classes(n_classes, 100)
    weights = np.tile([0.5, 1.5], 50)
    result = finished(X, y, objective_of(Squared() if n_classes is None else Logistic(), n_classes), weights)
    state = result.state.copy()
    assert state.steps == result.state.steps == 100
    np.testing.assert_allclose(state.solution().coef, result.model.coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.solution().intercept, result.model.intercept, rtol=1e-9, atol=1e-12)
    scaling = state.units.scaling
    rows = (X - scaling.shift) / scaling.scale
    assert state.energy == pytest.approx(1.0 + np.average((rows**2).sum(axis=1), weights=weights))


def test_a_run_continues_from_the_model_as_from_the_state_of_a_bank():
    X, y = classes(2, 100)
    result = finished(X, y, objective_of(Logistic()))
    source = ArraySource(X, y, part_of_stream=True)
    by_model = run(source, objective_of(Logistic()), Bank(), Gain(), RunOptions(resume=result))
    copied = replace(result, state=result.state.copy())
    by_state = run(source, objective_of(Logistic()), Bank(), Gain(), RunOptions(resume=copied))
    np.testing.assert_array_equal(by_model.model.coef, by_state.model.coef)
    assert not np.array_equal(by_model.model.coef, result.model.coef)


def test_the_penalty_of_the_state_is_the_one_chosen():
    X, y = classes(2, 100)
    result = finished(X, y, objective_of(Logistic()), np.tile([0.5, 1.5], 50), frequency=3.0)
    assert result.state.copy().lead.penalty == pytest.approx(300.0 * result.objective.alpha)
    assert result.state.alpha == result.state.copy().alpha == pytest.approx(result.objective.alpha)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_starts_at_the_model_given(n_classes):
    X, y = classes(n_classes, 100)
    objective = objective_of(Logistic(), n_classes)
    coef = np.random.default_rng(1).standard_normal((objective.n_outputs, 3))
    if n_classes == 3:
        coef -= coef.mean(axis=0)
    start = Model(coef, np.array([1.0]) if n_classes == 2 else np.array([-1.0, 0.0, 1.0]))
    phase = ExactInMemory()
    found = phase.solution(phase.start(objective, stream_of(X * [1.0, 10.0, 0.1] + 5.0, y), start, None))
    np.testing.assert_allclose(found.coef, start.coef, rtol=1e-10)
    np.testing.assert_allclose(found.intercept, start.intercept, rtol=1e-10, atol=1e-12)


def test_the_standard_error_is_that_of_the_losses():
    """A little wider, for the coefficients that were fitted."""
    X, y = classes(2, 200)
    evidence = finished(X, y, objective_of(Logistic())).verdict.evidence
    assert 0.01 < evidence["standard_error"] < 0.1
    assert evidence["constant_loss"] == pytest.approx(np.log(2.0), abs=0.01)
    assert evidence["gain"] == pytest.approx(evidence["decrement"] / 200)


def test_the_standard_error_of_a_sample_is_that_of_all_losses(monkeypatch):
    X, y = classes(2, 2000)
    objective = objective_of(Logistic(), alpha=0.01)
    every = finished(X, y, objective).verdict.evidence
    monkeypatch.setattr(counted_work, "_SAMPLE", 500)
    sample = finished(X, y, objective).verdict.evidence
    assert sample["loss"] != every["loss"]
    assert sample["standard_error"] == pytest.approx(every["standard_error"], rel=0.1)


def test_budgets_that_must_all_be_spent_stay_together():
    both = MaxPasses(3) & MaxSeconds(60)
    assert ExactInMemory().rule(Gain() | both) == Decrement() | both
    assert ExactInMemory().rule(Gain() & MaxPasses(3)) == Decrement()


def test_a_robust_regression_without_errors_ends_soon():
    """Residuals that are rounding errors are not searched for a minimum."""
    X, _ = numbers(60)
    result = finished(X, X @ [1.0, 2.0, 3.0] + 1.0, objective_of(Huber(1.0), None, alpha=0.0))
    assert result.verdict.status == "converged"
    assert result.verdict.passes < 40
    np.testing.assert_allclose(result.model.coef, [[1.0, 2.0, 3.0]], rtol=1e-9)
