"""H, Ψ and its inverse against direct minimisation, the cubics, Catoni's location, and the bound on the risk."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sgdone.diagnose import catoni_location
from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.margin_pursuit.theory import (
    Cubic,
    conditional_risk_minimiser,
    conditional_risk_minimum,
    cubic_condition,
    cubic_roots,
    excess_risk_bound,
    excess_surrogate_risk_bound,
    location_deviation,
    location_deviation_as_printed,
    location_deviation_at_scale,
    location_scale,
    mean_distance_bound,
    median_scale,
    one_value_shift_bound,
    psi,
    psi_inverse,
    psi_transform,
    rho,
)

ROOT2 = math.sqrt(2.0)
STEEPEST = 2.0 * ROOT2 / 3.0
POINTS = 10_000


def phi(u, gamma, scale):
    """The loss in the precision of its arguments, straight from eq. (4)."""
    distance = np.abs(gamma - u) / scale
    root = np.sqrt(distance.dtype.type(2))
    near = np.minimum(distance, root)
    half = distance.dtype.type(1) / 2
    return scale**2 * np.where(distance > root, distance * 2 * root / 3 - half, near**2 / 2 - near**4 / 24)


def directly(eta, gamma, scale):
    """H and Ψ by ternary search for the least of ηφ(u) + (1 − η)φ(−u) over [−γ, γ], in extended precision."""
    eta, gamma, scale = (np.asarray(x, dtype=np.longdouble) for x in (eta, gamma, scale))

    def expected(u):
        return eta * phi(u, gamma, scale) + (1 - eta) * phi(-u, gamma, scale)

    low, high = -gamma, gamma
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        better = expected(left) <= expected(right)
        low, high = np.where(better, low, left), np.where(better, right, high)
    least = expected((low + high) / 2)
    return least, phi(np.longdouble(0), gamma, scale) - least


def random_problems(rng, n=POINTS):
    """u, γ and s in all cases: γ/s below √2/2, between, about √2 and above; u also near 0 and 1."""
    u = np.where(rng.random(n) < 0.7, rng.uniform(0, 1, n), 10 ** rng.uniform(-6, 0, n))
    u = np.where(rng.random(n) < 0.1, 1 - u, u)
    scale = 10 ** rng.uniform(-1, 1, n)
    level = np.select(
        [rng.random(n) < 0.25, rng.random(n) < 0.33, rng.random(n) < 0.5],
        [rng.uniform(0.001, ROOT2 / 2, n), rng.uniform(ROOT2 / 2, ROOT2, n), ROOT2 + rng.normal(0, 1e-3, n)],
        rng.uniform(ROOT2, 20, n),
    )
    return u, level * scale, scale


@pytest.mark.slow
def test_psi_transform_equals_direct_minimisation_at_ten_thousand_points(record_property):
    u, gamma, scale = random_problems(np.random.default_rng(0))
    least, excess = directly((1 + u) / 2, gamma, scale)
    unit = np.maximum(1.0, gamma * scale)  # of φ(0)
    differences = {
        "Ψ": np.abs(psi_transform(u, gamma, scale) - excess),
        "H": np.abs(conditional_risk_minimum((1 + u) / 2, gamma, scale) - least),
    }
    for name, difference in differences.items():
        largest, relative = float(difference.max()), float((difference / unit).max())
        record_property(f"largest difference of {name}", largest)
        print(f"{name} against direct minimisation: largest difference {largest:.2e}, {relative:.2e} relative to φ(0)")
        assert largest <= 1e-9
        assert relative <= 1e-13


def test_the_cases_of_the_paper_all_occur():
    u, gamma, scale = random_problems(np.random.default_rng(0))
    level = gamma / scale
    inside = level + conditional_risk_minimiser((1 + u) / 2, level, 1.0) <= ROOT2
    assert inside[level <= ROOT2 / 2].all()
    between = inside[(level > ROOT2 / 2) & (level < ROOT2)]
    assert 0.05 < between.mean() < 0.95
    assert not inside[level > ROOT2].any()


@pytest.mark.parametrize("gamma", [1e-3, 0.5, ROOT2 / 2, 1.0, 1.4142, ROOT2, 1.4143, 3.0, 1e4])
def test_the_best_prediction_satisfies_the_first_order_condition(gamma):
    eta = np.concatenate([np.linspace(0.001, 0.999, 999), [1e-12, 1 - 1e-12]])
    best = conditional_risk_minimiser(eta, gamma, 1.0)
    assert np.all(np.abs(best) <= gamma)
    np.testing.assert_allclose(eta * psi(gamma - best), (1 - eta) * psi(gamma + best), atol=1e-14 * max(1.0, gamma))
    np.testing.assert_allclose(best, -conditional_risk_minimiser(1 - eta, gamma, 1.0), atol=1e-9 * gamma)


@pytest.mark.parametrize("gamma", [0.01, 0.7, 1.0, 1.41, 1.5, 30.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 20.0])
def test_shapes_of_the_calibration_functions(gamma, scale):
    grid = np.linspace(0, 1, 201)
    least, excess = conditional_risk_minimum(grid, gamma, scale), psi_transform(grid, gamma, scale)
    top = scale**2 * rho(gamma / scale)
    assert [least[0], least[-1], excess[0]] == pytest.approx([0.0, 0.0, 0.0], abs=1e-15 * top)
    assert least[100] == pytest.approx(top, rel=1e-14)
    assert excess[-1] == pytest.approx(top, rel=1e-14)
    assert np.all(np.diff(least, 2) <= 1e-13 * top)
    assert np.all(np.diff(excess, 2) >= -1e-13 * top)
    np.testing.assert_allclose(least, least[::-1], atol=1e-13 * top)
    np.testing.assert_allclose(excess, top - conditional_risk_minimum((1 + grid) / 2, gamma, scale), atol=1e-13 * top)
    assert psi_transform(-0.3, gamma, scale) == psi_transform(0.3, gamma, scale)


def test_the_inverse_undoes_the_transform():
    u, gamma, scale = random_problems(np.random.default_rng(1), 3000)
    back = psi_inverse(psi_transform(u, gamma, scale), gamma, scale)
    print(f"Ψ⁻¹(Ψ(u)): largest difference from u {np.abs(back - u).max():.2e}")
    np.testing.assert_allclose(back, u, rtol=1e-10)
    for gamma in (0.1, 1.2, 1.5, 8.0):
        most = rho(gamma)
        np.testing.assert_allclose(psi_inverse([0.0, most], gamma, 1.0), [0.0, 1.0], atol=1e-12)
        tiny = 10.0 ** np.arange(-300, 0, 20) * most
        np.testing.assert_allclose(psi_transform(psi_inverse(tiny, gamma, 1.0), gamma, 1.0), tiny, rtol=1e-10)


def test_the_same_excess_risk_leaves_less_error_at_a_larger_margin_level():
    gammas = np.linspace(0.4, 6, 200)
    for a in (1e-6, 0.01, 0.05, rho(0.4)):
        assert np.all(np.diff(psi_inverse(a, gammas, 1.0)) <= 1e-12)  # Remark 9


def test_with_a_large_scale_the_error_left_does_not_vanish():
    # Section 4: Ψ⁻¹(ε/s) bottoms out, ε = 0.5. With s → ∞ the loss is the squared one, Ψ(u) = γ²u²/2.
    assert psi_inverse(0.05, 2.0, 1e6) == pytest.approx(math.sqrt(0.1) / 2.0, rel=1e-9)
    assert psi_transform(0.3, 2.0, 1e250) == pytest.approx(0.5 * 4.0 * 0.09, rel=1e-12)
    assert psi_transform(0.3, 2.0, 1e-250) == pytest.approx(1e-250 * 0.3 * STEEPEST * 2.0, rel=1e-12)


def test_numbers_give_numbers_and_arrays_broadcast():
    assert isinstance(psi_transform(0.5, 1.0, 1.0), float)
    assert isinstance(rho(2), float)
    assert psi_inverse([[0.01], [0.02]], [1.0, 2.0, 3.0], 1.0).shape == (2, 3)


def test_rho_and_psi_are_what_is_printed():
    u = np.linspace(-4, 4, 8001)
    h = 1e-5
    np.testing.assert_allclose((rho(u + h) - rho(u - h)) / (2 * h), psi(u), atol=1e-9)
    assert rho(ROOT2) == pytest.approx(5 / 6)
    assert psi(ROOT2) == pytest.approx(STEEPEST)
    # Eq. (12) with C = 1/2.
    assert np.all(-np.log1p(-u + u**2 / 2) <= psi(u) + 1e-15)
    assert np.all(psi(u) <= np.log1p(u + u**2 / 2) + 1e-15)


@pytest.mark.parametrize("gamma", [0.3, ROOT2 / 2, 0.9, 1.2, 1.4, ROOT2, 2 * ROOT2 + 0.5, 10.0])
def test_the_middle_root_of_the_papers_cubics_is_the_best_prediction(gamma):
    for eta in (0.01, 0.2, 0.45, 0.4999, 0.5001, 0.6, 0.8, 0.99):
        cubic = cubic_condition(eta, gamma)
        assert cubic.discriminant > 0  # the paper says Δ < 0 for the double-cube condition
        roots = cubic_roots(*cubic)
        best = conditional_risk_minimiser(eta, gamma, 1.0)
        assert roots[1] == pytest.approx(best, abs=1e-7 * max(1.0, gamma))
        # The other two are outside of where each condition holds: the paper's footnote 3.
        join, towards = abs(ROOT2 - gamma), np.sign(eta - 0.5) * roots[[0, 2]]
        if gamma + abs(best) <= ROOT2:
            assert np.all(np.abs(towards) > join)
        else:
            assert np.all((towards < join) | (towards > gamma))


def test_the_printed_constants_of_the_single_cubes_are_swapped():
    eta, gamma = 0.8, 2.0
    alpha, rest = (eta - 1) / eta, gamma - gamma**3 / 6
    best = conditional_risk_minimiser(eta, gamma, 1.0)
    assert cubic_condition(eta, gamma)(best) == pytest.approx(0.0, abs=1e-12)
    printed = Cubic(1.0, -3 * gamma, 3 * gamma**2 - 6, -6 * (rest + STEEPEST / alpha))
    assert abs(printed(best)) > 10


def test_every_case_of_the_discriminant_has_its_roots(record_property):
    rng = np.random.default_rng(2)
    largest, kinds = 0.0, set()
    for _ in range(500):
        a, b, c, d = rng.normal(size=4) * 10 ** rng.uniform(-1, 1, 4)
        found, exact = cubic_roots(a, b, c, d), np.roots([a, b, c, d])
        real = np.sort(exact[np.abs(exact.imag) < 1e-9 * np.abs(exact).max()].real)
        kinds.add(len(found))
        assert len(found) == len(real)
        largest = max(largest, float(np.max(np.abs(found - real) / np.abs(exact).max())))
    record_property("largest relative difference of roots", largest)
    assert kinds == {1, 3}
    assert largest < 1e-8
    for r, s in ((Fraction(1), Fraction(-2)), (Fraction(3), Fraction(5)), (Fraction(0), Fraction(1))):
        # a(u − r)²(u − s), in whole numbers, so that Δ is exactly 0
        coefficients = [2.0 * float(x) for x in (1, -(2 * r + s), r * r + 2 * r * s, -r * r * s)]
        np.testing.assert_allclose(cubic_roots(*coefficients), sorted([float(r), float(s)]), atol=1e-12)
    np.testing.assert_array_equal(cubic_roots(1.0, -6.0, 12.0, -8.0), [2.0])
    with pytest.raises(AssumptionError, match="a cubic has a ≠ 0"):
        cubic_roots(0.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 50, 51])
def test_up_to_the_median_scale_the_location_is_the_median(n):
    margins = np.random.default_rng(n).normal(size=n)
    s = median_scale(margins)
    if n <= 2:
        assert s == math.inf
        s = 1e6
    for scale in (s, 0.5 * s, 1e-3 * s):
        assert catoni_location(margins, scale) == pytest.approx(np.median(margins), abs=1e-12)
    if n > 2:
        assert abs(catoni_location(margins, 50.0 * s) - np.median(margins)) > 1e-9


def test_the_median_scale_with_ties():
    assert median_scale([0.0, 1.0, 1.0, 1.0, 3.0]) == pytest.approx(1.0 / ROOT2)
    assert median_scale([2.0, 2.0, 2.0]) == math.inf
    message = r"Proposition 2, part 1, assumes as many margins above the median as below; found 0 below and 1 above 0"
    with pytest.raises(AssumptionError, match=message):
        median_scale([0.0, 0.0, 1.0])


def test_the_distance_to_the_mean_is_within_its_bound():
    rng = np.random.default_rng(4)
    ratios = []
    for n in (1, 2, 5, 100):
        margins = rng.exponential(size=n)
        for scale in (0.1, 1.0, 10.0, 1e3):
            distance, bound = abs(catoni_location(margins, scale) - margins.mean()), mean_distance_bound(margins, scale)
            assert distance <= bound + 1e-13
            ratios.append(distance / bound if bound > 0 else 0.0)
    assert max(ratios) > 0.01


def test_one_value_moves_the_location_by_no_more_than_its_bound():
    rng = np.random.default_rng(5)
    for n in (49, 60, 400):
        margins = rng.normal(1.0, 1.0, n)
        for scale in (1.2, 3.0, 30.0):
            bound, before = one_value_shift_bound(margins, scale), catoni_location(margins, scale)
            assert bound == scale / math.sqrt(n)
            for wild in (-1e9, 1e9, 3.0):
                for i in (int(margins.argmin()), int(margins.argmax()), int(np.abs(margins - before).argmin())):
                    changed = np.where(np.arange(n) == i, wild, margins)
                    assert abs(catoni_location(changed, scale) - before) <= bound


def test_stability_names_the_assumption_that_fails():
    with pytest.raises(AssumptionError, match=r"assumes n/2 > 24; found n=48"):
        one_value_shift_bound(np.zeros(48), 1.0)
    with pytest.raises(AssumptionError, match=r"at least n/2 margins within s·√2/2 of the location; found 0 of 100"):
        one_value_shift_bound(np.repeat([-1.0, 1.0], 50), 0.5)


def test_the_location_deviates_within_its_bound_at_least_as_often_as_promised():
    rng, n, delta = np.random.default_rng(6), 200, 0.1
    draws = rng.standard_t(3, size=(1500, n))  # variance 3, no fourth moment
    for scale in (location_scale(3.0, n, delta), 5.0):
        bound = location_deviation_at_scale(3.0, scale, n, delta)
        far = np.mean([abs(catoni_location(draw, scale)) > bound for draw in draws])
        assert far <= delta


def test_lemma_6_is_equation_6_at_its_scale_and_twice_the_print():
    for variance, n, delta in ((1.0, 100, 0.05), (4.0, 10_000, 0.001)):
        exact = 2 * math.sqrt(2 * variance * math.log(2 / delta) / n)
        assert location_deviation(variance, n, delta) == pytest.approx(exact, rel=1e-14)
        assert location_deviation_as_printed(variance, n, delta) == pytest.approx(exact / 2, rel=1e-14)
        s, x = location_scale(variance, n, delta), 4 * math.log(2 / delta) / n
        sharper = s * (1 - math.sqrt(1 - x))
        assert exact / 2 < sharper < exact
    with pytest.raises(AssumptionError, match=r"eq\. \(6\) assumes v/s² \+ 2·log\(2/δ\)/n ≤ 1; found 1\.\d+"):
        location_deviation(1.0, 10, 0.05)


KNOWN = {
    "scale": 1.0,
    "step_size": 0.5,
    "strong_convexity": 0.5,
    "input_variance": 1.0,
    "start_distance": 0.8,
    "delta": 0.01,
    "c": 1.0,
}


def test_theorem_11_is_the_printed_formula_for_a_set_of_diameter_one():
    T, n, d = 30, 10**6, 7
    beta = 2 * 0.5 * 1.0 / 1.5
    spread = math.sqrt(STEEPEST**2 * 1.0 * (d * math.log(3 * math.sqrt(n) / 0.02) + math.log(100)))
    printed = (1 - 0.5 * beta) ** T * 0.64 + 4 / (beta**2 * n) * (1.01 + 2 * spread) ** 2
    assert excess_surrogate_risk_bound(T, n, d, **KNOWN) == pytest.approx(printed, rel=1e-12)
    assert excess_risk_bound(T, n, d, gamma=1.0, **KNOWN) == pytest.approx(psi_inverse(printed, 1.0, 1.0), rel=1e-12)
    assert excess_surrogate_risk_bound(T, n, d, **KNOWN, diameter=9.0) > printed


def test_theorem_11_falls_with_rows_and_steps_and_says_nothing_when_large():
    rows = [excess_risk_bound(200, n, 7, gamma=1.0, **KNOWN) for n in (10**3, 10**5, 10**7, 10**9)]
    steps = [excess_risk_bound(T, 10**9, 7, gamma=1.0, **KNOWN) for T in (1, 5, 25, 125)]
    assert rows[0] == 1.0
    assert np.all(np.diff(rows) < 0)
    assert np.all(np.diff(steps) < 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.5}, r"Theorem 11 assumes δ < 1/2; found delta=0\.5"),
        ({"start_distance": 2.0}, r"assumption A0 .*; found start_distance=2 and diameter=1"),
        ({"strong_convexity": 3.0}, r"assumption A2 and Lemma 14 make κ ≤ v_X; found strong_convexity=3"),
        ({"step_size": 1.5}, r"a step size below 2/\(κ \+ v_X\); found step_size=1\.5"),
    ],
)
def test_theorem_11_names_the_assumption_that_fails(change, message):
    with pytest.raises(AssumptionError, match=message):
        excess_risk_bound(10, 1000, 3, gamma=1.0, **{**KNOWN, **change})


@pytest.mark.parametrize("function", [psi_transform, psi_inverse, conditional_risk_minimum, conditional_risk_minimiser])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.1, 0.0, 1.0), "gamma=0 is not a positive finite number"),
        ((0.1, 1.0, 0.0), "scale=0 is not a positive finite number"),
        ((0.1, 1.0, [1.0, math.nan]), "scale=nan is not a positive finite number"),
        ((-7.0, 1.0, 1.0), "=-7 is not "),
        ((math.nan, 1.0, 1.0), "=nan is not "),
        ((0.1, 1e300, 1e-300), "gamma/scale=inf is not a positive finite number"),
    ],
)
def test_arguments_that_make_no_sense(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_more_excess_risk_than_there_is_bounds_no_error():
    with pytest.raises(AssumptionError, match=r"Lemma 8 assumes .*; found a=0\.46 and Ψ\(1\) = 0\.458333"):
        psi_inverse([0.1, 0.46], 1.0, 1.0)


def test_margins_that_are_none():
    for function in (lambda m: mean_distance_bound(m, 1.0), median_scale, lambda m: one_value_shift_bound(m, 1.0)):
        with pytest.raises(ValueError, match="margins has the shape"):
            function([])
        with pytest.raises(ValueError, match="margins holds NaN"):
            function([1.0, math.nan])
    with pytest.raises(ValueError, match=r"scale=0\.0 is not a positive finite number"):
        mean_distance_bound([1.0], 0.0)
