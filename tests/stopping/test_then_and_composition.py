"""Going on after a stop, and rules made of rules.

Run as a program, with Numba switched off so that no composition costs a compilation, this file draws random
compositions and compares each with what its parts do alone.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from running import run
from sgdone import losses, solvers, steps, stopping
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from sgdone.stopping import (
    AllOf,
    AnyOf,
    Distance,
    MarginTest,
    MaxPasses,
    MaxSamples,
    MaxSeconds,
    MinPasses,
    Pflug,
    ProgressiveLoss,
    SmallValidationSet,
    Then,
)
from tiers import fast_first, interpreted

LOGISTIC = losses.Logistic()


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((300, 4))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(300) > 0, 1.0, -1.0)


def fit(rows, stop, *, gamma=0.1, shuffle=False, **options):
    source = ArraySource(*rows, shuffle=shuffle)
    return run(source, LOGISTIC, solvers.SGD(), stop, alpha=0.01, step=steps.Constant(gamma), **options)


@pytest.mark.parametrize("factor", [0.99, 0, -1, float("nan"), float("inf"), True, "2", None])
def test_factors_that_are_none(factor):
    with pytest.raises(ValueError, match=r"then\(.*\): the factor must be a number, at least 1"):
        MarginTest().then(factor)


RULES = [
    MarginTest(),
    MarginTest(fresh=True),
    SmallValidationSet(7),
    Pflug(13),
    Distance(),
    MaxPasses(0.37),
    MinPasses(1),
    MaxSamples(41),
    ProgressiveLoss(0.5),
    MarginTest() | MaxPasses(3),
    Pflug(13) & MinPasses(1),
]


@interpreted
@pytest.mark.parametrize("rule", fast_first(1, RULES), ids=repr)
def test_every_rule_goes_on_to_a_multiple_of_its_samples(rule, rows):
    alone, longer = fit(rows, rule).verdict, fit(rows, rule.then(1.5)).verdict
    assert alone.step > 0
    assert longer.step == math.ceil(1.5 * alone.step)
    assert (longer.rule, longer.status) == (alone.rule, alone.status)
    assert longer.evidence["factor"] == 1.5
    assert "continued to 1.5 times the samples" in longer.reason
    assert fit(rows, rule.then(1)).verdict.step == alone.step
    assert fit(rows, rule.then(1.5), block_size=1).verdict.reason == longer.reason


@interpreted
def test_what_it_says_on_the_way(rows):
    verdict = fit(rows, MarginTest().then(100) | MaxPasses(1)).verdict
    assert verdict.rule == "MaxPasses"
    (others,) = verdict.evidence["others"]
    assert others.startswith("MarginTest fired (margin ")
    assert others.endswith(f"and continues to sample {100 * fit(rows, MarginTest()).verdict.step:,}")


@interpreted
def test_a_rule_that_never_fires_never_goes_on(rows):
    verdict = fit(rows, MarginTest(1e6).then(1.5)).verdict
    assert (verdict.rule, verdict.passes) == ("MaxPasses", 100.0)
    assert "MarginTest saw no margin of 1e+06 or more" in verdict.reason


@pytest.mark.parametrize("factor", [1.1, 4.35, 1 / 0.3])
def test_a_rounding_error_is_not_one_more_sample(factor, rows):
    """1.1·10 is 11.000000000000002."""
    assert fit(rows, MaxSamples(10).then(factor)).verdict.step == math.ceil(round(10 * factor, 6))


@interpreted
def test_the_earlier_of_two_and_what_the_other_says(rows):
    margin, pflug = (fit(rows, rule).verdict for rule in (MarginTest(), Pflug(13)))
    assert margin.step < pflug.step
    verdict = fit(rows, MarginTest() | Pflug(13)).verdict
    assert (verdict.rule, verdict.status, verdict.step) == ("MarginTest", Status.CONVERGED, margin.step)
    assert verdict.reason.startswith(margin.reason + "; Pflug ")
    assert len(verdict.evidence["others"]) == 1
    assert verdict.evidence["margin"] == margin.evidence["margin"]


@pytest.mark.slow
def test_all_others_have_their_say(rows):
    verdict = fit(rows, MarginTest() | Pflug(10**6) | Distance(first=50) | MaxPasses(3)).verdict
    assert [words.split()[0] for words in verdict.evidence["others"]] == ["Pflug", "Distance", "MaxPasses"]
    for words in verdict.evidence["others"]:
        assert words in verdict.reason


@interpreted
def test_a_rule_alone_has_no_others(rows):
    """The budget that nobody asked for keeps silent."""
    verdict = fit(rows, MarginTest()).verdict
    assert "others" not in verdict.evidence
    assert "; " not in verdict.reason


@interpreted
def test_the_later_of_two_is_named_and_both_give_their_reasons(rows):
    margin, pflug = (fit(rows, rule).verdict for rule in (MarginTest(), Pflug(13)))
    verdict = fit(rows, MarginTest() & Pflug(13)).verdict
    assert (verdict.rule, verdict.step) == ("Pflug", pflug.step)
    assert verdict.reason == f"{margin.reason} and {pflug.reason}"
    assert verdict.evidence == {"MarginTest": margin.evidence, "Pflug": pflug.evidence}


@interpreted
def test_a_part_that_has_fired_stays_fired(rows):
    """The margin reaches 1 early in the first pass; whether one does at the end of the second is of no account."""
    verdict = fit(rows, MarginTest() & MinPasses(2)).verdict
    assert (verdict.rule, verdict.step, verdict.passes) == ("MinPasses", 600, 2.0)
    first = fit(rows, MarginTest()).verdict
    assert verdict.reason == f"{first.reason} and at least 2 passes made"
    waiting = fit(rows, (MarginTest() & Pflug(10**6)) | MaxPasses(1)).verdict
    assert f"MarginTest fired ({first.reason})" in waiting.reason


@interpreted
@pytest.mark.parametrize("passes", [0.25, 1, 1.5])
def test_at_least_so_many_passes(passes, rows):
    late = fit(rows, Pflug(13)).verdict.step
    verdict = fit(rows, Pflug(13) & MinPasses(passes)).verdict
    assert verdict.step == max(late, int(300 * passes))


REPRESENTED = [
    *RULES,
    MarginTest() | Pflug() | MaxPasses(3),
    MarginTest() | (Pflug() | MaxPasses(3)),
    MarginTest() & (Pflug() & MinPasses(3)),
    (MarginTest() | Pflug()) & (MinPasses(1) | MaxSeconds(3.5)),
    (MarginTest() & Pflug() | MaxPasses(1)).then(1.23456789),
    (MarginTest().then(1.5) & Pflug()).then(2) | Distance().then(1.1).then(1.2),
]


@pytest.mark.parametrize("rule", REPRESENTED, ids=repr)
def test_a_rule_is_what_it_says(rule):
    assert eval(repr(rule), vars(stopping).copy()) == rule


@interpreted
def test_a_run_may_go_on_with_a_rule_that_has_no_bound(rows):
    options = {"alpha": 0.01, "step": steps.Constant(0.1), "single_pass": True}
    rule = MarginTest(8.0)
    parts = run(ArraySource(*rows, shuffle=False), LOGISTIC, solvers.SGD(), rule, **options)
    assert parts.verdict.rule == ""
    for _ in range(2):
        parts = run(ArraySource(*rows, shuffle=False), LOGISTIC, solvers.SGD(), rule, alpha=0.01, resume=parts)
        if parts.verdict.rule == "MarginTest":
            break
    whole = fit(rows, rule)
    assert whole.verdict.step > 300
    assert parts.verdict.step == whole.verdict.step
    assert parts.coef.tobytes() == whole.coef.tobytes()


def test_a_run_whose_rules_have_all_fired_goes_no_further(rows):
    rule = MaxSamples(50) & MaxPasses(0.5)
    ended = fit(rows, rule)
    again = run(ArraySource(*rows), LOGISTIC, solvers.SGD(), rule, alpha=0.01, resume=ended)
    assert again.verdict.step == ended.verdict.step == 150


def test_endless_budgets_bound_nothing():
    endless = float("inf")
    assert not (MaxSeconds(endless) | MaxPasses(endless) | MinPasses(endless)).bounded
    assert (MaxSeconds(endless) | MaxPasses(3)).bounded
    assert not (MarginTest() & MaxPasses(3)).bounded
    assert MaxPasses(3).then(2).bounded


@interpreted
@pytest.mark.parametrize("stop", [Distance(first=50) | MaxPasses(3), MarginTest(50.0) | MaxPasses(3)], ids=repr)
def test_advice_is_the_same_for_any_block_size(stop, rows):
    whole = fit(rows, stop, gamma=0.01).verdict.advice
    assert "allow more passes" in whole
    assert {fit(rows, stop, gamma=0.01, block_size=size).verdict.advice for size in (1, 7, 299)} == {whole}


@pytest.mark.slow
@pytest.mark.parametrize("count", fast_first(1, [15, 250]))
def test_any_composition_stops_where_its_parts_say(count):
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, __file__, str(count)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{count} compositions\n"


class Drawn:
    """A small random problem and a composition of rules that leave the model's way alone, by a seed."""

    PASSES = 6

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        n_rows, n_features = int(rng.integers(1, 60)), int(rng.integers(1, 5))
        self.X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7)
        scores = self.X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)
        self.y = np.where(scores > 0, 1.0, -1.0)
        self.weights = rng.uniform(0.5, 2.0, n_rows) * (rng.random(n_rows) < 0.8)
        self.weights[0] = 1.0
        self.gamma = float(rng.choice([0.05, 0.3]))
        self.solver = [solvers.SGD(), solvers.ISGD(), solvers.Averaged(solvers.SGD(), 10)][rng.integers(3)]
        self.rule = self.draw(3)

    def draw(self, depth):
        rng = self.rng
        kind = rng.integers(3)
        if depth == 0 or rng.random() < 0.25:
            return self.draw_simple(rng)
        if kind == 0:
            return self.draw(depth - 1) | self.draw(depth - 1)
        if kind == 1:
            return self.draw(depth - 1) & self.draw(depth - 1)
        return self.draw(depth - 1).then(float(rng.choice([1, 1.3, 1.5, 2])))

    @staticmethod
    def draw_simple(rng):
        rules = (
            MarginTest(float(rng.choice([0.05, 0.2, 0.5, 1.0, 2.0]))),
            Pflug(int(rng.integers(1, 60))),
            Distance(float(rng.choice([1.2, 1.5, 2])), float(rng.choice([0.3, 0.6, 1.5])), int(rng.integers(5))),
            MaxSamples(int(rng.integers(1, 150))),
            MaxPasses(float(rng.choice([0.3, 1, 1.7, 2]))),
            MinPasses(float(rng.choice([0.5, 1, 2]))),
            ProgressiveLoss(float(rng.choice([0.0, 0.05, 0.5]))),
        )
        return rules[rng.integers(len(rules))]

    def run(self, rule, block_size=None):
        source = ArraySource(self.X, self.y, self.weights, shuffle=False)
        step = steps.Constant(self.gamma)
        stop = rule | MaxPasses(self.PASSES)
        return run(source, LOGISTIC, self.solver, stop, alpha=0.01, step=step, block_size=block_size)

    def stop(self, rule):
        """Where a rule fires according to its parts, each alone."""
        if isinstance(rule, AnyOf):
            return min(self.stop(part) for part in rule.rules)
        if isinstance(rule, AllOf):
            return max(self.stop(part) for part in rule.rules)
        if isinstance(rule, Then):
            sample = self.stop(rule.rule)
            return sample if math.isinf(sample) else math.ceil(round(rule.factor * sample, 6))
        verdict = self.run(rule).verdict
        ended_by_itself = verdict.rule != "MaxPasses" or isinstance(rule, MaxPasses)
        return verdict.step if ended_by_itself else math.inf

    def check(self):
        last = self.run(MaxPasses(self.PASSES)).verdict.step
        result = self.run(self.rule)
        assert result.verdict.step == min(last, self.stop(self.rule)), (self.rule, result.verdict)
        assert eval(repr(self.rule), vars(stopping).copy()) == self.rule
        for block_size in (1, 5):
            parts = self.run(self.rule, block_size)
            assert parts.coef.tobytes() == result.coef.tobytes()
            assert parts.verdict.reason == result.verdict.reason
            assert parts.verdict.evidence == result.verdict.evidence


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        Drawn(seed).check()
    print(f"{sys.argv[1]} compositions")
