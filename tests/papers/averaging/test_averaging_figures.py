"""Figures 1 and 2 of Xu (2011): claims that can fail."""

import numpy as np
import pytest

from sgdone.papers.averaging import regression
from sgdone.papers.averaging.curves import BATCH
from sgdone.papers.averaging.regression import AsgdRegression
from sgdone.papers.averaging.schedule import AsgdSchedule
from sgdone.papers.running import measure_all

SAMPLES = (1000, 10_000, 31_623, 100_000, 1_000_000)


def curves(methods):
    """Rows of two trials and an expectation, from excess risks over the batch method's."""
    return [
        {"method": method, "samples": samples, "trial": trial, "excess_risk": ratio / samples}
        for method, ratios in (methods | {BATCH: np.ones(len(SAMPLES))}).items()
        for trial in (None, 0, 1)
        for samples, ratio in zip(SAMPLES, ratios, strict=True)
    ]


def test_claims_on_the_schedule_follow_the_curves():
    right = {"ASGD": (3, 1.4, 1.1, 1.1, 1), "ASGD_BAD": (90, 60, 20, 8, 1.1), "SGD": (16, 16, 16, 16, 16)}

    def holds(**changes):
        return [claim.holds for claim in AsgdSchedule().claims(curves(right | changes))]

    assert holds() == [True, True, True]
    assert holds(SGD=(16, 16, 16, 16, 0.5)) == [False, True, True]
    assert holds(ASGD=(90, 60, 20, 8, 1.1)) == [True, False, True], "good step sizes are as slow as bad ones"
    assert holds(ASGD_BAD=(3, 1.4, 1.1, 1.1, 1)) == [True, True, False]


@pytest.mark.slow
def test_claims_on_the_regression_follow_the_curves():
    right = {"ASGD": (9, 3, 1.8, 1.5, 1.1), "SGD": (20, 20, 20, 20, 20)}

    def holds(**changes):
        return [claim.holds for claim in AsgdRegression().claims(curves(right | changes))]

    assert holds() == [True, True, True]
    assert holds(ASGD=(9, 6, 4, 1.5, 1.1)) == [False, False, True], "close at 10⁵ samples only"
    assert holds(SGD=(20, 20, 20, 12, 20)) == [True, False, True]
    assert holds(ASGD=(9, 3, 1.8, 1.5, 1.6)) == [True, True, False]


@pytest.mark.slow
def test_a_wrong_step_size_breaks_the_claim_on_optimality(monkeypatch):
    """With γ₀/10,000 averaged SGD falls behind the batch method from decade to decade."""
    experiment = AsgdRegression(trials=2, samples=100_000)

    def optimal():
        return experiment.claims(measure_all(experiment)[0])[-1].holds

    assert optimal()
    good = regression.SCHEDULES[regression.AVERAGED]
    monkeypatch.setitem(regression.SCHEDULES, regression.AVERAGED, good._replace(gamma0=good.gamma0 / 1e4))
    assert not optimal()
