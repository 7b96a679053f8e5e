"""Ctrl-C keeps the model so far."""

from dataclasses import dataclass

import numpy as np
import pytest

from sgdone import SGDClassifier, SGDRegressor, steps, stopping
from sgdone.interfaces.stop_rule import Status
from tiers import fast_first, interpreted


@dataclass(frozen=True)
class InterruptingStep(steps.StepSize):
    """Presses Ctrl-C when asked for the step of a late sample."""

    after: int
    name = "interrupting"

    def __call__(self, t):
        if t[-1] > self.after:
            raise KeyboardInterrupt
        return np.full(t.shape, 0.01)

    def resolve(self, preliminary):
        return self


@dataclass(frozen=True)
class InterruptingRule(stopping.StopRule):
    """Presses Ctrl-C at the end of a pass."""

    at_pass: int
    name = "interrupting"

    def start(self, n_rows):
        return None

    def observe(self, state, progress):
        if progress.pass_ended and progress.pass_number == self.at_pass:
            raise KeyboardInterrupt


@interpreted
@pytest.mark.parametrize("solver", fast_first(1, ["sgd", "asgd", "isgd", "aisgd"]))
@pytest.mark.parametrize("make", [SGDClassifier, SGDRegressor])
def test_in_a_step_size(make, solver, binary):
    X, y = binary
    model = make(solver=solver, step=InterruptingStep(20_000), stop=1000, random_state=0).fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    assert model.verdict_.rule == ""
    assert 8_000 < model.verdict_.step < 20_000
    assert model.score(X, y) > 0.5
    assert str(model.verdict_).endswith("Continue with partial_fit, or fit again with warm_start=True.")


def test_in_a_stopping_rule(binary, same_model):
    model = SGDClassifier(solver="asgd", stop=InterruptingRule(3), random_state=0).fit(*binary)
    assert model.verdict_.status == "interrupted"
    assert (model.verdict_.step, model.verdict_.passes, model.n_iter_) == (900, 3.0, 3)
    same_model(model, SGDClassifier(solver="asgd", stop=3, random_state=0).fit(*binary))


def test_before_the_first_update(binary):
    model = SGDClassifier(step=InterruptingStep(0), random_state=0).fit(*binary)
    assert model.verdict_.status == "interrupted"
    assert model.verdict_.step == 0
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.n_iter_ == 1
    assert len(model.trace_.to_frame()) == 0
    assert model.predict(binary[0]).shape == (300,)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_several_classes_all_end(n_jobs, several):
    X, y = several
    model = SGDClassifier(stop=InterruptingRule(2), n_jobs=n_jobs, random_state=0).fit(X, y)
    assert model.verdict_.status == "interrupted"
    assert all(verdict.status == "interrupted" for verdict in model.verdict_.per_class.values())
    assert all(0 < verdict.step <= 800 for verdict in model.verdict_.per_class.values())
    assert model.coef_.shape == (4, 6)
    assert model.score(X, y) > 0.5


def test_going_on_after_it(binary):
    X, y = binary
    model = SGDClassifier(stop=InterruptingRule(2), random_state=0).fit(X, y)
    assert model.set_params(stop=5).partial_fit(X, y).verdict_.step == 900


def test_in_partial_fit(binary):
    X, y = binary
    model = SGDClassifier(stop=InterruptingRule(2), random_state=0).partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X, y)
    assert model.verdict_.status == "interrupted"
    assert model.verdict_.step == 600
