"""Ji, Telgarsky (2018): every bound beside runs on problems whose constants are known exactly."""

import math
from functools import cache

import numpy as np
import pytest

from sgdone.diagnose.constrained import constrained_optimum
from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.logistic import reference
from sgdone.papers.logistic import theory as logistic
from sgdone.papers.logistic.problems import PROBLEMS

LOSSES = ["logistic", "exponential"]
STEPS = {"1": reference.constant_step, "root": reference.inverse_root_step}
LAST = 2000
TIMES = np.arange(1, LAST + 1)
WITH_SEPARABLE_ROWS = [name for name, problem in PROBLEMS.items() if problem.direction]
WITH_A_FINITE_PART = [name for name, problem in PROBLEMS.items() if problem.axes]


# SGD on a separable distribution: rows drawn from a few, so that expectations are sums

#: y·x and γ; the second has hardly any margin, and the third is where the bounds on norms are tightest.
DISTRIBUTIONS = {
    "plane": (PROBLEMS["separable"].rows, 0.3),
    "narrow": (np.array([[0.05, 0.99], [0.05, -0.99], [0.3, 0.1]]), 0.05),
    "line": (np.array([[1.0]]), 1.0),
}
RUNS, SAMPLES, DELTA = 60, 1000, 0.1
CHECKPOINTS = np.array([1, 2, 5, 10, 30, 100, 300, 1000])


@cache
def sgd_runs(name):
    """Norms, slopes met, and expectations over the next row, of every run before every step."""
    rows, margin = DISTRIBUTIONS[name]
    picks = np.random.default_rng(0).integers(len(rows), size=(SAMPLES, RUNS))
    w, total = np.zeros((RUNS, rows.shape[1])), np.zeros((RUNS, rows.shape[1]))
    recorded = {key: np.empty((SAMPLES, RUNS)) for key in ("slope", "expected_slope", "risk", "mean_risk")}
    iterates = np.empty((SAMPLES + 1, RUNS, rows.shape[1]))
    for j, pick in enumerate(picks):
        iterates[j], total = w, total + w
        margins = w @ rows.T
        recorded["expected_slope"][j] = np.mean(1 / (1 + np.exp(margins)), axis=1)
        recorded["risk"][j] = np.mean(np.logaddexp(0, -margins), axis=1)
        recorded["mean_risk"][j] = np.mean(np.logaddexp(0, -total @ rows.T / (j + 1)), axis=1)
        recorded["slope"][j] = 1 / (1 + np.exp(margins[np.arange(RUNS), pick]))
        w = w + recorded["slope"][j][:, None] * rows[pick]
    iterates[-1] = w
    return iterates, recorded, margin, picks


