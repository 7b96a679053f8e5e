"""Separable, strongly convex and mixed problems: constants that are right, runs, and claims that can fail."""

import math

import numpy as np
import pytest

from sgdone.diagnose import separation
from sgdone.papers.logistic.configurations import LogisticConfigurations, points_of
from sgdone.papers.logistic.descent import descend, mean_loss, perceptron_means
from sgdone.papers.logistic.parameter_rates import DESCENT, OPTIMAL, LogisticParameterRates, series
from sgdone.papers.logistic.problems import PLANE, PROBLEMS, Axis
from sgdone.papers.logistic.reference import constant_step, gradient_descent, perceptron_sgd
from sgdone.papers.logistic.risk_rates import LogisticRiskRates, curve_of
from sgdone.papers.running import measure_all

LOSSES = ["logistic", "exponential"]

# Problems


@pytest.mark.parametrize("name", PROBLEMS)
def test_rows_have_norm_one_at_most_and_s_is_the_span_of_those_not_separable(name):
    problem = PROBLEMS[name]
    assert np.linalg.norm(problem.rows, axis=1).max() <= 1
    inside = problem.rows[~problem.separable_rows]
    np.testing.assert_allclose(inside @ problem.subspace @ problem.subspace.T, inside, atol=1e-15)
    assert np.linalg.matrix_rank(inside) == len(problem.axes) if problem.axes else len(inside) == 0
    np.testing.assert_allclose(problem.subspace.T @ problem.subspace, np.eye(len(problem.axes)), atol=1e-15)


@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.direction])
def test_the_direction_has_the_largest_margin_across_s(name):
    problem = PROBLEMS[name]
    assert np.linalg.norm(problem.u) == pytest.approx(1)
    np.testing.assert_allclose(problem.u @ problem.subspace, 0, atol=1e-15)
    margins = problem.rows[problem.separable_rows] @ problem.u
    assert margins.min() == pytest.approx(problem.margin)
    for other in np.random.default_rng(0).standard_normal((2000, len(problem.u))):
        across = other - problem.subspace @ (problem.subspace.T @ other)
        assert (problem.rows[problem.separable_rows] @ across).min() <= problem.margin * np.linalg.norm(across) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.axes])
def test_the_finite_part_is_the_minimiser_on_s(name, loss):
    problem = PROBLEMS[name]
    inside = problem.rows[~problem.separable_rows]

    def value(w):
        margins = inside @ w
        each = np.logaddexp(0, -margins) if loss == "logistic" else np.exp(-margins)
        return float(each.sum()) / len(problem.rows)

    assert value(problem.v(loss)) == pytest.approx(problem.infimum(loss), rel=1e-14)
    for axis in problem.subspace.T:
        for step in (-1e-4, 1e-4):
            assert value(problem.v(loss) + step * axis) > problem.infimum(loss)


def test_separable_data_have_no_finite_part():
    problem = PROBLEMS["separable"]
    assert problem.infimum() == 0
    assert problem.modulus() == math.inf
    np.testing.assert_array_equal(problem.v(), [0, 0])


def test_an_axis_by_hand():
    axis = Axis(0.5, 3, 1)
    assert axis.optimum("logistic") == pytest.approx(2 * math.log(3))
    assert axis.optimum("exponential") == pytest.approx(math.log(3))
    assert axis.total(0.0, "logistic") == pytest.approx(4 * math.log(2))
    assert axis.least_curvature(10.0, "exponential") == pytest.approx(0.25 * 2 * math.sqrt(3))


# Runs


def test_descents_and_walks_are_those_of_the_reference_implementations():
    rows = PROBLEMS["general"].rows
    at = np.array([1, 40, 200])
    np.testing.assert_allclose(
        descend(rows, "1", at).iterates, gradient_descent(-rows, constant_step, 200)[at], rtol=1e-10
    )
    picks = np.random.default_rng(3).integers(len(rows), size=200)
    iterates, means = perceptron_means(rows, picks, at)
    path = perceptron_sgd(-rows[picks], 2, constant_step)
    np.testing.assert_allclose(iterates, path[at], rtol=1e-10)
    np.testing.assert_allclose(means, [path[:t].mean(axis=0) for t in at], rtol=1e-10)


def test_long_descents_are_made_in_stretches_that_do_not_show(monkeypatch):
    rows, at = PROBLEMS["general"].rows, np.array([0, 5, 300])
    whole = descend(rows, "1/√(j+1)", at)
    monkeypatch.setattr("sgdone.papers.logistic.descent._STRETCH", 7)
    pieces = descend(rows, "1/√(j+1)", at)
    np.testing.assert_array_equal(pieces.iterates, whole.iterates)
    np.testing.assert_allclose(pieces.step_sums, whole.step_sums, rtol=1e-14)


# Experiments


@pytest.fixture(scope="module")
def configurations():
    experiment = LogisticConfigurations(steps=2000)
    return experiment, measure_all(experiment)[0]


@pytest.fixture(scope="module")
def parameters():
    experiment = LogisticParameterRates(steps=3000)
    return experiment, measure_all(experiment)[0]


@pytest.fixture(scope="module")
def risks():
    experiment = LogisticRiskRates(runs=10, samples=1000, steps=2000)
    return experiment, measure_all(experiment)[0]


def by_sentence(claims, words):
    found = [claim for claim in claims if words in claim.reading]
    assert found, words
    return found


def test_every_configuration_is_found_as_it_was_made(configurations):
    experiment, rows = configurations
    (claim,) = by_sentence(experiment.claims(rows), "the diagnosis finds")
    assert claim.holds
    assert claim.measured.startswith("in 4 of 4")
    path = points_of(rows, "general", "path", "1")
    np.testing.assert_array_equal(path[0], [0, 0])
    np.testing.assert_allclose(path[-1], descend(PROBLEMS["general"].rows, "1", np.array([2000])).iterates[0])


