"""The theorems of Xu (2011): bounds on errors, exact errors, and step sizes."""

import re

import numpy as np
import pytest
from averaging_problems import PROBLEMS, simulated, smallest

from sgdone import losses
from sgdone.interfaces.method import names
from sgdone.losses.loss import Loss
from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.averaging.theory import (
    Schedule,
    asymptotic_samples,
    asymptotic_samples_as_printed,
    averaged_error_bound,
    divergence_step,
    expected_errors,
    expected_regression_errors,
    recommended_schedule,
    sgd_error_bound,
)
from sgdone.steps import Xu
from tiers import fast_first

TIMES = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000]
RUNS = 60
#: Step sizes by λ₀: as recommended for the squared loss and for others, arbitrary, and constant.
SCHEDULES = {
    "squared": lambda lambda0: Schedule(1.0, lambda0, 2 / 3),
    "other": lambda lambda0: Schedule(1.0, lambda0, 3 / 4),
    "bad": lambda _: Schedule(1.0, 1.0, 1 / 2),
    "slow": lambda lambda0: Schedule(0.1, 0.9 * lambda0, 1.0),
    "constant": lambda _: Schedule(0.7, 0.0, 0.0),
}


@pytest.mark.parametrize("steps", SCHEDULES)
@pytest.mark.parametrize("name", fast_first(1, sorted(PROBLEMS)))
def test_the_expected_error_of_the_average_is_within_theorem_1(name, steps):
    schedule = SCHEDULES[steps](smallest(name))._asdict()
    exact = expected_errors(TIMES, **PROBLEMS[name], **schedule).averaged
    bounds = np.array([averaged_error_bound(t, **PROBLEMS[name], **schedule) for t in TIMES])
    assert np.all(exact <= bounds)


@pytest.mark.parametrize("gamma0", [1.0, 0.05])
@pytest.mark.parametrize("name", fast_first(1, sorted(PROBLEMS)))
def test_the_expected_error_of_the_last_iterate_is_within_equation_8(name, gamma0):
    exact = expected_errors(TIMES, **PROBLEMS[name], gamma0=gamma0, a=smallest(name), c=1.0).last
    bounds = np.array([sgd_error_bound(t, **PROBLEMS[name], gamma0=gamma0) for t in TIMES])
    assert np.all(exact <= bounds)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_simulated_runs_are_within_both_bounds(name, rng):
    times, problem = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], PROBLEMS[name]
    good, slow = Schedule(1.0, smallest(name), 2 / 3), Schedule(1.0, smallest(name), 1.0)
    for schedule, which, bound in (
        (good, "averaged", lambda t: averaged_error_bound(t, **problem, **good._asdict())),
        (slow, "last", lambda t: sgd_error_bound(t, **problem, gamma0=1.0)),
    ):
        last, averaged = simulated(name, schedule(np.arange(1, 513)), times, RUNS, rng)
        errors = averaged if which == "averaged" else last
        standard_errors = errors.std(axis=1, ddof=1) / np.sqrt(RUNS)
        assert np.all(errors.mean(axis=1) + 3 * standard_errors <= [bound(t) for t in times])
        exact = getattr(expected_errors(times, **problem, **schedule._asdict()), which)
        assert np.all(np.abs(errors.mean(axis=1) - exact) <= 4 * standard_errors)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_theorem_1_is_tight_in_the_long_run_with_constant_steps(name):
    given = {**PROBLEMS[name], "gamma0": 1.0, "a": 0.0, "c": 0.0}
    exact = expected_errors([30_000], **given).averaged[0]
    assert exact <= averaged_error_bound(30_000, **given) < 1.1 * exact


def test_theorem_1_falls_to_the_best_asymptote():
    given = PROBLEMS["halving"]
    asymptote = np.trace(np.linalg.solve(given["A"], given["S"]))
    t = 10**12
    assert t * averaged_error_bound(t, **given, gamma0=1.0, a=smallest("halving"), c=2 / 3) == pytest.approx(
        asymptote, rel=0.01
    )


def test_theorem_1_is_the_printed_formula():
    given = {"A": np.diag([0.5, 0.2]), "S": np.diag([0.3, 0.1]), "start_error": [1.0, -2.0]}
    t, gamma0, a, c = 70, 1.5, 0.3, 0.8
    c0 = a * c * (1 + a * c * gamma0) / (0.2 - 0.6 * a)
    trace = 0.3 / 0.5 + 0.1 / 0.2
    printed = (
        trace
        + (2 * c0 + c0**2) * (1 + a * gamma0 * t) ** (c - 1) / c * trace
        + (1 + c0) ** 2 / (gamma0**2 * t) * (1 / 0.5 + 4 / 0.2)
    )
    assert averaged_error_bound(t, **given, gamma0=gamma0, a=a, c=c) == pytest.approx(printed / t, rel=1e-12)


