"""The experiments of Holland (2018): what they draw, run and conclude."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from sgdone.papers.catalogue import find
from sgdone.papers.margin_pursuit.benchmark_claims import (
    QUANTITIES,
    bests_of,
    claims_of_benchmarks,
    tried_on_benchmarks,
)
from sgdone.papers.margin_pursuit.runs import (
    AS_PEGASOS,
    PEGASOS,
    PRINTED,
    READINGS,
    ROOT,
    SETS,
    ComparedMethod,
    Pool,
    TrainingSample,
    errors_of,
    margins_of,
    points_of,
    weights_along,
)
from sgdone.papers.margin_pursuit.scaling import FOLLOWS, claims_of_scaling, panels_of
from sgdone.papers.running import measure_all

SEED = np.random.SeedSequence(4)


def claims(name, size="smoke"):
    experiment = find(name).of_size(size)
    return {claim.reading: claim for claim in experiment.claims(measure_all(experiment, [1])[0])}


def test_the_functions_are_as_the_paper_has_them():
    found = claims("margin-functions", "full")
    assert len(found) == 4
    assert all(claim.holds for claim in found.values()), found


def test_the_cubics_hold_with_the_constants_swapped_alone():
    found = list(claims("margin-cubics").values())
    assert [claim.holds for claim in found] == [True, True, False, False]
    assert "swapped in print" in found[3].reason
    assert found[3].measured.startswith("at 0 of ")


def test_the_excess_error_that_a_large_scale_leaves_goes_to_0():
    found = claims("margin-calibration")
    broken = [claim for claim in found.values() if not claim.holds]
    assert [claim.reading.split()[0] for claim in broken] == ["Ψ⁻¹(ε/s)"]
    assert "√(2ε/s)/γ" in broken[0].reason
    (rows,) = measure_all(find("margin-calibration").of_size("smoke"), [0])
    last = [row for row in rows if row["panel"] == "ε/s" and row["x"] == pytest.approx(1e4)]
    assert len(last) == 5
    for row in last:
        assert row["value"] == pytest.approx(math.sqrt(2 * 0.5 / 1e4) / row["curve"], rel=1e-3)


def test_draws_are_balanced_disjoint_and_of_the_size_reported():
    pool = Pool(np.arange(200.0)[:, None], np.where(np.arange(200) < 60, 1.0, -1.0), 41)
    sample = pool.draw(np.random.default_rng(0))
    assert sample.n_rows == 41
    assert (np.sum(sample.labels > 0), np.sum(sample.labels < 0)) == (21, 20)
    assert np.sum(sample.labels_test > 0) == np.sum(sample.labels_test < 0) == 39, "all positives that are left"
    assert not set(sample.X[:, 0]) & set(sample.X_test[:, 0])
    assert pool.draw(np.random.default_rng(0), 10).labels_test.size == 10
    other = pool.draw(np.random.default_rng(1))
    assert set(other.X[:, 0]) != set(sample.X[:, 0])


def test_features_are_scaled_by_the_largest():
    assert np.abs(Pool.load("digits5").X).max() == 1.0
    largest = np.abs(Pool.load("breast-cancer").X).max(axis=0)
    np.testing.assert_allclose(largest, 1.0, rtol=1e-6)
    assert {choice.scaled for choice in SETS.values()} == {"no", "largest", "each"}


def projected(w, radius):
    norm = np.linalg.norm(w)
    return w if norm <= radius else w * (radius / norm)


def by_hand(x, label, method, points):
    """Stochastic projected gradients with the same row again and again: eq. (5) with a penalty, section 4."""
    rng = np.random.default_rng(SEED)
    w, s, seen = rng.uniform(-0.05, 0.05, x.size), 1.0, {}
    lam = method.alpha
    for t in range(1, int(points[-1]) + 1):
        margin = label * (w @ x)
        if method.steps == PEGASOS:
            slope = -label if margin <= 1 else 0.0
        else:
            u = np.clip((1.0 - margin) / s, -math.sqrt(2), math.sqrt(2))
            slope = -label * s * (u - u**3 / 6)
        step_scale = s if method.follows else 1.0
        step = {PRINTED: 1 / (step_scale * math.sqrt(lam) * t), ROOT: 1 / math.sqrt(t)}.get(method.steps, 1 / (lam * t))
        w = projected((1 - step * lam) * w - step * slope * x, lam**-0.5)
        if t in points:
            seen[t] = w
        if t == method.reset:
            v = abs(w @ x)
            s = math.sqrt(5 * v / (2 * lam * math.log(1 / 0.05)))
    return np.array(list(seen.values()))


METHODS = [
    *(ComparedMethod(steps, alpha) for steps in (PEGASOS, *READINGS) for alpha in (0.5, 1e-3)),
    ComparedMethod(PRINTED, 1e-3, 7),
    ComparedMethod(PRINTED, 1e-3, 7, follows=False),
    ComparedMethod(AS_PEGASOS, 1e-1, 7),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.slow
def test_runs_follow_the_paper(method):
    x = np.array([0.3, -1.2, 0.7])
    sample = TrainingSample(np.tile(x, (5, 1)), np.full(5, -1.0), np.empty((0, 3)), np.empty(0))
    points = np.array([1, 2, 5, 6, 8, 20])
    np.testing.assert_allclose(weights_along(sample, method, points, SEED), by_hand(x, -1.0, method, points), rtol=1e-9)


def test_points_go_from_a_twentieth_of_a_pass_to_the_last():
    points = points_of(1000, 10, 12)
    assert (points[0], points[-1], points.size) == (50, 10_000, 12)
    assert np.all(np.diff(points) > 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_errors_and_margins_are_of_each_of_the_weights(form, monkeypatch):
    rng = np.random.default_rng(0)
    X, labels, weights = (
        rng.standard_normal((30, 3)),
        np.where(rng.random(30) < 0.5, 1.0, -1.0),
        rng.standard_normal((4, 3)),
    )
    monkeypatch.setattr("sgdone.papers.margin_pursuit.runs._SCORES", 20)
    expected = [np.mean(np.where(X @ w > 0, 1.0, -1.0) != labels) for w in weights]
    np.testing.assert_allclose(errors_of(form(X), labels, weights), expected)
    found = margins_of(TrainingSample(form(X), labels, form(X), labels), weights)
    np.testing.assert_allclose([each.mean for each in found], [(labels * (X @ w)).mean() for w in weights])


def benchmark_rows(ours, theirs, alphas=(0.1, 0.01)):
    """Runs of three points and six trials; ``ours`` and ``theirs`` change what is measured."""
    rows = []
    for method in (*READINGS, PEGASOS):
        change = theirs if method == PEGASOS else ours
        for alpha in alphas:
            for trial in range(6):
                for k, gradients in enumerate((10, 100, 1000)):
                    row = {"data": "set", "method": method, "lambda": alpha, "trial": trial, "gradients": gradients}
                    row |= dict.fromkeys(QUANTITIES, 0.1) | {"mean": 0.2 * k}
                    rows.append(row | change(alpha, trial, k))
    return rows


def test_the_best_penalty_is_that_of_the_lowest_mean_error_anywhere():
    rows = benchmark_rows(
        lambda alpha, trial, k: {"test_error": 0.3 - 0.1 * (k == 1 and alpha == 0.01) + 0.02 * (trial % 2)},
        lambda alpha, trial, k: {"test_error": 0.2},
    )
    best = bests_of(rows)["set", PRINTED]
    assert best.alpha == 0.01
    assert best.error() == pytest.approx(0.21)
    assert best.standard_error() == pytest.approx(0.01 / math.sqrt(5))


def test_claims_of_the_benchmarks_follow_the_measurements():
    good = claims_of_benchmarks(
        benchmark_rows(
            lambda alpha, trial, k: {"test_error": 0.2, "standard_deviation": 0.5, "skew": -0.1},
            lambda alpha, trial, k: {"test_error": 0.19, "standard_deviation": 0.6, "skew": 0.2, "mean": 2.0 / (1 + k)},
        )
    )
    assert len(good) == 5, "the four sentences on margin pursuit, and that on Pegasos"
    assert all(claim.holds for claim in good)
    bad = claims_of_benchmarks(
        benchmark_rows(
            lambda alpha, trial, k: {"test_error": 0.22, "standard_deviation": 0.6, "skew": 0.3, "mean": 1.0 - k},
            lambda alpha, trial, k: {"test_error": 0.19, "standard_deviation": 0.6, "skew": 0.2},
        )
    )
    assert not any(claim.holds for claim in bad)


def test_a_reading_that_is_also_tried_does_not_change_the_claims():
    rows = benchmark_rows(lambda alpha, trial, k: {"test_error": 0.2}, lambda alpha, trial, k: {"test_error": 0.19})
    poor = [row | {"test_error": 0.4} if row["method"] == ROOT else row for row in rows]
    assert claims_of_benchmarks(poor) == claims_of_benchmarks(rows)
    assert tried_on_benchmarks(poor) != tried_on_benchmarks(rows)
    assert not any(AS_PEGASOS in tried.what for tried in tried_on_benchmarks(rows))


@pytest.mark.slow
def test_swapped_labels_break_a_claim_of_the_benchmarks(monkeypatch):
    """Margin pursuit that is trained on labels turned round is no longer competitive."""
    smoke = find("margin-benchmarks").of_size("smoke")
    experiment = replace(smoke, sets=("digits5",), passes=10, trials=6, grid=(1e-1, 1e-2))

    def competitive():
        return experiment.claims(measure_all(experiment, [0])[0])[0].holds

    assert competitive()
    monkeypatch.setattr("sgdone.papers.margin_pursuit.benchmarks.weights_along", turned_round)
    assert not competitive()


def turned_round(sample, method, points, seed):
    if method.steps == PEGASOS:
        return weights_along(sample, method, points, seed)
    return weights_along(
        TrainingSample(sample.X, -sample.labels, sample.X_test, sample.labels_test), method, points, seed
    )


def scaling_rows(best, under, keeps, follows):
    rows = []
    for steps in (PRINTED, AS_PEGASOS):
        runs = [("s = 1", 0.1, best), ("s = 1", 0.01, best + 0.1), ("s = 1", 1e-4, under), ("s = 1", 1e-5, 0.5)]
        runs += [("s reset, steps as before", 1e-4, keeps), ("s reset, steps as before", 1e-5, 0.5)]
        runs += [("s reset, steps with it", lam, follows) for lam in (1e-4, 1e-5) if steps == PRINTED]
        rows += [
            {"data": "set", "steps": steps, "lambda": lam, "scale": scale, "trial": trial, "reset_at": 100,
             "gradients": gradients, "test_error": 0.5 if gradients == 10 else error}
            for scale, lam, error in runs for trial in range(6) for gradients in (10, 1000)
        ]  # fmt: skip
    return rows


def test_claims_of_the_scaling_compare_the_thousandth_of_the_best_penalty():
    rows = scaling_rows(best=0.1, under=0.4, keeps=0.105, follows=0.45)
    panel = panels_of(rows, (0.1, 0.01))["set", PRINTED]
    assert (panel.alpha, panel.small) == (0.1, 1e-4)
    assert [claim.holds for claim in claims_of_scaling(rows, (0.1, 0.01))] == [True, True, True]
    assert [claim.holds for claim in claims_of_scaling(rows, (0.1, 0.01), scale=FOLLOWS)] == [True, False, False]
    caught = claims_of_scaling(scaling_rows(best=0.4, under=0.4, keeps=0.5, follows=0.3), (0.1, 0.01))
    assert [claim.holds for claim in caught] == [False, False, False]


def test_the_forms_have_the_paper_s_sets_and_penalties():
    full = find("margin-benchmarks").of_size("full")
    assert full.grid == pytest.approx([1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
    assert full.sets == find("margin-scaling").of_size("full").sets == ("COV", "DIGIT5", "a9a", "money-fx")
    assert [SETS[name].rows for name in full.sets] == [540, 5000, 1230, 425]
