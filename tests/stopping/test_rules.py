"""Budgets, the progressive loss, and their composition."""

import time

import numpy as np
import pytest

from running import run
from sgdone import losses, solvers, stopping
from sgdone.interfaces.stop_rule import Status, Turn
from sgdone.rows import ArraySource
from sgdone.stopping import MaxPasses, MaxSamples, MaxSeconds, Progress, ProgressiveLoss
from tiers import interpreted


@pytest.fixture
def source(rng):
    X = rng.standard_normal((1000, 4))
    return ArraySource(X, np.where(X[:, 0] + rng.standard_normal(1000) > 0, 1.0, -1.0))


def fit(source, stop, **options):
    return run(source, losses.Logistic(), solvers.asgd(), stop, alpha=0.01, **options).verdict


@pytest.mark.parametrize("samples", [1, 7, 999, 1000, 1001, 2500])
def test_max_samples_stops_at_exactly_that_sample(source, samples):
    verdict = fit(source, MaxSamples(samples))
    assert (verdict.step, verdict.status, verdict.rule) == (samples, Status.BUDGET_SPENT, "MaxSamples")
    assert verdict.passes == samples / 1000


@pytest.mark.parametrize(("passes", "rows"), [(1, 1000), (3, 3000), (0.5, 500), (1.2345, 1235)])
def test_max_passes_counts_rows(source, passes, rows):
    verdict = fit(source, MaxPasses(passes))
    assert (verdict.step, verdict.rule) == (rows, "MaxPasses")


def test_passes_without_an_update_are_reported():
    def stop_at(step):
        return MaxPasses(1200).observe(12_000, Progress(step, 12_000, 10, 1200, True, 0.7, 0.0))

    assert stop_at(0).reason == "1,200 passes allowed and made"
    assert stop_at(0).advice.startswith("No update was made")
    assert stop_at(1).advice == ""


def test_rows_of_weight_zero_are_read_but_not_counted_as_samples(rng):
    X = rng.standard_normal((100, 2))
    weights = np.tile([0.0, 1.0], 50)
    source = ArraySource(X, np.ones(100), weights)
    verdict = fit(source, MaxPasses(2))
    assert (verdict.step, verdict.passes) == (100, 2.0)
    assert fit(source, MaxSamples(30)).step == 30


def test_max_seconds_stops(source):
    start = time.perf_counter()
    verdict = fit(source, MaxSeconds(0.05))
    assert verdict.rule == "MaxSeconds"
    assert time.perf_counter() - start >= 0.05


def test_progressive_loss_compares_whole_passes():
    rule = ProgressiveLoss(tol=0.1)
    state = rule.start(100)

    def progress(number, loss, ended=True):
        return Progress(100 * number, 100 * number, 100, number, ended, loss, 0.0)

    assert rule.observe(state, progress(1, 0.5)) is None
    assert rule.observe(state, progress(2, 0.49, ended=False)) is None
    assert rule.observe(state, progress(2, float("nan"))) is None  # no row of positive weight
    assert rule.observe(state, progress(2, 0.4)) is None
    stop = rule.observe(state, progress(3, 0.37))  # less than a tenth below 0.4
    assert stop is not None
    assert stop.status is Status.CONVERGED
    assert stop.evidence["gain"] == pytest.approx(0.075)
    assert "pass 3 lowered the progressive loss by 7.50%" in stop.reason


@pytest.mark.parametrize("loss", [0.6, float("inf")])
def test_a_loss_that_rises_is_not_convergence(loss):
    rule = ProgressiveLoss()
    state = rule.start(100)
    assert rule.observe(state, Progress(100, 100, 100, 1, True, 0.5, 0.0)) is None
    stop = rule.observe(state, Progress(200, 200, 100, 2, True, loss, 0.0))
    assert stop.status is Status.STALLED
    assert "raised the progressive loss" in stop.reason
    assert stop.advice == "The steps are too large: standardise the features, or use a smaller step."
    assert "step" in stop.advice


