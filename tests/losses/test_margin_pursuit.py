"""The margin pursuit loss, its implicit step against bisection, and the two related losses."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sgdone import SGDClassifier
from sgdone.losses import MarginDistribution, MarginPursuit, OptimalMarginDistribution, Squared
from sgdone.losses import margin_distribution as distribution_module
from sgdone.losses import margin_pursuit as pursuit_module
from sgdone.losses import optimal_margin_distribution as optimal_module
from tiers import grid, interpreted

pytestmark = grid

ROOT2 = math.sqrt(2.0)
STEEPEST = 2.0 * ROOT2 / 3.0
POINTS = 10_000
#: How many (γ, s) they are spread over.
LOSSES = 50
longdouble = np.longdouble


def psi(u):
    """Eq. (3), in the precision of its argument."""
    root = np.sqrt(u.dtype.type(2))
    u = np.clip(u, -root, root)
    return u - u**3 / 6


def bisected(u, q):
    """The w ≥ 0 with w = ψ(u − qw), for u ≥ 0, to the last digits of an extended float."""
    u, q = u.astype(longdouble), q.astype(longdouble)
    # ⅔x ≤ ψ(x) ≤ x up to the join.
    most = psi(np.full_like(u, 2))
    low, high = np.minimum(u / (1.5 + q), most), np.minimum(u / (1 + q), most)
    for _ in range(70):
        middle = (low + high) / 2
        below = middle < psi(u - q * middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def random_points(rng):
    """Predictions, labels, q, γ and s: anywhere, around the joins and around the level γ, s and q tiny and huge."""
    n = POINTS // 5
    gamma, scale = 10 ** rng.uniform(-3, 3, LOSSES), 10 ** rng.uniform(-6, 6, LOSSES)
    gamma, scale = (np.tile(parameter, POINTS // LOSSES) for parameter in (gamma, scale))
    q = np.concatenate([10 ** rng.uniform(-12, 12, 2 * n), 10 ** rng.uniform(-2, 2, 3 * n)])
    # Distances from γ in units of s, of which the last three fifths lie near √2, near √2 + q·2√2/3 and near 0.
    u = np.concatenate([10 ** rng.uniform(-12, 6, n), rng.uniform(0, 1, n) * (ROOT2 + 1.1 * STEEPEST * q[n : 2 * n])])
    near = 1.0 + rng.choice([-1, 1], 2 * n) * 10 ** rng.uniform(-16, -2, 2 * n)
    u = np.concatenate([u, ROOT2 * near[:n], (ROOT2 + STEEPEST * q[3 * n : 4 * n]) * near[n:], rng.uniform(0, 2, n)])
    y, side = rng.choice([-1.0, 1.0], POINTS), rng.choice([-1.0, 1.0], POINTS)
    return y * (gamma - side * u * scale), y, q, gamma, scale


def test_the_implicit_step_equals_bisection_at_ten_thousand_points(record_property):
    z, y, q, gamma, scale = random_points(np.random.default_rng(0))
    found = np.empty(POINTS)
    for i in range(LOSSES):
        of = slice(i, None, LOSSES)
        found[of] = MarginPursuit(gamma[i], scale[i]).implicit(z[of], y[of], q[of])
    d = gamma.astype(longdouble) - (y * z).astype(longdouble)
    expected = -y * np.sign(d) * scale * bisected(np.abs(d) / scale, q)
    difference = np.abs(found - expected) / np.maximum(np.abs(expected), 1e-300)
    record_property("largest relative difference", float(difference.max()))
    print(f"implicit step against bisection: largest relative difference {difference.max():.2e}")
    assert difference.max() <= 1e-12


def test_extreme_scales_and_steps():
    rng = np.random.default_rng(1)
    q = np.array([0.0, 5e-324, 1e-300, 1e-17, 2e-8, 3e-8, 1.0, 1e17, 1e200, 1e300])
    for scale in (1e-300, 1e-200, 1e-9, 1.0, 1e9, 1e200, 1e307):
        loss = MarginPursuit(scale=scale)
        z = rng.normal(size=30)[:, None]
        found = loss.implicit(z, 1.0, q)
        assert np.isfinite(found).all()
        d = longdouble(1) - z.astype(longdouble)
        expected = -np.sign(d) * longdouble(scale) * bisected(*np.broadcast_arrays(np.abs(d) / longdouble(scale), q))
        assert np.all(np.abs(found - expected) <= 1e-12 * np.abs(expected) + 1e-300)
        assert np.isfinite(loss.value(z, 1.0)).all()


def test_the_joins_are_continuous_and_the_value_there_is_five_sixths():
    for scale in (1e-3, 1.0, 50.0):
        loss = MarginPursuit(gamma=2.0, scale=scale)
        join = 2.0 - ROOT2 * scale
        around = np.array([join, np.nextafter(join, -np.inf), np.nextafter(join, np.inf)])
        np.testing.assert_allclose(loss.value(around, 1.0), scale**2 * 5 / 6, rtol=1e-12)
        np.testing.assert_allclose(loss.slope(around, 1.0), -scale * STEEPEST, rtol=1e-15)
        np.testing.assert_allclose(loss.curvature(around, 1.0), 0.0, atol=1e-12)
        for q in (1e-12, 0.3, 1e6):
            edge = 2.0 - scale * (ROOT2 + q * STEEPEST) * (1.0 + np.linspace(-4, 4, 9) * 2.0**-52)
            np.testing.assert_allclose(loss.implicit(edge, 1.0, q), -scale * STEEPEST, rtol=1e-14)


def test_it_is_least_squares_at_a_large_scale_and_absolute_at_a_small_one():
    z, y = np.linspace(-4, 4, 33), np.where(np.arange(33) % 2, 1.0, -1.0)
    np.testing.assert_allclose(MarginPursuit(scale=1e8).value(z, y), Squared().value(z, y), rtol=1e-14)
    np.testing.assert_allclose(MarginPursuit(scale=1e8).implicit(z, y, 3.0), Squared().implicit(z, y, 3.0), rtol=1e-14)
    small = MarginPursuit(scale=1e-9)
    np.testing.assert_allclose(small.value(z, y), 1e-9 * STEEPEST * np.abs(1.0 - y * z), atol=1e-17)


def test_overconfident_rows_cost_as_much_as_those_short_by_the_same():
    loss = MarginPursuit(gamma=1.5, scale=0.7)
    short = np.array([0.1, 0.5, 2.0, 30.0])
    np.testing.assert_array_equal(loss.value(1.5 - short, 1.0), loss.value(1.5 + short, 1.0))
    np.testing.assert_array_equal(loss.implicit(1.5 - short, 1.0, 2.0), -loss.implicit(1.5 + short, 1.0, 2.0))


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_a_margin_that_is_not_positive_raises(gamma):
    with pytest.raises(ValueError, match=r"gamma=.* of MarginPursuit is not a positive number: give the target margin"):
        MarginPursuit(gamma=gamma)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, "large", None])
def test_a_scale_that_is_not_positive_raises(scale):
    with pytest.raises(ValueError, match=r"scale=.* of MarginPursuit is not valid: give a positive number"):
        MarginPursuit(scale=scale)


@pytest.mark.parametrize("word", ["auto", "adaptive"])
def test_a_scale_that_is_not_yet_a_number_raises(word):
    loss = MarginPursuit(gamma=2.0, scale=word)
    assert loss.smoothness == 1.0
    for use in (lambda: loss.parameters, lambda: loss.value(0.0, 1.0), lambda: loss.lipschitz):
        with pytest.raises(ValueError, match=f"scale='{word}'.*with_scale"):
            use()
    assert loss.with_scale(3.0) == MarginPursuit(2.0, 3.0)
    assert loss.with_scale(np.float64(3.0)).value(0.0, 1.0) == MarginPursuit(2.0, 3.0).value(0.0, 1.0)
    with pytest.raises(ValueError, match=r"scale=-1\.0"):
        loss.with_scale(-1.0)


@interpreted
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("margin-pursuit", "sgd"),
        pytest.param("margin-pursuit", "isgd", marks=pytest.mark.slow),
        pytest.param("margin-pursuit", "asgd", marks=pytest.mark.slow),
        pytest.param("optimal-margin-distribution", "sgd", marks=pytest.mark.slow),
        pytest.param("optimal-margin-distribution", "isgd", marks=pytest.mark.slow),
        pytest.param("margin-distribution", "sgd", marks=pytest.mark.slow),
    ],
)
def test_a_classifier_takes_it_by_name(loss, solver):
    rng = np.random.default_rng(3)
    y = rng.choice([-1, 1], 2000)
    X = rng.normal(size=(2000, 4)) * 0.5 + 0.7 * y[:, None]
    model = SGDClassifier(loss=loss, solver=solver, step=0.02, stop=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98


@pytest.mark.parametrize(
    ("module", "loss"),
    [
        (pursuit_module, MarginPursuit(1.3, 0.8)),
        (distribution_module, MarginDistribution(0.4, 1.7)),
        (optimal_module, OptimalMarginDistribution(0.3, 0.6)),
    ],
)
def test_plain_python_agrees_with_compiled(module, loss):
    z = np.array([-600.0, -3.0, -1.0, -0.1, 0.0, 0.5, 1.0, 2.5, 600.0, 1e6])
    for y in (-1.0, 1.0):
        for name in ("value", "slope", "curvature"):
            plain = [getattr(module, name)(float(a), y, loss.parameters) for a in z[1:-1]]
            np.testing.assert_allclose(getattr(loss, name)(z[1:-1], y), plain, rtol=1e-13, atol=1e-300)
        for q in (0.0, 1e-12, 0.3, 2.0, 50.0, 1e12):
            plain = [module.implicit(float(a), y, q, loss.parameters) for a in z]
            np.testing.assert_allclose(loss.implicit(z, y, q), plain, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("seed", range(4))
def test_parameters_of_any_size_keep_slope_and_curvature_derivatives(seed):
    rng = np.random.default_rng(seed)
    for loss in (
        MarginPursuit(*10 ** rng.uniform(-1, 1, 2)),
        OptimalMarginDistribution(rng.uniform(0, 0.8), rng.uniform(0.1, 1)),
        MarginDistribution(*10 ** rng.uniform(-1, 0.5, 2)),
    ):
        z, y, h = rng.uniform(-3, 3, 500), rng.choice([-1.0, 1.0], 500), 1e-5
        rise = (loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h)
        bend = (loss.slope(z + h, y) - loss.slope(z - h, y)) / (2 * h)
        size = 1.0 + np.abs(rise) + np.abs(bend) + np.abs(loss.curvature(z, y))
        kinks = [*loss.parameters[:1] - 1.0, 1.0 - loss.theta, 1.0 + loss.theta] if hasattr(loss, "theta") else [0.0]
        smooth = np.min([np.abs(y * z - kink) for kink in kinks], axis=0) > 2 * h
        assert np.all((np.abs(loss.slope(z, y) - rise) <= 1e-8 * size)[smooth])
        assert np.mean((np.abs(loss.curvature(z, y) - bend) <= 1e-7 * size)[smooth]) > 0.99


def margin_distribution_points(rng, n=2000):
    alpha, beta, q = 10 ** rng.uniform(-2, 2, n), 10 ** rng.uniform(-2, 2, n), 10 ** rng.uniform(-6, 6, n)
    spread = rng.choice([0.1, 1.0, 5.0], n)
    return rng.normal(size=n) * spread / np.sqrt(alpha), q, alpha, beta


def test_the_implicit_step_of_margin_distribution_is_the_best_proximal_point():
    m, q, alpha, beta = margin_distribution_points(np.random.default_rng(5))
    for row in zip(m, q, alpha, beta, strict=True):
        margin, scale, parameters = row[0], row[1], np.array(row[2:])
        r = -distribution_module.implicit(margin, 1.0, scale, parameters)
        assert r >= 0.0

        loss = MarginDistribution(*row[2:])

        def proximal(a, margin=margin, scale=scale, loss=loss):
            return loss.value(a, 1.0) + (a - margin) ** 2 / (2 * scale)

        reach = np.concatenate([np.linspace(0, 1, 2001), np.geomspace(1e-9, 1, 500)])
        places = margin + reach * (max(-margin, 0.0) + 30 / math.sqrt(row[2]))
        assert proximal(margin + scale * r) <= proximal(places).min() * (1 + 1e-12)


def test_the_implicit_step_of_margin_distribution_solves_its_equation_to_twelve_digits():
    from mpmath import exp, mpf, workdps

    m, q, alpha, beta = margin_distribution_points(np.random.default_rng(6))
    m[:500] = np.random.default_rng(7).uniform(0, 26, 500) / np.sqrt(alpha[:500])
    q[:500] = 10 ** np.linspace(-12, 12, 500)
    kinds = set()
    with workdps(60):
        for row in zip(m, q, alpha, beta, strict=True):
            r = mpf(-distribution_module.implicit(row[0], 1.0, row[1], np.array(row[2:])))
            margin, scale, a, b = map(mpf, row)

            def excess(r, margin=margin, scale=scale, a=a, b=b):
                new = margin + scale * r
                return r - (2 * a * new * exp(-a * new * new) if new > 0 else b * exp(-b * new))

            slack = mpf("1e-12") * r + mpf("1e-300")
            kinds.add((row[0] > 0, margin + scale * r > 0))
            assert excess(r - slack) <= 0 <= excess(r + slack)
    assert kinds == {(True, True), (False, True), (False, False)}


def test_margin_distribution_at_zero_takes_the_side_of_the_wrong_rows():
    loss = MarginDistribution(alpha=0.5, beta=3.0)
    assert loss.slope(0.0, 1.0) == -3.0
    assert loss.slope(0.0, -1.0) == 3.0
    assert loss.implicit(0.0, 1.0, 1.0) == 0.0  # 2αq = 1
    # Beyond, a right margin is better: exp(−αa²) = 1/(2αq).
    assert loss.implicit(0.0, 1.0, math.e) == pytest.approx(-ROOT2 / math.e, rel=1e-14)


def test_optimal_margin_distribution_is_the_squared_hinge_without_tolerance_and_almost_one_sided():
    z = np.linspace(-3, 0.9, 40)
    loss = OptimalMarginDistribution(theta=0.0, upsilon=1.0)
    np.testing.assert_allclose(loss.value(z, 1.0), 0.5 * (1.0 - z) ** 2, rtol=1e-15)
    np.testing.assert_allclose(replace(loss, upsilon=1e-12).value([2.0, 5.0], 1.0), [5e-13, 8e-12], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarginDistribution(alpha=0.0), "alpha=0.0 of MarginDistribution is not a positive number"),
        (lambda: MarginDistribution(beta=math.nan), "beta=nan of MarginDistribution"),
        (lambda: OptimalMarginDistribution(theta=1.0), "theta=1.0 of OptimalMarginDistribution is not in"),
        (lambda: OptimalMarginDistribution(theta=-0.1), "theta=-0.1 of OptimalMarginDistribution is not in"),
        (lambda: OptimalMarginDistribution(upsilon=0.0), "upsilon=0.0 of OptimalMarginDistribution is not in"),
        (lambda: OptimalMarginDistribution(upsilon=1.5), "upsilon=1.5 of OptimalMarginDistribution is not in"),
    ],
)
def test_parameters_out_of_range_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()
