"""The distance test: its checkpoints, its origin, and what it makes of a model that does not move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import random_problem
from running import run
from sgdone import losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.papers import sgd_reference
from sgdone.papers.diagnostics.reference import distance_test
from sgdone.rows import ArraySource
from sgdone.stopping import Distance, MaxPasses, MaxSamples, Progress
from tiers import examples

LOGISTIC = losses.Logistic()


def fit(X, y, stop, weights=None, *, gamma=0.3, **options):
    source = ArraySource(X, y, weights, shuffle=False)
    options = {"method": solvers.SGD(), "alpha": 0.01, "step": steps.Constant(gamma)} | options
    return run(source, LOGISTIC, stop=stop, **options)


def walk(rule, path):
    """Ask a rule as a run does, at its looks; the step at which it fires, if it does."""
    state = rule.start(None)
    while (step := rule.next_pause(state).step) < len(path):
        progress = Progress(step, step, None, 1, False, 0.0, 0.0, iterate=lambda at=step: path[at])
        if rule.observe(state, progress) is not None:
            return step
    return None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"q": q}, "q=.*: give the ratio") for q in (1, 0.5, -2, float("nan"), float("inf"), True, "2")),
        *(({"threshold": t}, "threshold=.*: give a slope") for t in (0, -0.1, 2, float("nan"), True, "0.6", None)),
        *(({"first": f}, "first=.*: give a whole") for f in (-1, 0.5, 5.0, float("nan"), True, "5", None)),
    ],
)
def test_parameters_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Distance(**options)


@examples(200)
@given(
    seed=st.integers(0, 10**6),
    q=st.sampled_from([1.1, 1.25, 1.5, 2, 3.7]),
    threshold=st.floats(0.05, 1.9),
    first=st.integers(0, 8),
    drift=st.floats(0.0, 1.0),
)
def test_random_walks(seed, q, threshold, first, drift):
    noise = np.random.default_rng(seed).standard_normal((500, 3))
    places = np.cumsum(noise + drift, axis=0)
    path = [(place[:2], float(place[2])) for place in places]
    assert walk(Distance(q, threshold, first), path) == distance_test(path, q, threshold, first)


def test_it_stops_at_a_checkpoint_of_its_own():
    problem = random_problem(4, LOGISTIC, n_rows=400, n_features=4)
    X, y, v = problem.X, problem.y, problem.weights
    result = fit(X, y, Distance(), v)
    assert (result.verdict.status, result.verdict.rule) == (Status.CONVERGED, "Distance")
    checkpoints, n = [1], 1
    for power in range(1, 20):
        n = max(int(np.ceil(1.5**power)), n + 1)
        checkpoints.append(n)
    k = checkpoints.index(result.verdict.step)
    assert k > 5
    ends = [fit(X, y, MaxSamples(checkpoints[j]), v) for j in (k - 1, k)]
    before, now = (np.sum(end.coef**2) + end.intercept**2 for end in ends)
    slope = np.log(now / before) / np.log(1.5)
    assert slope < 0.6
    assert result.verdict.evidence == {"slope": pytest.approx(slope), "threshold": 0.6}
    assert np.allclose(result.coef, ends[1].coef, rtol=1e-13)


def test_distances_are_from_where_the_run_started():
    problem = random_problem(4, LOGISTIC, n_rows=400, n_features=4)
    start = (np.array([3.0, -2.0, 5.0, 0.0]), 1.0)
    update = sgd_reference.explicit(LOGISTIC, 0.01, True)
    path = [start]
    for x, y in zip(problem.X, problem.y, strict=True):
        path.append(update(*path[-1], x, y, 1.0, 0.3))
    expected = distance_test(path)
    result = fit(problem.X, problem.y, Distance() | MaxPasses(1), coef=start[0], intercept=start[1])
    assert expected is not None
    assert result.verdict.step == expected
    assert expected != fit(problem.X, problem.y, Distance() | MaxPasses(1)).verdict.step


def test_a_model_that_never_moves_never_stops():
    verdict = fit(np.zeros((30, 2)), np.ones(30), Distance(), fit_intercept=False).verdict
    assert (verdict.rule, verdict.passes) == ("MaxPasses", 100.0)
    assert verdict.reason.startswith("100 passes allowed and made; Distance saw the squared distance")


def test_what_it_says_before_it_has_looked_twice():
    verdict = fit(np.eye(3), np.ones(3), Distance() | MaxSamples(1)).verdict
    assert verdict.evidence["others"] == ["Distance has not made two checks"]
