"""SGD½ and ISGD½: when the step is halved, with any detector, and what the verdict says of it."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import sparse

from problems import random_problem
from running import run
from sgdone import SGDClassifier, losses, solvers, steps, stopping
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from sgdone.solvers import ISGD, SGD, Halving
from sgdone.stopping import (
    Distance,
    MarginTest,
    MaxPasses,
    MaxSamples,
    MinPasses,
    Pflug,
    ProgressiveLoss,
    SmallValidationSet,
)
from tiers import grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()
GAMMA = 0.4


@dataclass(frozen=True)
class Staircase(steps.StepSize):
    """Halved behind some samples: what a run should have used according to its verdict."""

    halvings: tuple[int, ...] = field(default=())
    name = "staircase"

    def __call__(self, t):
        return GAMMA * 0.5 ** np.searchsorted(np.array(self.halvings, dtype=np.int64), t, side="left")

    def resolve(self, preliminary):
        return self


def fit(problem, solver, stop=None, *, as_csr=False, gamma=GAMMA, shuffle=False, **options):
    source = problem.source(as_csr=as_csr, shuffle=shuffle)
    stop = MaxPasses(4) if stop is None else stop
    options = {"alpha": 0.01, "step": steps.Constant(gamma)} | options
    return run(source, LOGISTIC, solver, stop, **options)


def halvings(result):
    return [halving["sample"] for halving in result.verdict.evidence["halvings"]]


@pytest.fixture
def problem():
    """Some rows of weight 0, the last ones among them."""
    problem = random_problem(17, LOGISTIC, n_rows=300, n_features=5)
    problem.weights[-3:] = 0.0
    return problem


@interpreted
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"inner": solvers.asgd()}, TypeError, "give a method that steps along rows"),
        ({"inner": "sgd"}, TypeError, "give a method that steps along rows"),
        ({"detector": "pflug"}, TypeError, "is no stopping rule"),
        ({"detector": SmallValidationSet()}, ValueError, "holds rows out, which a detector cannot"),
        ({"detector": Pflug() | SmallValidationSet()}, ValueError, "holds rows out, which a detector cannot"),
        ({"detector": SmallValidationSet().then(2)}, ValueError, "holds rows out, which a detector cannot"),
        ({"smallest": -1e-3}, ValueError, "smallest=-0.001"),
        ({"smallest": float("nan")}, ValueError, "smallest=nan"),
    ],
    ids=repr,
)
def test_parameters_that_are_none(options, error, message):
    with pytest.raises(error, match=message):
        Halving(**options)


@interpreted
@pytest.mark.parametrize("step", [steps.Xu(), steps.InverseTime(), steps.InverseSqrt()], ids=lambda step: step.name)
def test_steps_that_change_by_themselves(step, problem):
    with pytest.raises(ValueError, match="changes by itself: halving needs a constant step"):
        fit(problem, Halving(), step=step)


@interpreted
@pytest.mark.slow
def test_the_class_scale_is_a_constant_step(problem):
    assert fit(problem, Halving(SGD(), Pflug(20)), step=steps.ClassScale(1.0)).verdict.step > 0


@interpreted
@pytest.mark.slow
def test_names_and_contradictions(problem):
    X, y = problem.X, problem.y > 0
    for name, inner in (("sgd-half", SGD()), ("isgd_half", ISGD())):
        named = SGDClassifier(solver=name, stop=2, random_state=0).fit(X, y)
        built = SGDClassifier(solver=Halving(inner), stop=2, random_state=0).fit(X, y)
        assert named.coef_.tobytes() == built.coef_.tobytes()
    with pytest.raises(ValueError, match="cannot be averaged"):
        SGDClassifier(solver="sgd-half", average=True).fit(X, y)


DETECTORS = [
    Pflug(20),
    Distance(first=2),
    MaxSamples(37),
    MaxPasses(0.5),
    MinPasses(1),
    ProgressiveLoss(0.2),
    MarginTest(0.8),
    MarginTest(0.8, fresh=True),
    MarginTest(0.8) & MaxSamples(50),
    Pflug(20) & MinPasses(0.3),
    Pflug(20) | MaxPasses(0.7),
    Pflug(20).then(1.5),
]


@interpreted
@pytest.mark.slow
@pytest.mark.parametrize("detector", DETECTORS, ids=repr)
def test_any_rule_may_detect(detector, problem):
    """The same model as plain SGD with the steps that the verdict tells of; block size is irrelevant."""
    solver = Halving(SGD(), detector, smallest=0)
    result = fit(problem, solver)
    found = halvings(result)
    assert len(found) > 1
    assert found == sorted(set(found))
    sizes = [halving["step_size"] for halving in result.verdict.evidence["halvings"]]
    assert sizes == [GAMMA * 0.5**k for k in range(1, len(found) + 1)]
    if not getattr(detector, "fresh", False):
        expected = fit(problem, SGD(), step=Staircase(tuple(found)))
        assert np.allclose(result.coef, expected.coef, rtol=1e-10, atol=1e-12)
    for block_size in (1, 8):
        parts = fit(problem, solver, block_size=block_size)
        assert halvings(parts) == found
        assert parts.coef.tobytes() == result.coef.tobytes()


@interpreted
def test_rules_that_count_count_from_the_last_halving(problem):
    used = np.count_nonzero(problem.weights)
    assert halvings(fit(problem, Halving(SGD(), MaxSamples(37))))[:4] == [37, 74, 111, 148]
    assert halvings(fit(problem, Halving(SGD(), MinPasses(1)))) == [used, 2 * used, 3 * used, 4 * used]
    assert halvings(fit(problem, Halving(SGD(), MaxPasses(0.5))))[1::2] == [used, 2 * used, 3 * used, 4 * used]


@interpreted
@pytest.mark.slow
def test_a_margin_halves_before_the_row_that_has_it(problem):
    """And once only: the row is then learnt from."""
    found = halvings(fit(problem, Halving(SGD(), MarginTest(0.8), smallest=0)))
    assert found[0] == fit(problem, SGD(), MarginTest(0.8)).verdict.step
    assert np.all(np.diff(found) >= 1)


@interpreted
def test_the_verdict_lists_each_halving(problem):
    none = fit(problem, Halving(SGD(), Pflug(10**6))).verdict
    assert none.reason == "4 passes allowed and made; Pflug never halved the step"
    assert none.evidence["halvings"] == []
    once = fit(problem, Halving(SGD(), MaxSamples(800))).verdict
    assert once.reason == "4 passes allowed and made; step halved once, at sample 800, to 0.2"
    often = fit(problem, Halving(SGD(), MaxSamples(100))).verdict
    last = 100 * (often.step // 100)
    times = last // 100
    words = f"step halved {times} times, at samples 100, 200, 300, …, {last:,}, to {GAMMA * 0.5**times:.3g}"
    assert often.reason.endswith(words)
    assert len(often.evidence["halvings"]) == times
    composed = fit(problem, Halving(SGD(), Pflug(10**6) & MinPasses(1))).verdict
    assert composed.reason == "4 passes allowed and made; never halved the step"


@interpreted
@pytest.mark.parametrize("smallest", [0.01, 0])
def test_too_small_a_step_ends_the_fit(smallest, problem):
    verdict = fit(problem, Halving(SGD(), MaxSamples(1), smallest), MaxPasses(10)).verdict
    limit = max(smallest, np.finfo(np.float64).tiny)
    assert (verdict.status, verdict.rule) == (Status.CONVERGED, "Halving")
    assert verdict.step == int(np.floor(np.log2(GAMMA / limit))) + 1
    assert verdict.evidence["halvings"][-1]["step_size"] < limit
    assert verdict.evidence["halvings"][-2]["step_size"] >= limit
    assert "the step size fell below" in verdict.reason


@interpreted
@pytest.mark.slow
def test_a_stop_rule_works_beside_the_detector(problem):
    solver = Halving(SGD(), MaxSamples(10))
    margin = fit(problem, solver, MarginTest(0.8))
    assert margin.verdict.rule == "MarginTest"
    assert len(halvings(margin)) == margin.verdict.step // 10
    both = fit(problem, Halving(SGD(), Pflug(20)), Pflug(20))
    assert both.verdict.step == fit(problem, SGD(), Pflug(20)).verdict.step
    assert halvings(both) == [both.verdict.step]
    held = fit(problem, Halving(SGD(), Pflug(20)), SmallValidationSet(8))
    assert held.verdict.rule == "SmallValidationSet"
    late = fit(problem, Halving(SGD(), MaxSamples(100)), MaxSamples(40).then(2))
    assert (late.verdict.step, halvings(late)) == (80, [])


@interpreted
@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_partial_fit_halves_where_one_pass_does(form, problem):
    X, y, weights = problem.X, problem.y, np.where(problem.weights > 0, problem.weights, 1.0)
    model = SGDClassifier(solver=Halving(SGD(), Pflug(20)), step=GAMMA, alpha=0.01, shuffle=False)
    model.partial_fit(form(X[:1]), y[:1], classes=[-1, 1], sample_weight=weights[:1])
    for start, end in ((1, 33), (33, 34), (34, 200), (200, 300)):
        model.partial_fit(form(X[start:end]), y[start:end], sample_weight=weights[start:end])
    source = ArraySource(form(X), y, weights, shuffle=False)
    step = steps.Constant(GAMMA)
    whole = run(source, LOGISTIC, Halving(SGD(), Pflug(20)), MaxPasses(1), alpha=0.01, step=step)
    assert model.verdict_.evidence["halvings"] == whole.verdict.evidence["halvings"] != []
    assert np.allclose(model.coef_[0], whole.coef, rtol=1e-12)


@interpreted
@pytest.mark.slow
def test_detectors_of_any_kind_under_rules_of_any_kind():
    """Random compositions for both, without Numba: block size and storage are irrelevant."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, __file__, "150"],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "150 detectors\n"


