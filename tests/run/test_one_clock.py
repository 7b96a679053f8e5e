"""One clock and one budget for all that a fit does: several classes, and a finish that stalls before the method."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sgdone import LinearClassifier, SGDClassifier
from sgdone.interfaces.stop_rule import Status, Stop
from sgdone.newton.exact_phase import ExactInMemory
from sgdone.run import driver
from sgdone.stopping import MaxPasses, MaxSeconds


@pytest.fixture
def ticking(monkeypatch):
    """A clock that moves on by a second whenever the driver reads it."""
    seconds = itertools.count()
    monkeypatch.setattr(driver, "time", SimpleNamespace(perf_counter=lambda: float(next(seconds))))


@pytest.fixture
def stalls(monkeypatch):
    """The finish comes first, and stalls at its third evaluation."""
    advance = ExactInMemory.advance

    def stalling(self, state, *arguments):
        report = advance(self, state, *arguments)
        if state.steps < 3:
            return report
        return replace(report, finished=Stop("", Status.STALLED, "it does not go on"))

    monkeypatch.setattr(ExactInMemory, "replaces_bank", lambda *arguments: True)
    monkeypatch.setattr(ExactInMemory, "advance", stalling)


def problem(rng, n_classes):
    X = rng.standard_normal((600, 3))
    return X, np.digitize(X[:, 0] + rng.logistic(size=600), np.linspace(-1, 1, n_classes - 1))


@pytest.mark.usefixtures("ticking")
def test_classes_share_the_seconds(rng):
    X, y = problem(rng, 5)
    model = SGDClassifier(
        solver="asgd", loss="logistic", check_optimum=False, stop=MaxSeconds(500), random_state=0
    ).fit(X, y)
    ends = [model.trace_["seconds"][model.trace_["label"] == k].max() for k in range(5)]
    np.testing.assert_allclose(ends, [100, 200, 300, 400, 500], atol=10)
    assert "its part of the 500 seconds allowed is used" in model.verdict_.reason


@pytest.mark.usefixtures("stalls", "ticking")
def test_a_finish_that_stalls_does_not_start_the_clock_again(rng):
    X, y = problem(rng, 2)
    model = LinearClassifier(stop=MaxSeconds(40), tol=0, random_state=0).fit(X, y)
    seconds = model.trace_["seconds"]
    assert model.verdict_.rule == "MaxSeconds"
    assert np.all(np.diff(seconds) > 0)
    assert 40 <= seconds[-1] < 50
    assert model.trace_["step"][:3].tolist() == [1, 2, 3]


@pytest.mark.usefixtures("stalls")
def test_nor_the_count_of_passes(rng):
    X, y = problem(rng, 2)
    model = LinearClassifier(stop=MaxPasses(5), tol=0, random_state=0).fit(X, y)
    assert (model.verdict_.rule, model.verdict_.passes) == ("MaxPasses", 5)
    assert model.trace_["passes"][:3].tolist() == [1, 2, 3]
    assert model.score(X, y) > 0.6


@pytest.mark.usefixtures("stalls")
def test_its_model_is_kept_if_nothing_is_left_of_the_budget(rng):
    X, y = problem(rng, 2)
    model = LinearClassifier(stop=MaxPasses(3), random_state=0).fit(X, y)
    assert (model.verdict_.status, model.verdict_.passes) == (Status.BUDGET_SPENT, 3)
    assert model.score(X, y) > 0.6
