"""Theorem 8 of Chee & Toulis on a design whose constants are exact."""

import re

import numpy as np
import pytest

from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.diagnostics.theory import isgd_error_bound

FEATURES, RUNS, NOISE = 4, 2000, 0.5


def constants(small, large):
    """x of length √small or √large at equal odds, in a direction drawn uniformly; noise of variance NOISE."""
    return {
        "trace_min": small,
        "trace_max": large,
        "curvature_min": (small + large) / 2 / FEATURES,
        "lipschitz": np.sqrt((small**2 + large**2) / 2 / FEATURES),
        "gradient_noise": NOISE * (small + large) / 2,
    }


@pytest.mark.parametrize(("small", "large", "gamma"), [(4.0, 4.0, 0.02), (4.0, 4.0, 0.2), (2.0, 6.0, 0.05)])
def test_the_bound_holds_on_simulated_runs(small, large, gamma, rng):
    theta = np.full((RUNS, FEATURES), 1.5)  # θ* = 0
    start = 1.5**2 * FEATURES
    for n in range(301):
        if n in (0, 1, 3, 10, 30, 100, 300):
            squares = np.sum(theta**2, axis=1)
            highest = squares.mean() + 3 * squares.std() / np.sqrt(RUNS)
            assert highest <= isgd_error_bound(n, start, gamma, **constants(small, large))
        x = rng.standard_normal((RUNS, FEATURES))
        x *= np.sqrt(rng.choice([small, large], RUNS) / np.sum(x * x, axis=1))[:, None]
        residual = np.sqrt(NOISE) * rng.standard_normal(RUNS) - np.sum(x * theta, axis=1)
        theta += (gamma * residual / (1 + gamma * np.sum(x * x, axis=1)))[:, None] * x


def test_the_bound_is_the_limit_of_the_proofs_recursion():
    given, gamma = constants(2.0, 6.0), 0.05
    factor = 1 - 2 * gamma * 1.0 / (1 + gamma * 6) + 2 * gamma**2 * 5.0 / (1 + gamma * 2) ** 2
    added = 2 * gamma**2 * given["gradient_noise"] / (1 + gamma * 2) ** 2
    assert isgd_error_bound(7, 3.0, gamma, **given) == pytest.approx(factor**7 * 3.0 + added / (1 - factor))


REFUSED = {
    "(e)": ({}, {"gamma": 0.5}, "assumption (e) of Theorem 8 is γL²(1 + γt) < λ(1 + γb)²; found 10 on the left and "
                                "4 on the right at gamma=0.5: take a smaller step"),
    "(b)": ({"trace_max": 1.0}, {}, "assumption (b) of Theorem 8 is trace_min ≤ trace_max; found trace_min=2, "),
    "(d)": ({"lipschitz": 0.5}, {}, "curvature_min at most lipschitz and at most trace_max; found curvature_min=1, "),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_assumption_that_fails_is_named(case):
    changed, arguments, message = REFUSED[case]
    given = {**constants(2.0, 6.0), **changed}
    with pytest.raises(AssumptionError, match=re.escape(message)):
        isgd_error_bound(10, 1.0, arguments.get("gamma", 0.05), **given)


def test_the_number_of_steps_is_whole():
    with pytest.raises(ValueError, match=re.escape("n=-1 is not a whole number of 0 or more")):
        isgd_error_bound(-1, 1.0, 0.05, **constants(2.0, 6.0))
