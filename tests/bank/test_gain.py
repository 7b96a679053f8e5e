"""The rule `Gain`: when it fires, and what it says."""

import math

import pytest

from sgdone.interfaces.objective import Judgement
from sgdone.interfaces.stop_rule import Progress, Status
from sgdone.stopping import Gain


def progress(gain=None, gain_error=0.0, noise=0.1, passes=1.0, **more):
    """Progress with a judgement, or without one if there is no gain."""
    judgement = None if gain is None else Judgement(0.5, 0.3, gain, gain_error, passes, noise, **more)
    return Progress(100, 100, 100, 1, True, 0.5, 0.0, judgement=judgement)


def fires(rule, *steps):
    """Whether the rule fires at each of the steps."""
    state = rule.start(100)
    return [rule.observe(state, step) is not None for step in steps]


#: A gain of 0.1 standard errors that may be 0.3: small, but not certain.
SMALL = progress(0.01, 0.01)
#: A gain of 0.5 standard errors.
LARGE = progress(0.05)


@pytest.mark.parametrize(
    ("gain", "gain_error", "certain"),
    [(0.01, 0.0049, True), (0.01, 0.0051, False), (0.0199, 0.0, True), (0.021, 0.0, False), (0.0, 0.0, True)],
)
def test_one_evaluation_is_enough_if_it_is_certain(gain, gain_error, certain):
    """Below the tolerance even with two standard errors of the gain added."""
    assert fires(Gain(0.2), progress(gain, gain_error)) == [certain]


def test_otherwise_the_gain_must_be_small_twice_in_a_row():
    assert fires(Gain(0.2), SMALL, SMALL) == [False, True]
    assert fires(Gain(0.2), SMALL, LARGE, SMALL, SMALL) == [False, False, False, True]
    assert fires(Gain(0.2), LARGE, LARGE, LARGE) == [False, False, False]


def test_steps_without_a_judgement_are_ignored():
    nothing = progress()
    assert fires(Gain(0.2), nothing, SMALL, nothing, nothing, SMALL) == [False, False, False, False, True]


def test_a_tolerance_of_0_never_fires():
    assert not any(fires(Gain(0.0), progress(0.0), progress(0.0), progress(0.0, noise=0.0)))


def test_an_unknown_gain_never_fires():
    """Nor does it count as one of two evaluations in a row."""
    unknown = progress(math.nan)
    assert fires(Gain(10.0), unknown, unknown, unknown) == [False] * 3
    assert fires(Gain(0.2), SMALL, unknown, SMALL, SMALL) == [False, False, False, True]


def test_a_loss_without_error_needs_a_gain_of_0():
    exact = {"noise": 0.0}
    assert fires(Gain(0.2), progress(1e-9, **exact), progress(1e-9, **exact)) == [False, False]
    assert fires(Gain(0.2), progress(0.0, **exact), progress(0.0, **exact)) == [False, True]


def test_a_doubt_is_said_and_keeps_it_from_firing():
    """Nor does the evaluation count as one of two in a row."""
    doubted = progress(0.0, doubt="few rows were read")
    rule = Gain(0.2)
    assert fires(rule, doubted, doubted, SMALL, SMALL) == [False, False, False, True]
    state = rule.start(100)
    rule.observe(state, doubted)
    assert rule.describe(state, progress()) == "did not fire: few rows were read"


def test_a_gain_whose_error_exceeds_twice_the_tolerance_is_not_small():
    assert fires(Gain(0.2), *[progress(0.0, 0.041)] * 3) == [False] * 3


def test_a_model_worse_than_a_constant_prediction_has_not_converged():
    worse = {"constant_loss": 0.2, "beats_constant": False}
    rule = Gain(0.2)
    state = rule.start(100)
    assert [rule.observe(state, progress(0.0, **worse)) for _ in range(3)] == [None] * 3
    assert rule.describe(state, progress()) == "did not fire: the model is worse than a constant prediction"


def test_what_it_says():
    rule = Gain(0.2)
    stop = rule.observe(rule.start(100), progress(0.01, 0.001, passes=8.0))
    assert (stop.rule, stop.status) == ("Gain", Status.CONVERGED)
    assert stop.reason == (
        "8 more passes would lower the validation loss by about 0.01 "
        "(0.1 standard errors; tol=0.2; the training objective was not minimised)"
    )
    assert stop.evidence == {
        "loss": 0.5,
        "standard_error": 0.3,
        "gain": 0.01,
        "gain_standard_error": 0.001,
        "tol": 0.2,
    }
    nothing_left = rule.observe(rule.start(100), progress(0.0))
    assert nothing_left.reason == (
        "more passes are not expected to lower the validation loss (the training objective was not minimised)"
    )


def test_how_far_it_is_from_firing():
    rule = Gain(0.2)
    state = rule.start(100)
    assert rule.describe(state, progress()) == "needs two evaluations to tell whether more passes would help"
    rule.observe(state, LARGE)
    assert rule.describe(state, progress()).startswith(
        "did not fire: 1 more pass would lower the validation loss by about 0.05"
    )


@pytest.mark.parametrize("tol", [-1, -1e-9, math.nan, math.inf, "small", None, True, [0.2]], ids=str)
def test_a_bad_tolerance(tol):
    with pytest.raises(ValueError, match=r"tol must be a non-negative number; got"):
        Gain(tol)


@pytest.mark.parametrize("state", [None, 3, "small"])
def test_a_state_that_is_something_else_is_refused(state):
    rule = Gain()
    rule.check(rule.start(100), 5)
    with pytest.raises(ValueError, match="state of Gain"):
        rule.check(state, 5)
