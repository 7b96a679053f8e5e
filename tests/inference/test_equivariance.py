"""Units, origins and the order of rows do not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.summary_problems import (
    assert_within,
    classifier_summary,
    groups_of,
    regressor_summary,
    several_classes,
    targets,
    two_classes,
)
from tiers import examples

COVARIANCES = st.sampled_from(["robust", "classical", "cluster"])
SEEDS = st.integers(0, 2**16)
FACTORS = st.lists(
    st.tuples(st.floats(-12, 12), st.booleans()).map(lambda pair: (-1.0) ** pair[1] * 10.0 ** pair[0]),
    min_size=3,
    max_size=3,
).map(np.array)
SHIFTS = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3).map(np.array)
TASKS = {
    "two classes": (two_classes, classifier_summary, 1),
    "several classes": (lambda n_rows, n_features, seed: several_classes(3, n_rows, 3, seed), classifier_summary, 2),
    "numbers": (targets, regressor_summary, 1),
}
EACH_TASK = pytest.mark.parametrize("task", TASKS)


def of(task, seed, cov):
    """A problem with its options."""
    problem, summarise, outputs = TASKS[task]
    X, y = problem(300, 3, seed)
    return X, y, {"cov": cov, "groups": groups_of(300) if cov == "cluster" else None}, summarise, outputs


@EACH_TASK
@examples(4)
@given(SEEDS, COVARIANCES, FACTORS)
def test_a_column_in_other_units_has_its_coefficient_and_error_in_them(task, seed, cov, factors):
    X, y, options, summarise, outputs = of(task, seed, cov)
    before, after = summarise(X, y, **options), summarise(X * factors, y, **options)
    units = np.tile(np.append(1.0, factors), outputs)
    assert_within(after.coef * units, before.coef, before.std_err, 1e-7)
    np.testing.assert_allclose(after.std_err * np.abs(units), before.std_err, rtol=1e-7)


@EACH_TASK
@examples(4)
@given(SEEDS, COVARIANCES, SHIFTS)
def test_another_origin_moves_the_intercept_only(task, seed, cov, shifts):
    X, y, options, summarise, outputs = of(task, seed, cov)
    before, after = summarise(X, y, **options), summarise(X + shifts, y, **options)
    for k in range(outputs):
        own = slice(4 * k + 1, 4 * k + 4)
        assert_within(after.coef[own], before.coef[own], before.std_err[own], 1e-7)
        np.testing.assert_allclose(after.std_err[own], before.std_err[own], rtol=1e-7)
        # At the former origin: β₀ + shift·β.
        back = np.zeros(len(after))
        back[4 * k], back[own] = 1.0, shifts
        found = after.wald(back)
        assert_within(found.estimate, before.coef[4 * k], before.std_err[4 * k], 1e-6)
        np.testing.assert_allclose(found.std_err, before.std_err[4 * k], rtol=1e-6)


@EACH_TASK
@examples(4)
@given(SEEDS, COVARIANCES)
def test_rows_in_another_order(task, seed, cov):
    X, y, options, summarise, _ = of(task, seed, cov)
    order = np.random.default_rng(seed).permutation(len(y))
    again = options | {"groups": None if options["groups"] is None else options["groups"][order]}
    before, after = summarise(X, y, **options), summarise(X[order], y[order], **again)
    assert_within(after.coef, before.coef, before.std_err, 1e-9)
    np.testing.assert_allclose(after.std_err, before.std_err, rtol=1e-9)