def test_equation_8_is_met_exactly_without_noise_on_a_round_bowl():
    given = {"A": 0.3 * np.eye(3), "S": np.zeros((3, 3)), "start_error": [1.0, 2.0, -3.0]}
    exact = expected_errors(TIMES[:7], **given, gamma0=2.0, a=0.3, c=1.0).last
    np.testing.assert_allclose(exact, [sgd_error_bound(t, **given, gamma0=2.0) for t in TIMES[:7]], rtol=1e-10)


ONE = {"A": [[0.5]], "S": [[1.0]], "start_error": [1.0]}
ASSUMPTIONS = {
    "first step": (lambda: averaged_error_bound(9, **ONE, gamma0=2.5, a=0.1, c=0.5),
                   "Theorem 1 assumes γ₀λ₁ ≤ 1; found γ₀λ₁ = 1.25 (gamma0=2.5, λ₁ = 0.5): take a smaller gamma0"),
    "fall": (lambda: averaged_error_bound(9, **ONE, gamma0=1.0, a=1.0, c=0.75),
             "Theorem 1 assumes (2c − 1)a < λ₀; found (2c − 1)a = 0.5 (a=1, c=0.75) and λ₀ = 0.5: take a smaller a"),
    "fall, as for the last iterate": (lambda: averaged_error_bound(9, **PROBLEMS["halving"], gamma0=1.0, a=2.0**-7,
                                                                   c=1.0),
                                      "Theorem 1 assumes (2c − 1)a < λ₀"),
    "flat": (lambda: averaged_error_bound(9, A=np.diag([1.0, 0.0]), S=np.eye(2), start_error=[1.0, 1.0], gamma0=1.0,
                                          a=0.1, c=0.5),
             "eq. (5) assumes that A is positive definite; found the smallest eigenvalue 0 beside the largest, 1"),
    "flat but for rounding": (lambda: sgd_error_bound(9, A=np.ones((3, 3)), S=np.eye(3), start_error=np.ones(3),
                                                      gamma0=0.1),
                              "eq. (5) assumes that A is positive definite"),
    "first step of SGD": (lambda: sgd_error_bound(9, **ONE, gamma0=2.5), "Eq. (8) assumes γ₀λ₁ ≤ 1; found γ₀λ₁ = 1.25"),
}  # fmt: skip


@pytest.mark.parametrize("case", ASSUMPTIONS)
def test_an_assumption_that_fails_is_named(case):
    call, message = ASSUMPTIONS[case]
    with pytest.raises(AssumptionError, match=re.escape(message)):
        call()


