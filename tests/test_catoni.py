"""Catoni's location: verified in extended precision, its limits, its robustness, and errors."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.diagnose import catoni_location
from tiers import examples

mpf = mpmath.mpf
ROOT2 = math.sqrt(2.0)
finite = st.floats(-1e6, 1e6)


def influence_sum(theta, values, scale):
    """Σψ((θ − v)/s) to fifty digits."""
    root = mpmath.sqrt(2)
    total = mpf(0)
    for v in values:
        u = max(-root, min(root, (theta - mpf(v)) / mpf(scale)))
        total += u - u**3 / 6
    return total


def certify(values, scale):
    """The sum changes its sign within 1e-12 of the answer, relative to it or to the scale."""
    found = catoni_location(values, scale)
    assert min(values) <= found <= max(values)
    with mpmath.workdps(50):
        theta, slack = mpf(found), mpf("1e-12") * max(abs(mpf(found)), mpf(scale))
        assert influence_sum(theta - slack, values, scale) <= 0 <= influence_sum(theta + slack, values, scale)
    return found


def random_sets(rng, n_sets=300):
    for i in range(n_sets):
        n = int(rng.integers(1, 40))
        kind = i % 5
        values = [
            rng.normal(size=n),
            rng.standard_cauchy(n) * 10 ** rng.uniform(-3, 3),
            rng.integers(0, 4, n).astype(float),
            1e12 + rng.normal(size=n),
            np.concatenate([rng.normal(size=n), [1e300, -1e280]]),
        ][kind]
        yield values, 10 ** rng.uniform(-6, 6)


def test_it_is_a_root_to_twelve_digits_of_many_sets():
    for values, scale in random_sets(np.random.default_rng(0)):
        certify(values, scale)


def test_it_is_a_root_where_almost_every_influence_is_full():
    rng = np.random.default_rng(1)
    for _ in range(200):
        # Gaps of about 2√2·s in the middle: there the sum is nearly flat.
        gap = 2.0 * ROOT2 * (1.0 - 10 ** rng.uniform(-15, -1))
        certify(np.array([0.0, gap]) + rng.normal(), 1.0)
        certify(np.array([-9.0, 0.0, gap, 20.0]) * 3.0 + rng.normal(), 3.0)
        certify(np.array([-3.0, 0.0, 0.0, gap, gap + rng.uniform(0, 1e-6), 50.0]), 1.0)


@examples(150)
@given(st.lists(finite, min_size=1, max_size=12), st.floats(1e-9, 1e9))
def test_it_is_a_root_of_whatever_is_thought_of(values, scale):
    certify(values, scale)


@examples(100)
@given(st.lists(finite, min_size=1, max_size=12), st.floats(1e-6, 1e6), finite)
def test_it_moves_and_turns_with_the_values(values, scale, shift):
    values = np.array(values)
    size = 1e-12 * (1.0 + np.abs(values).max() + abs(shift) + scale)
    assert catoni_location(-values, scale) == pytest.approx(-catoni_location(values, scale), abs=size)
    assert catoni_location(values + shift, scale) == pytest.approx(catoni_location(values, scale) + shift, abs=size)
    assert catoni_location(2.0 * values, 2.0 * scale) == pytest.approx(2.0 * catoni_location(values, scale), abs=size)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 101, 500])
def test_a_small_scale_gives_the_median(n):
    values = np.random.default_rng(n).standard_cauchy(n)
    smallest_gap = np.diff(np.sort(values)).min(initial=1.0)
    assert catoni_location(values, 0.4 * smallest_gap / ROOT2) == pytest.approx(np.median(values), abs=1e-15)
    for scale in (1e-9, 1e-3, 1.0):
        middle = np.sort(values)[[(n - 1) // 2, n // 2]]
        assert middle[0] - ROOT2 * scale <= catoni_location(values, scale) <= middle[1] + ROOT2 * scale


@pytest.mark.parametrize("n", [1, 2, 3, 100, 5000])
def test_a_large_scale_gives_the_mean_at_the_rate_of_its_square(n):
    values = np.random.default_rng(n).exponential(size=n)
    for scale in (1e3, 1e5, 1e7):
        bound = max(np.mean(np.abs(edge - values) ** 3) for edge in (values.min(), values.max())) / (6 * scale**2)
        assert abs(catoni_location(values, scale) - values.mean()) <= bound + 1e-14
    for scale in (1e12, 1e200, 1e308):
        assert catoni_location(values, scale) == pytest.approx(values.mean(), rel=1e-14)


@pytest.mark.parametrize("n", [49, 50, 100, 1000])
def test_one_outlier_moves_it_by_no_more_than_the_scale_over_the_root_of_n(n):
    rng = np.random.default_rng(n)
    largest = 0.0
    for scale in (1.2, 1.5, 3.0, 10.0):
        values = rng.normal(size=n)
        before = catoni_location(values, scale)
        assert np.count_nonzero(np.abs(before - values) <= scale * ROOT2 / 2) >= n / 2 > 24
        for i in (0, int(values.argmin()), int(values.argmax())):
            for wild in (-1e300, -50.0, 0.0, 50.0, 1e300):
                moved = values.copy()
                moved[i] = wild
                largest = max(largest, abs(catoni_location(moved, scale) - before) * math.sqrt(n) / scale)
    print(f"n = {n}: one wild point moves it by {largest:.3f} s/√n at most")
    assert 0.0 < largest <= 1.0


def test_the_worst_case_of_stability_uses_two_thirds_of_its_bound():
    # Half of the values at the edge of the set that counts, the others beyond all influence, one crossing over.
    values = np.repeat([-1e9, -0.7, 0.7, 1e9], [12, 13, 13, 12])
    moved = np.repeat([-1e9, -0.7, 0.7, 1e9], [11, 13, 13, 13])
    shift = catoni_location(moved, 1.0) - catoni_location(values, 1.0)
    assert 0.65 < shift * math.sqrt(50) < 0.75


def test_all_values_equal_and_a_single_one_are_themselves():
    for value in (0.0, -3.7, 1e-320, 1e308, -1.7e308):
        for scale in (5e-324, 1.0, 1e308):
            assert catoni_location([value], scale) == value
            assert catoni_location([value] * 7, scale) == value
            assert catoni_location(np.full(10, value), scale) == value


def test_the_ends_of_the_range_of_floats():
    largest = np.finfo(float).max
    assert catoni_location([-largest, largest], 1.0) == 0.0
    assert catoni_location([-largest, 3.0, largest], 1e-300) == 3.0
    assert catoni_location([largest, largest, -largest], largest) == pytest.approx(
        largest * catoni_location([1.0, 1.0, -1.0], 1.0), rel=1e-12
    )
    assert catoni_location([0.0, 1e-310, 5e-310], 1e300) == pytest.approx(2e-310, rel=1e-9)
    assert catoni_location([1.0, 2.0, 4.0], 5e-324) == 2.0


@pytest.mark.slow
def test_a_million_values_take_a_few_passes():
    values = np.random.default_rng(3).standard_t(2, size=1_000_000)
    counted = catoni_location(values, 3.0)
    u = np.clip((counted - values) / 3.0, -ROOT2, ROOT2)
    assert abs(np.sum(u - u**3 / 6)) <= 1e-8
    assert catoni_location(values[::-1], 3.0) == pytest.approx(counted, abs=1e-14)


def test_ties_keep_it_from_the_median_at_every_scale():
    # Proposition 2.1 as printed says otherwise: two zeros pull no harder than one 1 at u = 2√2·sin(arcsin(½)/3).
    for scale in (1e-9, 1e-3, 0.1):
        found = catoni_location([0.0, 0.0, 1.0], scale)
        assert found == pytest.approx(scale * 2 * ROOT2 * math.sin(math.asin(0.5) / 3), rel=1e-12)
        assert found > 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "values is empty"),
        ([1.0, math.nan, 2.0], r"values\[1\] is nan; 1 of 3 values are NaN or infinite"),
        ([1.0, 2.0, -math.inf], r"values\[2\] is -inf"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        (3.0, r"shape \(\)"),
    ],
)
def test_values_it_cannot_use(values, message):
    with pytest.raises(ValueError, match=message):
        catoni_location(values, 1.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_scales_it_cannot_use(scale):
    with pytest.raises(ValueError, match=r"scale=.* is not a positive finite number"):
        catoni_location([1.0, 2.0], scale)