def draw(rng, depth, rules):
    kind = rng.integers(3)
    if depth == 0 or rng.random() < 0.3:
        return rules[rng.integers(len(rules))]
    if kind == 0:
        return draw(rng, depth - 1, rules) | draw(rng, depth - 1, rules)
    if kind == 1:
        return draw(rng, depth - 1, rules) & draw(rng, depth - 1, rules)
    return draw(rng, depth - 1, rules).then(1.5)


def check(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, LOGISTIC, n_rows=int(rng.integers(12, 60)), n_features=3)
    problem.weights[:10] = 1.0
    detectors = [MarginTest(0.3), MarginTest(0.2, fresh=True), Pflug(9), Distance(first=1), MaxSamples(11)]
    detectors += [MaxPasses(0.7), MinPasses(1), ProgressiveLoss(0.1)]
    held = SmallValidationSet(4, 6)
    solver = Halving([SGD(), ISGD()][rng.integers(2)], draw(rng, 2, detectors), smallest=1e-9)
    stop = draw(rng, 2, [*detectors, held]) | MaxPasses(5)
    expected = fit(problem, solver, stop)
    for block_size, as_csr in ((1, False), (4, False), (None, True), (3, True)):
        result = fit(problem, solver, stop, as_csr=as_csr, block_size=block_size)
        assert result.verdict.step == expected.verdict.step, (seed, solver, stop)
        assert halvings(result) == halvings(expected), (seed, solver, stop)
        assert np.allclose(result.coef, expected.coef, rtol=1e-9, atol=1e-9), (seed, solver, stop)


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        check(seed)
    print(f"{sys.argv[1]} detectors")


@interpreted
def test_a_stream_has_no_passes(problem):
    """The rows of a call of partial_fit are not the data: how many of these make a pass is not known."""
    X, y = problem.X, np.where(problem.y > 0, 1, 0)
    for detector in (MaxPasses(1), Pflug(), ProgressiveLoss(0.2)):
        model = SGDClassifier(solver=Halving(SGD(), detector), step=0.1, random_state=0)
        for part in np.array_split(np.arange(len(y)), 10):
            model.partial_fit(X[part], y[part], classes=[0, 1])
        assert model.verdict_.evidence["halvings"] == []


@interpreted
@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (stopping.MaxSeconds(1) | Pflug(), "would halve the step at a time that depends on the machine"),
        (stopping.Gain(), "evaluates on validation rows, which a detector cannot"),
    ],
)
def test_rules_that_cannot_detect(detector, message):
    with pytest.raises(ValueError, match=message):
        Halving(SGD(), detector)