def test_the_first_step_may_be_as_large_as_assumed():
    largest = float(np.linalg.eigvalsh(PROBLEMS["halving"]["A"])[-1])
    assert averaged_error_bound(9, **PROBLEMS["halving"], gamma0=1 / largest, a=0.0, c=0.0) > 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"t": 0}, "t=0 is not a whole number of 1 or more"),
        ({"gamma0": 0.0}, "gamma0=0.0 is not a positive finite number"),
        ({"a": -0.1}, "a=-0.1 is not a finite number of 0 or more"),
        ({"c": 1.2}, "c=1.2 is not between 0 and 1"),
        ({"A": [[0.5, 0.1], [0.0, 0.5]], "start_error": [1.0, 1.0]}, "A is not symmetric"),
        ({"S": [[-1.0]]}, "S is no covariance matrix: its smallest eigenvalue is -1"),
        ({"S": np.eye(2)}, "S has the shape (2, 2) where (1, 1) is wanted"),
        ({"start_error": [1.0, 2.0]}, "A has the shape (1, 1) where (2, 2) is wanted"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(changed, message):
    given = {"t": 9, **ONE, "gamma0": 1.0, "a": 0.1, "c": 0.5, **changed}
    with pytest.raises(ValueError, match=re.escape(message)):
        averaged_error_bound(**given)


def test_times_and_variances_that_make_no_sense_are_refused():
    given = {**ONE, "gamma0": 1.0, "a": 0.0, "c": 0.0}
    with pytest.raises(ValueError, match=r"t=0\.0 is not a whole number of 1 or more"):
        expected_errors([3, 0], **given)
    del given["S"]
    with pytest.raises(ValueError, match=r"noise=-1\.0 is not a finite number of 0 or more"):
        expected_regression_errors([1], **given, noise=-1.0)


def by_matrices(t, A, S, start_error, schedule):
    """E‖Δ_t‖²_A and E‖Δ̄_t‖²_A as sums over the noise of each step, from the products of Lemma 11."""
    steps, identity = schedule(np.arange(1, t + 1)), np.eye(len(A))
    last = averaged = 0.0
    for j in range(t + 1):
        # Δ_i as a function of Δ₀ (j = 0) or of ξ_j.
        product, total = (identity, 0.0 * identity) if j == 0 else (steps[j - 1] * identity,) * 2
        for gamma in steps[j:]:
            product = (identity - gamma * A) @ product
            total = total + product
        spread = np.outer(start_error, start_error) if j == 0 else S
        last += np.trace(product.T @ A @ product @ spread)
        averaged += np.trace(total.T @ A @ total @ spread) / t**2
    return last, averaged


@pytest.mark.parametrize("schedule", [Schedule(1.0, 0.0, 0.0), Schedule(0.8, 0.3, 2 / 3), Schedule(0.5, 2.0, 1.0)])
def test_the_recursion_agrees_with_products_of_matrices(schedule):
    problem, times = PROBLEMS["halving"], [40, 1, 2, 7]
    found = expected_errors(times, **problem, **schedule._asdict())
    expected = np.array([by_matrices(t, **problem, schedule=schedule) for t in times]).T
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_the_times_may_come_in_any_order_and_twice():
    given = {**PROBLEMS["halving"], "gamma0": 1.0, "a": 0.1, "c": 0.5}
    found = expected_errors([5, 3, 5], **given).averaged
    assert found[0] == found[2] == expected_errors([5], **given).averaged[0]
    assert found[1] == expected_errors([3], **given).averaged[0]


@pytest.mark.slow
def test_the_papers_first_experiment_has_its_known_expectations():
    """Section 6.1, over tr(A)/t, the expected excess of the mean of the samples."""
    times = np.array([1000, 10_000, 100_000])
    for a, c, which, expected in (
        (0.02, 2 / 3, "averaged", (4.27, 1.38, 1.05)),
        (1.0, 1 / 2, "averaged", (88.2, 56.7, 7.77)),
        (0.02, 1.0, "last", (16.2, 15.8, 15.7)),
    ):
        errors = getattr(expected_errors(times, **PROBLEMS["two levels"], gamma0=1.0, a=a, c=c), which)
        ratios = errors * times / np.trace(PROBLEMS["two levels"]["A"])
        assert [f"{ratio:.3g}" for ratio in ratios] == [f"{value:.3g}" for value in expected]


def test_simulated_regressions_have_the_expected_errors(rng):
    runs, times, noise = 2000, [1, 2, 5, 20, 100, 400], 0.5
    A = np.array([[1.0, 0.4, 0.0], [0.4, 0.5, 0.1], [0.0, 0.1, 0.2]])
    root, schedule = np.linalg.cholesky(A), Schedule(0.3, 0.05, 2 / 3)
    start = np.array([1.0, -2.0, 3.0])
    exact = expected_regression_errors(times, A=A, noise=noise, start_error=start, **schedule._asdict())
    error, total = np.tile(start, (runs, 1)), np.zeros((runs, 3))
    for t, gamma in enumerate(schedule(np.arange(1, times[-1] + 1)), 1):
        x = rng.standard_normal((runs, 3)) @ root.T
        residual = np.sum(x * error, axis=1) - np.sqrt(noise) * rng.standard_normal(runs)
        error = error - (gamma * residual)[:, None] * x
        total += error
        if t in times:
            for vectors, expected in ((error, exact.last), (total / t, exact.averaged)):
                squares = np.einsum("ri,ij,rj->r", vectors, A, vectors)
                assert abs(squares.mean() - expected[times.index(t)]) < 4 * squares.std() / np.sqrt(runs)


GIVEN = {"lambda0": 0.02, "gamma0": 0.5, "a": 0.02, "c": 2 / 3}
GRIDS = {
    "lambda0": ([0.01, 0.02, 0.03, 0.05], -1),
    "gamma0": ([0.01, 0.1, 0.5, 1.0], -1),
    "a": ([0.02, 0.03, 0.04, 0.05], 1),
}


@pytest.mark.parametrize("function", [asymptotic_samples, asymptotic_samples_as_printed])
@pytest.mark.parametrize("name", GRIDS)
def test_less_curvature_smaller_steps_and_a_sooner_fall_take_more_samples(name, function):
    grid, direction = GRIDS[name]
    found = [function(**{**GIVEN, name: value}) for value in grid]
    assert np.all(direction * np.diff(found) > 0)


def test_the_samples_scale_with_lambda0_if_a_does_too():
    counts = [asymptotic_samples_as_printed(lambda0=v, gamma0=0.1, a=v, c=0.75) * v * 0.1 for v in (0.001, 0.1, 1.0)]
    assert counts == pytest.approx([16.0] * 3)
    counts = [asymptotic_samples(lambda0=v, gamma0=1e-6, a=v, c=0.75) * v * 1e-6 for v in (0.001, 0.1, 1.0)]
    assert counts == pytest.approx([counts[0]] * 3, rel=1e-5)


@pytest.mark.parametrize("c", [0.3, 0.5, 2 / 3, 0.75])
@pytest.mark.parametrize("a", [0.02, 0.03])
def test_the_second_term_is_as_large_as_the_first_there(a, c):
    given = {"A": [[0.02]], "S": [[1.0]], "start_error": [0.0], "gamma0": 0.5, "a": a, "c": c}
    t = asymptotic_samples(lambda0=0.02, gamma0=0.5, a=a, c=c)
    assert t > 100
    around = [int(t) * averaged_error_bound(int(t), **given), int(t + 1) * averaged_error_bound(int(t + 1), **given)]
    asymptote = 1.0 / 0.02
    assert around[0] >= 2 * asymptote >= around[1]


def test_constant_steps_need_no_samples():
    for a, c in ((0.0, 0.5), (0.1, 0.0), (0.001, 0.5)):
        assert asymptotic_samples(lambda0=0.02, gamma0=1.0, a=a, c=c) == 0.0
    assert asymptotic_samples_as_printed(lambda0=0.02, gamma0=1.0, a=0.0, c=0.5) == 0.0


@pytest.mark.parametrize("function", [asymptotic_samples, asymptotic_samples_as_printed])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"c": 1.0, "a": 0.01}, "Corollary 4 assumes c < 1; found c=1: the second term never falls"),
        ({"a": 0.1}, "Theorem 1 assumes (2c − 1)a < λ₀; found (2c − 1)a = 0.03333 (a=0.1, c=0.666667) and λ₀ = 0.02"),
        ({"gamma0": 60.0}, "Theorem 1 assumes γ₀λ₁ ≤ 1; found γ₀λ₁ = 1.2"),
    ],
)
def test_samples_are_refused_where_theorem_1_says_nothing(function, changed, message):
    with pytest.raises(AssumptionError, match=re.escape(message)):
        function(**{**GIVEN, **changed})


