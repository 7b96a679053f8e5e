"""Expected errors by recursion, beside products of matrices and simulated regressions."""

import re

import numpy as np
import pytest
from averaging_problems import PROBLEMS

from sgdone.papers.averaging.theory import Schedule, expected_errors, expected_regression_errors


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


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([3, 0], "t=0.0 is not a whole number of 1 or more"),
        ([1.5], "t=1.5 is not a whole number of 1 or more"),
        ([], "t has the shape (0,) where a vector is wanted"),
        (7, "t has the shape () where a vector is wanted"),
    ],
)
def test_times_that_make_no_sense_are_refused(times, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        expected_errors(times, A=[[1.0]], S=[[1.0]], start_error=[1.0], gamma0=1.0, a=0.0, c=0.0)


def test_a_negative_variance_is_refused():
    with pytest.raises(ValueError, match=re.escape("noise=-1.0 is not a finite number of 0 or more")):
        expected_regression_errors([1], A=[[1.0]], noise=-1.0, start_error=[1.0], gamma0=1.0, a=0.0, c=0.0)