def test_the_simulated_runs_are_those_of_the_slow_twin():
    iterates, _, _, picks = sgd_runs("plane")
    rows = DISTRIBUTIONS["plane"][0]
    np.testing.assert_allclose(
        iterates[:, 7], reference.perceptron_sgd(-rows[picks[:, 7]], 2, reference.constant_step), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_no_run_of_sgd_leaves_lemmas_2_2_and_2_3_and_the_first_part_of_2_5(name):
    iterates, recorded, margin, _ = sgd_runs(name)
    t = np.arange(1, SAMPLES + 1)
    norms = np.linalg.norm(iterates[1:], axis=2)
    assert np.all(norms.max(axis=1) <= logistic.sgd_norm_bound(t, margin))
    assert np.all(np.cumsum(recorded["slope"], axis=0).max(axis=1) <= logistic.sgd_slopes_bound(t, margin))
    direction = {"plane": PROBLEMS["separable"].u, "narrow": np.array([1.0, 0.0]), "line": np.array([1.0])}[name]
    assert np.all(DISTRIBUTIONS[name][0] @ direction >= margin - 1e-12)
    away = np.linalg.norm(iterates[1:] - (np.log(t) / margin)[:, None, None] * direction, axis=2)
    assert np.all(away.max(axis=1) <= logistic.sgd_comparison_distance_bound(t, margin))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_expected_slopes_and_risk_are_within_lemma_2_5_and_theorem_2_1(name):
    _, recorded, margin, _ = sgd_runs(name)
    sums = np.cumsum(recorded["expected_slope"], axis=0)[CHECKPOINTS - 1]
    mean_risks = np.cumsum(recorded["risk"], axis=0)[CHECKPOINTS - 1] / CHECKPOINTS[:, None]
    of_mean = recorded["mean_risk"][CHECKPOINTS - 1]
    assert np.all(of_mean <= mean_risks + 1e-12), "Jensen's inequality, by which Theorem 1.1 follows from 2.1"
    for found, bound in (
        (sums, logistic.sgd_expected_slopes_bound(CHECKPOINTS, margin, DELTA)),
        (mean_risks, logistic.sgd_risk_bound(CHECKPOINTS, margin, DELTA)),
    ):
        standard_errors = found.std(axis=1, ddof=1) / np.sqrt(RUNS)
        assert np.all(found.mean(axis=1) + 3 * standard_errors <= bound)
        assert np.all(np.mean(found > bound[:, None], axis=1) <= DELTA)


def test_the_norm_on_the_line_grows_as_its_bound_but_for_the_factor_two():
    iterates, _, margin, _ = sgd_runs("line")
    assert iterates[-1, 0, 0] > 0.4 * logistic.sgd_norm_bound(SAMPLES, margin)


# Gradient descent


@cache
def descent(name, loss, steps):
    problem = PROBLEMS[name]
    path = reference.gradient_descent(-problem.rows, STEPS[steps], LAST, loss)
    risks = np.array([reference.risk(-problem.rows, w, loss) for w in path])
    slopes = np.array([np.linalg.norm(reference.gradient(-problem.rows, w, loss)) for w in path])
    etas = np.array([STEPS[steps](j) for j in range(LAST)])
    return path, risks, slopes, etas


def all_runs(function):
    for key, values in (("steps", STEPS), ("loss", LOSSES), ("name", PROBLEMS)):
        function = pytest.mark.parametrize(key, list(values))(function)
    return function


@all_runs
def test_the_risk_of_gradient_descent_is_within_theorem_3_2(name, loss, steps):
    problem, (_, risks, _, etas) = PROBLEMS[name], descent(name, loss, steps)
    excess = risks[1:] - problem.infimum(loss)
    bound = logistic.gd_risk_bound(TIMES, np.cumsum(etas), np.linalg.norm(problem.v(loss)), problem.margin)
    assert np.all(excess <= bound)
    assert np.all(excess >= -1e-14)
    if problem.direction:
        assert bound[-1] < 300 * excess[-1], "far from tight, yet not without meaning"


@all_runs
def test_every_step_lowers_the_risk_as_lemma_3_5_says(name, loss, steps):
    _, risks, slopes, etas = descent(name, loss, steps)
    assert np.all(risks[1:] <= logistic.smoothness_descent(risks[:-1], slopes[:-1], etas) * (1 + 1e-14))
    bound = logistic.log_risk_descent(risks[:-1], slopes[:-1], etas)
    assert np.all(np.log(risks[1:]) <= bound + 1e-12)


def test_lemma_3_5_is_an_equality_in_the_limit_of_small_steps():
    # Of one row of norm 1 with the exponential loss the second derivative is the risk itself.
    for step in (1e-2, 1e-3):
        after = math.exp(-step)  # R(w) = exp(−w) at w = 0 has the slope −1
        assert logistic.smoothness_descent(1.0, 1.0, step) - after == pytest.approx(step**3 / 6, rel=0.1)


@all_runs
def test_norms_across_s_are_within_lemma_d_2(name, loss, steps):
    problem, (path, _, _, etas) = PROBLEMS[name], descent(name, loss, steps)
    if not problem.direction:
        return
    inside = path @ problem.subspace @ problem.subspace.T
    across = np.linalg.norm(path - inside, axis=1)[1:]
    reach = np.linalg.norm(inside, axis=1).max()
    count, v_norm = int(problem.separable_rows.sum()), np.linalg.norm(problem.v(loss))
    bounds = logistic.gd_norm_bounds(TIMES, np.cumsum(etas), v_norm, problem.margin, reach, len(problem.rows), count)
    assert np.all(across <= bounds.upper)
    assert np.all(across >= bounds.lower)
    if steps == "1" and not problem.axes:
        assert bounds.lower[-1] > 0, "a lower bound that says something"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", WITH_A_FINITE_PART)
def test_the_finite_part_is_as_near_as_lemma_d_1_says_and_so_are_optimal_iterates(name, loss):
    problem, (path, *_) = PROBLEMS[name], descent(name, loss, "root")
    v, modulus = problem.v(loss), problem.modulus(loss)
    bound = logistic.finite_part_bound(TIMES, np.linalg.norm(v), problem.margin, modulus)
    distances = np.sum((path[1:] @ problem.subspace - v @ problem.subspace) ** 2, axis=1)
    assert np.all(distances <= bound)
    points = np.array([1, 3, 10, 100, LAST])
    best = constrained_optimum(problem.rows, np.ones(len(problem.rows)), np.linalg.norm(path[points], axis=1), loss)
    optimal = np.sum((best.coef @ problem.subspace - v @ problem.subspace) ** 2, axis=1)
    assert np.all(optimal <= bound[points - 1])


@pytest.mark.parametrize("name", WITH_A_FINITE_PART)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_modulus_of_a_problem_is_its_least_curvature(name, loss):
    problem = PROBLEMS[name]
    modulus, rows = problem.modulus(loss), problem.rows[~problem.separable_rows]
    coordinates = rows @ problem.subspace
    lines = np.meshgrid(*(np.linspace(-12, 12, 241 if len(problem.axes) > 1 else 24_001),) * len(problem.axes))
    points = np.stack([line.ravel() for line in lines], axis=1)
    margins = points @ coordinates.T
    values, curvatures = (reference.LOSSES[loss][k](-margins) for k in (0, 2))
    allowed = values.sum(axis=1) / len(problem.rows) <= 1
    hessians = np.einsum("pi,ij,ik->pjk", curvatures[allowed], coordinates, coordinates) / len(problem.rows)
    least = np.linalg.eigvalsh(hessians).min()
    assert modulus <= least * (1 + 1e-9)
    assert least <= modulus * (1.05 if len(problem.axes) > 1 else 1.01)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", WITH_SEPARABLE_ROWS)
def test_directions_are_as_near_as_lemma_d_5_says_and_so_are_optimal_iterates(name, steps, loss):
    problem, (path, risks, *_) = PROBLEMS[name], descent(name, loss, steps)
    n = len(problem.rows)
    first = int(np.argmax(risks - problem.infimum(loss) <= 1 / n))
    assert 0 < first < LAST / 2
    points = np.unique(np.geomspace(first, LAST, 10).astype(int))
    best = constrained_optimum(problem.rows, np.ones(n), np.linalg.norm(path[points], axis=1), loss)
    for points, values in ((path[first:], risks[first:]), (best.coef, best.objective)):
        norms = np.linalg.norm(points, axis=1)
        inside = np.linalg.norm(points @ problem.subspace, axis=1)
        distances = np.sum((points / norms[:, None] - problem.u) ** 2, axis=1)
        bound = logistic.direction_bound(norms, values - problem.infimum(loss), n, problem.margin, inside)
        assert np.all(distances <= bound)
        if steps == "1":
            assert bound[-1] < 2, "no more than a right angle: a bound that says something"


def test_lemma_d_5_goes_to_zero_with_the_radius_of_optimal_iterates():
    problem = PROBLEMS["separable"]
    radii = np.array([30.0, 100.0, 300.0, 1000.0])
    best = constrained_optimum(problem.rows, np.ones(7), radii)
    distances = np.sum((best.coef / radii[:, None] - problem.u) ** 2, axis=1)
    bound = logistic.direction_bound(radii, best.objective, 7, problem.margin)
    assert np.all(distances <= bound)
    np.testing.assert_allclose(bound * radii, bound[-1] * radii[-1], rtol=0.1)


# Rates


def test_theorem_3_6_begins_where_its_condition_does():
    for rows, margin, reach in ((1, 1.0, 0.0), (7, 0.4, 1.5)):
        start = logistic.parameter_bound_start(rows, margin, reach)
        needed = rows * (1 + reach) / margin**4
        assert math.sqrt(start) / math.log(start) ** 3 == pytest.approx(needed, rel=1e-9)
        logistic.parameter_bound(math.ceil(start * (1 + 1e-9)), rows, margin, reach)
        with pytest.raises(AssumptionError, match=r"√t/ln\(t\)³ ≥ n\(1 \+ R\)/γ⁴"):
            logistic.parameter_bound(math.floor(start * (1 - 1e-9)), rows, margin, reach)


def test_no_problem_meets_theorem_3_6_within_ten_million_steps():
    t = np.unique(np.geomspace(5, 2.3e7, 2000).astype(int))
    assert np.all(np.sqrt(t) / np.log(t) ** 3 < 1.0)
    assert logistic.parameter_bound_start(1, 1.0, 0.0) > 2.3e7


def test_rates_are_those_of_theorem_1_2_in_t_alone():
    t = np.array([10.0**30, 10.0**60])
    bound, rate = logistic.parameter_bound(t, 5, 0.5, 0.0, constant=0.25), logistic.parameter_rates(t)
    np.testing.assert_allclose(bound.finite_part, 0.25 * rate.finite_part)
    np.testing.assert_allclose(bound.direction * np.log(t) - np.log(np.log(t)), math.log(5))


def test_the_sum_of_steps_is_exact():
    t = np.array([1, 2, 999, 1000, 1001, 5000])
    exact = [math.fsum((j + 1) ** -0.5 for j in range(int(k))) for k in t]
    np.testing.assert_allclose(logistic.inverse_root_step_sum(t), exact, rtol=1e-14)


# Arguments


def test_all_bounds_are_vectorised_over_t_and_give_a_number_for_a_number():
    t = [3, 50, 4000]
    for bound in (
        lambda t: logistic.sgd_norm_bound(t, 0.2),
        lambda t: logistic.sgd_comparison_distance_bound(t, 0.2),
        lambda t: logistic.sgd_slopes_bound(t, 0.2),
        lambda t: logistic.sgd_expected_slopes_bound(t, 0.2, 0.1),
        lambda t: logistic.sgd_risk_bound(t, 0.2, 0.1),
        lambda t: logistic.gd_risk_bound(t, t, 1.0, 0.2),
        lambda t: logistic.finite_part_bound(t, 1.0, 0.2, 0.1),
        lambda t: logistic.gd_norm_bounds(t, t, 1.0, 0.2, 1.0, 5, 2).upper,
        lambda t: logistic.gd_norm_bounds(t, t, 1.0, 0.2, 1.0, 5, 2).lower,
        lambda t: logistic.parameter_rates(t).direction,
        logistic.inverse_root_step_sum,
    ):
        np.testing.assert_allclose(bound(t), [float(bound(k)) for k in t], rtol=1e-14)
    assert isinstance(logistic.sgd_norm_bound(3, 0.2), float)


def test_without_separable_rows_the_terms_of_the_margin_fall_away():
    assert logistic.gd_risk_bound(100, 100, 2.0, math.inf) == pytest.approx(4 / 200)
    assert logistic.finite_part_bound(10**6, 1.0, math.inf, 0.5) == pytest.approx(
        2 / logistic.inverse_root_step_sum(10**6)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: logistic.sgd_norm_bound(10, 1.5), "Lemma 2.3 assumes rows of norm 1 or less, which makes γ ≤ 1"),
        (lambda: logistic.sgd_risk_bound(10, 3.0, 0.1), "Theorem 2.1 assumes rows of norm 1 or less"),
        (lambda: logistic.gd_risk_bound(10, 11.0, 0.0, 0.5), r"steps η_j ≤ 1.*found step_sum=11 at t=10"),
        (lambda: logistic.gd_risk_bound([5, 9], [5, 9.5], 0.0, 0.5), "found step_sum=9.5 at t=9"),
        (lambda: logistic.gd_norm_bounds(9, 9, 0.0, 0.5, 0.0, 5, 0), "1 to n separable rows; found 0 of 5"),
        (lambda: logistic.gd_norm_bounds(9, 9, 0.0, 0.5, 0.0, 5, 6), "found 6 of 5"),
        (lambda: logistic.gd_norm_bounds(9, 9, 1.0, 0.5, 0.0, 5, 5), "v̄ = 0; found v_norm=1"),
        (lambda: logistic.smoothness_descent(0.5, 0.6, 1.0), "‖∇R‖ ≤ R; found ‖∇R‖/R = 1.2"),
        (lambda: logistic.smoothness_descent(2.0, 0.6, 0.6), "η·R.w. ≤ 1; found η·R.w. = 1.2"),
        (lambda: logistic.finite_part_bound(9, 1.0, 0.5, 1.5), "λ ≤ 1 where R ≤ 1; found modulus=1.5"),
        (lambda: logistic.direction_bound(3.0, [0.01, 0.5], 4, 0.3), "within 1/n of the infimum; found 0.5 > 1/4"),
        (lambda: logistic.parameter_bound(10**6, 8, 0.5, 0.0), r"0\.3792 < 128 at t=1e\+06: it holds from t=1.23e\+13"),
    ],
)
def test_an_assumption_that_fails_is_named(call, message):
    with pytest.raises(AssumptionError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: logistic.sgd_norm_bound(0, 0.5), "t=0 is not a whole number of 1 or more"),
        (lambda: logistic.sgd_norm_bound([2, 2.5], 0.5), "t=2.5"),
        (lambda: logistic.sgd_norm_bound(2, 0.0), "margin=0.0"),
        (lambda: logistic.sgd_norm_bound(2, math.inf), "margin=inf"),
        (lambda: logistic.sgd_risk_bound(2, 0.5, 1.0), "delta=1.0 is not between 0 and 1"),
        (lambda: logistic.parameter_rates(2), "t=2 is not a whole number of 3 or more"),
        (lambda: logistic.parameter_bound(4, 1, 1.0, 0.0), "t=4 is not a whole number of 5 or more"),
        (lambda: logistic.gd_risk_bound(2, -1.0, 0.5, 0.5), "step_sum=-1"),
        (lambda: logistic.log_risk_descent(0.5, 0.4, 1.0), "give one number a step"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