@pytest.mark.parametrize("name", names(Loss, losses))
def test_the_recipe_is_the_papers_for_every_loss(name):
    expected = Schedule(1 / 40.0, 0.01, 2 / 3 if name == "squared" else 3 / 4)
    assert recommended_schedule(name, M=40.0, lambda0=0.01) == expected
    assert recommended_schedule(names(Loss, losses)[name](), M=40.0, lambda0=0.01) == expected


def test_the_recipe_is_what_the_step_size_rule_takes():
    schedule, t = recommended_schedule("squared", M=3.0, lambda0=0.1), np.arange(1, 1000)
    np.testing.assert_allclose(Xu(*schedule)(t), schedule(t), rtol=1e-14)


def test_the_recipe_refuses_what_makes_no_sense():
    with pytest.raises(AssumptionError, match=re.escape("λ₀/M = 50 (lambda0=0.1, M=0.002): scale the features up")):
        recommended_schedule("hinge", M=0.002, lambda0=0.1)
    with pytest.raises(ValueError, match=r"unknown loss 'squred'\. Did you mean 'squared'\?"):
        recommended_schedule("squred", M=1.0, lambda0=0.1)
    with pytest.raises(ValueError, match=r"loss=2 is neither a name nor a sgdone\.losses\.Loss"):
        recommended_schedule(2, M=1.0, lambda0=0.1)
    with pytest.raises(ValueError, match=r"M=0\.0 is not a positive finite number"):
        recommended_schedule("hinge", M=0.0, lambda0=0.1)


@pytest.mark.parametrize(("factor", "diverges"), [(1.02, True), (0.98, False)])
def test_constant_steps_diverge_beyond_lemma_12_alone(factor, diverges, rng):
    M, features, runs = 5.0, 4, 300
    gamma = factor * divergence_step(M)
    error = np.full((runs, features), 0.5)
    sizes = []
    for _ in range(2000):
        x = rng.standard_normal((runs, features))
        x *= np.sqrt(M / np.sum(x * x, axis=1))[:, None]
        residual = np.sum(x * error, axis=1) - 0.1 * rng.standard_normal(runs)
        error = error - (gamma * residual)[:, None] * x
        sizes.append(np.mean(np.sum(error**2, axis=1)))
    if diverges:
        assert sizes[-1] > 1e6 * sizes[999] > 1e12
    else:
        # 1 − (2γ − Mγ²)M/d shrinks, γ²·tr(S) = γ²·0.1²·M is added.
        limit = gamma * 0.01 * features / (2 - M * gamma)
        assert np.mean(sizes[1000:]) == pytest.approx(limit, rel=0.1)
