"""Theorem 1 and eq. (8) of Xu (2011) beside exact expectations and simulated runs."""

import re

import numpy as np
import pytest
from averaging_problems import PROBLEMS, simulated, smallest

from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.averaging.theory import Schedule, averaged_error_bound, expected_errors, sgd_error_bound

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
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_expected_error_of_the_average_is_within_theorem_1(name, steps):
    schedule = SCHEDULES[steps](smallest(name))._asdict()
    exact = expected_errors(TIMES, **PROBLEMS[name], **schedule).averaged
    bounds = np.array([averaged_error_bound(t, **PROBLEMS[name], **schedule) for t in TIMES])
    assert np.all(exact <= bounds)


@pytest.mark.parametrize("gamma0", [1.0, 0.05])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_expected_error_of_the_last_iterate_is_within_equation_8(name, gamma0):
    exact = expected_errors(TIMES, **PROBLEMS[name], gamma0=gamma0, a=smallest(name), c=1.0).last
    bounds = np.array([sgd_error_bound(t, **PROBLEMS[name], gamma0=gamma0) for t in TIMES])
    assert np.all(exact <= bounds)


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
        ({"t": 2.5}, "t=2.5 is not a whole number of 1 or more"),
        ({"gamma0": 0.0}, "gamma0=0.0 is not a positive finite number"),
        ({"a": -0.1}, "a=-0.1 is not a finite number of 0 or more"),
        ({"c": 1.2}, "c=1.2 is not between 0 and 1"),
        ({"A": [[0.5, 0.1], [0.0, 0.5]], "start_error": [1.0, 1.0]}, "A is not symmetric"),
        ({"S": [[-1.0]]}, "S is no covariance matrix: its smallest eigenvalue is -1"),
        ({"S": np.eye(2)}, "S has the shape (2, 2) where (1, 1) is wanted"),
        ({"start_error": [1.0, 2.0]}, "A has the shape (1, 1) where (2, 2) is wanted"),
        ({"start_error": 1.0}, "start_error has the shape () where a vector is wanted"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(changed, message):
    given = {"t": 9, **ONE, "gamma0": 1.0, "a": 0.1, "c": 0.5, **changed}
    with pytest.raises(ValueError, match=re.escape(message)):
        averaged_error_bound(**given)
