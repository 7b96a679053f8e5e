"""Units, origins and the order of rows do not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.summary_problems import (
    assert_within,
    classifier_summary,
    groups_of,
    kinds,
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


def known_in_both(before, after, intercepts=True):
    """Coefficients that are not refused; slopes, and unless their origin moves intercepts, are refused in both."""
    refused, again = (
        {name: kind for name, kind in kinds(summary).items() if intercepts or not name.endswith("(intercept)")}
        for summary in (before, after)
    )
    assert again == refused
    return np.isfinite(before.std_err) & np.isfinite(after.std_err)


@EACH_TASK
@examples(4)
@given(SEEDS, COVARIANCES, FACTORS)
def test_a_column_in_other_units_has_its_coefficient_and_error_in_them(task, seed, cov, factors):
    X, y, options, summarise, outputs = of(task, seed, cov)
    before, after = summarise(X, y, **options), summarise(X * factors, y, **options)
    known, units = known_in_both(before, after), np.tile(np.append(1.0, factors), outputs)
    assert_within((after.coef * units)[known], before.coef[known], before.std_err[known], 1e-7)
    np.testing.assert_allclose((after.std_err * np.abs(units))[known], before.std_err[known], rtol=1e-7)


@EACH_TASK
@examples(4)
@given(SEEDS, COVARIANCES, SHIFTS)
def test_another_origin_moves_the_intercept_only(task, seed, cov, shifts):
    X, y, options, summarise, outputs = of(task, seed, cov)
    before, after = summarise(X, y, **options), summarise(X + shifts, y, **options)
    known = known_in_both(before, after, intercepts=False)
    for first in range(0, 4 * outputs, 4):
        own = first + 1 + np.flatnonzero(known[first + 1 : first + 4])
        assert_within(after.coef[own], before.coef[own], before.std_err[own], 1e-7)
        np.testing.assert_allclose(after.std_err[own], before.std_err[own], rtol=1e-7)
        if known[first : first + 4].all():
            # At the former origin: β₀ + shift·β.
            back = np.zeros(len(after))
            back[first], back[own] = 1.0, shifts
            found = after.wald(back)
            assert_within(found.estimate, before.coef[first], before.std_err[first], 1e-6)
            np.testing.assert_allclose(found.std_err, before.std_err[first], rtol=1e-6)


@EACH_TASK
@examples(4)
@given(SEEDS, COVARIANCES)
def test_rows_in_another_order(task, seed, cov):
    X, y, options, summarise, _ = of(task, seed, cov)
    order = np.random.default_rng(seed).permutation(len(y))
    again = options | {"groups": None if options["groups"] is None else options["groups"][order]}
    before, after = summarise(X, y, **options), summarise(X[order], y[order], **again)
    known = known_in_both(before, after)
    assert_within(after.coef[known], before.coef[known], before.std_err[known], 1e-9)
    np.testing.assert_allclose(after.std_err[known], before.std_err[known], rtol=1e-9)
