"""Step sizes: formulas, "auto" parameters and errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from running import run
from sgdone import losses, solvers, steps, stopping
from sgdone.rows import ArraySource
from sgdone.steps.step_size import Preliminary, step_sizes
from tiers import interpreted

T = np.array([1, 2, 10, 1000])
SEEN = Preliminary(losses.Logistic(), alpha=0.01, norm=9.0, energy=10.0)
STABLE = 1.0 / (0.25 * 10.0 + 0.01)


def test_formulas():
    assert np.allclose(steps.Constant(0.3)(T), 0.3)
    assert np.allclose(steps.InverseSqrt(0.3)(T), 0.3 / np.sqrt(T))
    assert np.allclose(steps.InverseTime(0.3, a=0.7)(T), 0.3 / (1 + 0.7 * 0.3 * T))
    for c in (2 / 3, 0.75, 0.9):
        assert np.allclose(steps.Xu(0.3, a=0.7, c=c)(T), 0.3 * (1 + 0.7 * 0.3 * T) ** -c, rtol=1e-14)


def test_auto_is_the_stable_step():
    assert steps.Constant().resolve(SEEN) == steps.Constant(STABLE)
    assert steps.InverseSqrt().resolve(SEEN) == steps.InverseSqrt(STABLE)
    assert steps.InverseTime().resolve(SEEN) == steps.InverseTime(STABLE, a=0.01, energy=10.0)
    assert steps.Xu().resolve(SEEN) == steps.Xu(STABLE, a=0.01, c=0.75, energy=10.0)


def test_root_is_made_for_typical_rows():
    seen = Preliminary(losses.Logistic(), alpha=0.01, norm=9.0, energy=1e9, typical_energy=4.0)
    assert steps.Root(3.0).resolve(seen) == steps.Root(3.0, gamma0=3.0 / 1.01, tau=40.0)
    assert steps.Root(gamma0=0.5, tau=7.0).resolve(seen) == steps.Root(gamma0=0.5, tau=7.0)
    assert np.allclose(steps.Root(gamma0=0.5, tau=7.0)(T), 0.5 / np.sqrt(1 + T / 7.0))


@interpreted
def test_one_outlier_among_the_first_rows_does_not_reduce_the_steps_of_root(rng):
    X = rng.standard_normal((1000, 3))
    first = [first_step(steps.Root(), X)]
    X[5] *= 1e6
    first.append(first_step(steps.Root(), X))
    assert first[1] == pytest.approx(first[0], rel=0.05)


def first_step(step, X):
    source = ArraySource(X, np.sign(X[:, 0]), shuffle=False)
    solver = solvers.Averaged(solvers.ISGD(), after=0, decay=3)
    return run(source, losses.Logistic(), solver, stopping.MaxPasses(1), alpha=0.1, step=step).state.step.gamma0


def test_exponent_is_two_thirds_for_the_squared_loss():
    seen = Preliminary(losses.Squared(), 0.01, 9.0, 10.0)
    assert steps.Xu().resolve(seen).c == 2 / 3


def test_a_loss_without_smoothness_counts_as_one():
    seen = Preliminary(losses.Hinge(), 0.0, 9.0, 10.0)
    assert steps.Constant().resolve(seen).gamma == pytest.approx(0.1)


def test_as_printed_is_one_over_the_largest_norm_and_never_changes():
    printed = steps.Xu.as_printed().resolve(SEEN)
    assert printed.gamma0 == pytest.approx(1 / 9)
    assert printed.energy_limit == np.inf
    assert printed.resolve(Preliminary(losses.Logistic(), 0.01, 1e6, 1e6)).gamma0 == printed.gamma0


def test_given_numbers_stay():
    given_step = steps.Xu(0.5, a=0.1, c=0.6)
    assert given_step.resolve(SEEN) == given_step
    assert given_step.energy_limit == np.inf


@pytest.mark.parametrize("step", [steps.Xu(), steps.InverseTime()])
def test_a_larger_row_met_later_lowers_the_step(step, rng):
    """The step size is reduced before the largest row, the last of 3000, is used."""
    X = rng.standard_normal((3000, 2))
    X[2500] *= 1000.0
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    source = ArraySource(X, y, shuffle=False)
    result = run(source, losses.Logistic(), solvers.SGD(), stopping.MaxPasses(1), alpha=0.01, step=step)
    largest = X[2500] @ X[2500] + 1.0
    assert result.state.step.gamma0 == pytest.approx(1.0 / (0.25 * largest + 0.01), rel=1e-12)
    assert result.verdict.step == 3000
    before = run(
        ArraySource(X[:2500], y[:2500], shuffle=False),
        losses.Logistic(),
        solvers.SGD(),
        stopping.MaxPasses(1),
        alpha=0.01,
        step=step,
    )
    assert before.state.step.gamma0 > 1000 * result.state.step.gamma0


@pytest.mark.parametrize(("row", "samples"), [(3, 1), (2500, 3000)])
def test_a_heavy_row_counts_as_a_large_one(row, samples, rng):
    """v·(‖x‖² + 1) sets the step, v the sample weight: before the first step, and when such a row comes later."""
    X = rng.standard_normal((3000, 2))
    weights = np.ones(3000)
    weights[row] = 200.0
    source = ArraySource(X, np.where(X[:, 0] > 0, 1.0, -1.0), weights, shuffle=False)
    result = run(source, losses.Logistic(), solvers.SGD(), stopping.MaxSamples(samples), alpha=0.01)
    energy = np.max(weights * (np.sum(X * X, axis=1) + 1.0))
    assert result.state.step.gamma0 == pytest.approx(1.0 / (0.25 * energy + 0.01), rel=1e-12)


@interpreted
def test_without_an_intercept_its_share_is_left_out(rng):
    X = rng.standard_normal((100, 2)) * 1e-3
    y = np.ones(100)
    options = {"alpha": 0.0, "step": steps.Xu(c=0.75)}
    stop = stopping.MaxPasses(1)
    result = run(ArraySource(X, y), losses.Squared(), solvers.SGD(), stop, fit_intercept=False, **options)
    assert result.state.step.gamma0 == pytest.approx(1.0 / np.max(np.sum(X * X, axis=1)))


@given(first=st.integers(1, 30_000), count=st.integers(1, 20_000))
def test_table_gives_the_same_bits_wherever_it_is_cut(first, count):
    step = steps.Xu(0.3, a=0.01, c=2 / 3)
    whole = step_sizes(step, 1, first + count - 1)
    assert np.array_equal(step_sizes(step, first, count), whole[first - 1 :])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: steps.Constant(-1.0), "gamma=-1.0 is not a positive finite number"),
        (lambda: steps.Constant(float("nan")), "gamma=nan"),
        (lambda: steps.Constant("fast"), "gamma='fast' is neither a number nor \"auto\""),
        (lambda: steps.Xu(gamma0=0.0), "gamma0=0.0"),
        (lambda: steps.Xu(a=-1.0), "a=-1.0"),
        (lambda: steps.Xu(c=0.0), "c=0.0"),
        (lambda: steps.InverseTime(a=float("inf")), "a=inf"),
        (lambda: steps.InverseSqrt(gamma0=-2), "gamma0=-2"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_step_size_of_ones_own_is_checked():
    class Wrong(steps.StepSize):
        def __call__(self, t):
            return -1.0 / t

        def resolve(self, preliminary):
            return self

    with pytest.raises(ValueError, match=r"returned the step size -1\.0 at sample 1"):
        step_sizes(Wrong(), 1, 10)


def test_a_step_size_that_cannot_be_hashed_works():
    class Mutable(steps.StepSize):
        __hash__ = None

        def __call__(self, t):
            return 1.0 / t

        def resolve(self, preliminary):
            return self

    assert np.allclose(step_sizes(Mutable(), 9000, 3), 1.0 / np.arange(9000, 9003))