def test_a_wrong_direction_or_finite_part_is_reported(configurations):
    experiment, rows = configurations
    for what in ("direction", "finite part"):
        wrong = [row | {"x1": row["x1"] + 1e-6} if row["what"] == what else row for row in rows]
        assert not any(claim.holds for claim in by_sentence(experiment.claims(wrong), "the diagnosis finds"))
    moved = [row | {"what": "row of S"} if row["what"] == "separable row" else row for row in rows]
    (claim,) = by_sentence(experiment.claims(moved), "the diagnosis finds")
    assert claim.measured.startswith("in 1 of 4"), "one configuration has no separable row"


def test_risks_are_within_bounds_and_one_beyond_is_reported(risks):
    experiment, rows = risks
    claims = experiment.claims(rows)
    assert by_sentence(claims, "within the bound at every t")[0].holds
    assert by_sentence(claims, "of the runs of SGD")[0].holds
    assert by_sentence(claims, "no run of SGD leaves")[0].holds
    for steps, words in (("1", "within the bound at every t"), ("sgd", "of the runs of SGD")):
        beyond = [row | {"bound": row["excess_risk"] / 2} if row["steps"] == steps else row for row in rows]
        assert not by_sentence(experiment.claims(beyond), words)[0].holds
    far = [row | {"norm": 1e3 * row["norm"]} for row in rows]
    assert not by_sentence(experiment.claims(far), "no run of SGD leaves")[0].holds


def test_a_risk_that_falls_too_slowly_is_reported(risks):
    experiment, rows = risks
    stuck = experiment.claims([row | {"excess_risk": 0.5} for row in rows])
    assert not any(claim.holds for claim in by_sentence(stuck, "is never larger in the later half"))
    slow = [row | {"excess_risk": 0.5 * row["t"] ** -0.25} for row in rows]
    assert not any(claim.holds for claim in by_sentence(experiment.claims(slow), "to the power of"))
    assert curve_of(slow, "general", "1").exponent() == pytest.approx(-0.25)


def test_a_wrong_step_size_breaks_the_bound_on_the_norm(monkeypatch):
    """Steps of 20 instead of 1 in the walk of SGD: the norm leaves 2·ln(t)/γ + 2."""
    experiment = LogisticRiskRates(runs=6, samples=200, steps=200)

    def within():
        return by_sentence(experiment.claims(measure_all(experiment)[0]), "no run of SGD leaves")[0].holds

    assert within()
    monkeypatch.setattr("sgdone.papers.logistic.risk_rates.perceptron_means", twenty_times_as_long)
    assert not within()


def twenty_times_as_long(rows, picks, at):
    # A step of η on rows y·x is a step of 1 on √η·y·x, in units of √η.
    size = math.sqrt(20.0)
    return tuple(size * found for found in perceptron_means(size * rows, picks, at))


def test_swapped_labels_break_the_structure(monkeypatch):
    """With the label of one separable row turned round the data are no longer those of the construction."""
    experiment = LogisticConfigurations(steps=100)
    separable = PROBLEMS["separable"]
    labels = separable.labels.copy()
    labels[0] = -labels[0]
    right = experiment.claims(measure_all(experiment)[0])
    assert by_sentence(right, "the diagnosis finds")[0].holds

    def with_a_label_swapped(X, y, **options):
        return separation(X, labels if X.shape == separable.rows.shape else y, **options)

    monkeypatch.setattr("sgdone.papers.logistic.configurations.separation", with_a_label_swapped)
    wrong = experiment.claims(measure_all(experiment)[0])
    assert not by_sentence(wrong, "the diagnosis finds")[0].holds


def test_the_risk_of_sgd_is_that_of_the_mean_iterate(risks):
    _, rows = risks
    curve = curve_of(rows, "separable", "sgd")
    assert curve.excess.shape == (10, len(curve.t))
    assert curve.excess[0, 0] == pytest.approx(math.log(2)), "at t = 1 the mean iterate is w_0 = 0"
    problem = PROBLEMS["separable"]
    assert mean_loss(problem.rows, np.zeros((1, 2)))[0] == pytest.approx(math.log(2))


def test_parameters_are_within_lemmas_and_rates(parameters):
    experiment, rows = parameters
    claims = experiment.claims(rows)
    for words in ("within Lemma D.1", "within Lemma D.5", "within Lemma D.2", "to ū over ln(ln(t))"):
        assert by_sentence(claims, words)[0].holds
    assert any("condition in the proof of Theorem 3.6" in tried.what for tried in experiment.also_tried(rows))
    for problem in PLANE:
        norms = [series(rows, problem.name, who, "norm") for who in (DESCENT, OPTIMAL)]
        np.testing.assert_array_equal(*norms)


def test_distances_that_do_not_fall_are_reported(parameters):
    experiment, rows = parameters
    for part, words in (("finite_part", "to v̄ over ln(t)²"), ("direction", "to ū over ln(ln(t))")):
        stuck = [row | {f"{part}_squared": 0.5 if row[f"{part}_squared"] is not None else None} for row in rows]
        assert not by_sentence(experiment.claims(stuck), words)[0].holds
    beyond = [row | {"direction_squared": 5.0} for row in rows]
    assert not by_sentence(experiment.claims(beyond), "within Lemma D.5")[0].holds
    for norm, words in ((lambda t: 40 + 9 * np.log(t) / 0.09, "within Lemma D.2"), (np.sqrt, "change by less than")):
        wrong = [row | {"norm_across_S": float(norm(row["t"]))} for row in rows]
        assert not by_sentence(experiment.claims(wrong), words)[0].holds
