"""Corollaries 6 and 9 of Xu (2011) on problems whose constants can be proved."""

import re

import numpy as np
import pytest

from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.averaging.theory import (
    Schedule,
    averaged_error_bound,
    general_error_bound,
    gradient_noise_constant,
    regression_error_bound,
)

TIMES = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000]
#: Rows √M·e_i at the odds λ_i/M, so that E[xxᵀ] = diag(λ) and ‖x‖² = M.
EIGENVALUES = np.array([1.0, 0.5, 0.3, 0.2])
M, NOISE, START = float(EIGENVALUES.sum()), 0.4, np.array([3.0, -1.0, 2.0, 5.0])


def regression_constants(schedule):
    """c₁, c₂ and c₃ of the design above.

    As γ ≤ 1/M, γ_{i+1}E‖Δ_i‖²_A ≤ E‖Δ_i‖² − E‖Δ_{i+1}‖² + γ²_{i+1}tr(S). Divide by γ_{i+1}, sum over i = 0, …, t, and
    use 1/γ_{i+1} − 1/γ_i ≤ ac and ‖Δ‖² ≤ ‖Δ‖²_A/λ₀; the step γ_{t+1} is at most γ_t.
    """
    lambda0 = EIGENVALUES.min()
    kept = 1.0 - schedule.a * schedule.c / lambda0
    return {
        "c1": gradient_noise_constant(M, lambda0),
        "c2": 1.0 / (lambda0 * float(schedule(np.array(1))) * kept),
        "c3": 2.0 * NOISE * M / kept,
    }


def exact_regression(schedule, times):
    """E‖Δ̄_t‖²_A and the sum of E‖Δ_i‖²_A up to t, for x = √M·e_i and noise independent of it."""
    second = START**2
    mixed, total, sum_of_errors = np.zeros(4), np.zeros(4), 0.0
    found = {}
    for t, gamma in enumerate(schedule(np.arange(1, max(times) + 1)), 1):
        second = (1 - 2 * gamma * EIGENVALUES + gamma**2 * M * EIGENVALUES) * second + gamma**2 * EIGENVALUES * NOISE
        carried = (1 - gamma * EIGENVALUES) * mixed
        total = total + 2 * carried + second
        mixed = carried + second
        sum_of_errors += EIGENVALUES @ second
        if t in times:
            found[t] = EIGENVALUES @ total / t**2, sum_of_errors
    return np.array([found[t] for t in times]).T


@pytest.mark.slow
@pytest.mark.parametrize("c", [0.5, 2 / 3, 0.75])
@pytest.mark.parametrize("gamma0", [1 / M, 0.1 / M])
def test_the_expected_error_is_within_corollary_6(gamma0, c):
    schedule = Schedule(gamma0, EIGENVALUES.min(), c)
    constants = regression_constants(schedule)
    errors, sums = exact_regression(schedule, TIMES)
    A = np.diag(EIGENVALUES)
    bounds = [
        regression_error_bound(t, A=A, S=NOISE * A, start_error=START, **schedule._asdict(), **constants) for t in TIMES
    ]
    assert np.all(errors <= bounds)
    cumulated = np.cumsum(schedule(np.arange(1, max(TIMES) + 1)))[np.array(TIMES) - 1]
    assert np.all(sums <= constants["c2"] * (START**2 @ EIGENVALUES) + constants["c3"] * cumulated), "assumption (10)"


def test_the_noise_away_from_the_optimum_is_within_lemma_7(rng):
    """E‖ξ⁽²⁾‖²_{A⁻¹} = Δᵀ(E[xxᵀA⁻¹xxᵀ] − A)Δ over rows of at most M, of any law."""
    X = rng.standard_normal((500, 4)) * [1.0, 0.7, 0.3, 0.2]
    X *= np.sqrt(rng.random(500) * 2.0 / np.sum(X * X, axis=1))[:, None]
    A = X.T @ X / 500
    fourth = np.einsum("ni,nj,n->ij", X, X, np.sum(X @ np.linalg.inv(A) * X, axis=1)) / 500
    constant = gradient_noise_constant(2.0, np.linalg.eigvalsh(A)[0])
    assert np.linalg.eigvalsh(constant * A - (fourth - A))[0] >= 0


def bowl(error):
    """The expected gradient of ¼Δ² + ½log cosh Δ: curvature 1 at the optimum and ½ at least."""
    return 0.5 * error + 0.5 * np.tanh(error)


VARIANCE = 0.25
GENERAL = {"A": [[1.0]], "S": [[VARIANCE]], "start_error": [1.0], "gamma0": 1.0, "a": 0.5, "c": 0.75}