@interpreted
def test_a_huge_first_pass_does_not_hide_the_next_ones(rng):
    """Sums that ran on from pass to pass would lose the small losses behind the large ones."""
    X = rng.standard_normal((400, 3))
    y = 1e9 + X[:, 0]
    result = run(ArraySource(X, y), losses.Squared(), solvers.aisgd(), MaxPasses(6), alpha=0.0, task="regression")
    trace = result.trace["loss"]
    assert np.all(trace > 0)
    assert np.all(np.isfinite(trace))
    assert trace[-1] < 1e-3 * trace[0]


def test_seconds_between_two_runs_do_not_count():
    rule = MaxSeconds(1.0)
    clock = rule.start(None)

    def at(seconds):
        return rule.observe(clock, Progress(1, 1, None, 1, True, 0.5, seconds))

    assert at(0.3) is None
    assert at(0.6) is None
    assert at(0.2) is None  # another run: 0.8 in all
    assert at(0.39) is None
    assert at(0.41).rule == "MaxSeconds"


def test_models_that_take_turns_share_the_seconds():
    def fires(began, number, seconds):
        rule = MaxSeconds(10.0)
        progress = Progress(1, 1, None, 1, True, 0.5, seconds, turn=Turn(began, number, 4))
        return rule.observe(rule.start(None), progress) is not None

    assert [fires(0.0, 0, 2.4), fires(0.0, 0, 2.6)] == [False, True]
    assert [fires(1.0, 1, 3.9), fires(1.0, 1, 4.1)] == [False, True]  # the first has left some of its seconds
    assert [fires(9.0, 3, 9.9), fires(9.0, 3, 10.1)] == [False, True]


def test_part_of_a_pass_is_not_rounded_up_by_a_rounding_error():
    assert MaxPasses(0.07).start(100) == 7
    assert MaxPasses(1 / 3).start(3) == 1


def test_rules_compose_with_rules_only():
    with pytest.raises(TypeError):
        MaxPasses(1) | 2


def test_progressive_loss_ends_a_run(source):
    verdict = fit(source, ProgressiveLoss(tol=0.05))
    assert verdict.status is Status.CONVERGED
    assert verdict.passes == int(verdict.passes) >= 2


def test_and_fires_with_the_last(source):
    verdict = fit(source, MaxSamples(700) & MaxPasses(2))
    assert (verdict.step, verdict.rule) == (2000, "MaxPasses")
    verdict = fit(source, MaxSamples(2700) & MaxPasses(2))
    assert (verdict.step, verdict.rule) == (2700, "MaxSamples")
    assert verdict.reason == "MaxSamples allows 2,700, after MaxPasses"


def test_a_run_over_part_of_a_stream_counts_passes_not_rows(rng):
    X = rng.standard_normal((50, 2))
    source = ArraySource(X, np.ones(50), part_of_stream=True)
    result = None
    for _ in range(4):
        result = run(source, losses.Logistic(), solvers.asgd(), MaxPasses(4), alpha=0.01, resume=result)
    assert (result.verdict.rule, result.verdict.step) == ("MaxPasses", 200)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaxPasses(0), "passes=0 is not a positive number"),
        (lambda: stopping.MinPasses(float("nan")), "passes=nan"),
        (lambda: MaxPasses(True), "passes=True"),
        (lambda: MaxSamples(-3), "samples=-3"),
        (lambda: MaxSamples(2.5), "samples=2.5 is not a whole number"),
        (lambda: MaxSeconds("soon"), "seconds='soon'"),
        (lambda: ProgressiveLoss(1.0), r"tol=1.0 is not in \[0, 1\)"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_names_in_the_folder():
    from sgdone.interfaces.method import by_name, names

    known = {"auto", "decrement", "distance", "gain", "margin", "one_pass", "pflug", "progressive"}
    assert set(names(stopping.StopRule, stopping)) == known | {"small_validation_set"}
    assert by_name("one-pass", stopping.StopRule, stopping, "rule") == MaxPasses(1)
    with pytest.raises(ValueError, match=r"unknown rule 'onepass'. Did you mean 'one_pass'\? Known: auto, decrement"):
        by_name("onepass", stopping.StopRule, stopping, "rule")