def general_constants(t):
    """c₁ to c₆ of that bowl with noise ±√s and Δ₀ = 1.

    |Δ − γh(Δ)| ≤ (1 − γ/2)|Δ| and γ ≤ 1 make ¾γ_{i+1}EΔ_i² ≤ EΔ_i² − EΔ_{i+1}² + γ²_{i+1}s; then as for the regression,
    with ac/¾ = ½. Fourth moments gain 6γ²s·EΔ_i² + γ⁴s² a step instead, and Σγ_{i+1}EΔ_i² ≤ (Δ₀² + sΣγ²)/¾.
    """
    steps = Schedule(1.0, 0.5, 0.75)(np.array([1, t]))
    grid = np.linspace(1e-3, 50.0, 1_000_000)
    return {
        "c1": 0.0,
        "c2": 2.0 / (0.75 * steps[1]),
        "c3": 2.0 * 2.0 * VARIANCE / 0.75,
        "c4": 1.0001 * float(np.max((grid - bowl(grid)) / grid**2)),
        "c5": 2.0 / (0.75 * steps[0]) + 2.0 * 6.0 * VARIANCE / 0.75**2,
        "c6": 2.0 * 2.0 * (6.0 * VARIANCE**2 / 0.75**2 + VARIANCE**2 / 0.75),
    }


def test_simulated_runs_are_within_corollary_9(rng):
    runs, times = 400, [1, 3, 10, 30, 100, 300, 1000, 3000]
    steps = Schedule(1.0, 0.5, 0.75)(np.arange(1, times[-1] + 1))
    error, total = np.ones(runs), np.zeros(runs)
    squares = fourths = 0.0
    for t, gamma in enumerate(steps, 1):
        error = error - gamma * (bowl(error) + np.sqrt(VARIANCE) * rng.choice([-1.0, 1.0], runs))
        total += error
        squares, fourths = squares + np.mean(error**2), fourths + np.mean(error**4)
        if t in times:
            constants, cumulated = general_constants(t), steps[:t].sum()
            assert squares <= constants["c2"] + constants["c3"] * cumulated, "assumption (10)"
            assert fourths <= constants["c5"] + constants["c6"] * cumulated, "assumption (13)"
            means = (total / t) ** 2
            highest = means.mean() + 3 * means.std() / np.sqrt(runs)
            assert highest <= general_error_bound(t, **GENERAL, **constants)


NONE = dict.fromkeys(("c1", "c2", "c3", "c4", "c5", "c6"), 0.0)


def test_both_bounds_are_sums_of_the_printed_parts():
    t, gamma0, a, c, c0 = 50, 1.0, 0.5, 0.75, 0.5 * 0.75 * 1.375 / 0.75
    c1, c2, c3, c4, c5, c6 = 0.3, 0.7, 1.1, 1.3, 1.7, 1.9
    parts = [
        (1 + c0) ** 2 / t,
        (1 + (2 * c0 + c0**2) * 26**-0.25 / 0.75) * VARIANCE,
        (1 + c0) ** 2 * c1 * ((1 + c2) / t + c3 / 0.25 * 26**-0.75),
    ]
    given = {**GENERAL, "gamma0": gamma0, "a": a, "c": c}
    assert regression_error_bound(t, **given, c1=c1, c2=c2, c3=c3) == pytest.approx(sum(np.sqrt(parts)) ** 2 / t)
    sums = np.sum((1 + 0.5 * np.arange(1, t + 1)) ** -0.75)
    inside = (1 + 2 * c2) * (1 + c5) + (2 * (1 + c2) * c3 + (1 + 2 * c2) * c6) * sums + c3**2 * sums**2
    parts.append((1 + c0) ** 2 * c4**2 / t * inside)
    found = general_error_bound(t, **given, c1=c1, c2=c2, c3=c3, c4=c4, c5=c5, c6=c6)
    assert found == pytest.approx(sum(np.sqrt(parts)) ** 2 / t)


def test_without_further_noise_the_bounds_are_of_theorem_1s_size():
    linear = averaged_error_bound(100, **GENERAL)
    assert linear < general_error_bound(100, **GENERAL, **NONE) < 2 * linear
    assert general_error_bound(100, **GENERAL, **NONE) == regression_error_bound(100, **GENERAL, c1=0, c2=0, c3=0)


def test_the_bend_at_the_start_counts():
    """With one exact step to the optimum c₂ = c₅ = 0 will do, and Lemma 8 as printed leaves nothing of ξ⁽³⁾."""
    assert general_error_bound(1, **GENERAL, **{**NONE, "c4": 1.0}) > general_error_bound(1, **GENERAL, **NONE)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regression_error_bound(9, **{**GENERAL, "c": 1.0}, c1=1, c2=1, c3=1), "Lemma 5 assumes c < 1"),
        (lambda: general_error_bound(9, **{**GENERAL, "c": 0.5}, **NONE), "Corollary 9 assumes ½ < c < 1; found c=0.5"),
        (lambda: general_error_bound(9, **{**GENERAL, "gamma0": 2.0}, **NONE), "Theorem 1 assumes γ₀λ₁ ≤ 1"),
        (lambda: gradient_noise_constant(1.0, 2.0), "‖x‖² ≤ M makes λ₀ ≤ M; found lambda0=2, M=1"),
    ],
)
def test_an_assumption_that_fails_is_named(call, message):
    with pytest.raises(AssumptionError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("name", NONE)
def test_constants_are_not_negative(name):
    with pytest.raises(ValueError, match=f"{name}=-1 is not a finite number of 0 or more"):
        general_error_bound(9, **GENERAL, **{**NONE, name: -1})
