"""Ctrl-C keeps the model so far."""

from dataclasses import dataclass

import numpy as np
import pytest
from automatic_problems import TASKS, problem

from sgdone import LinearClassifier, LinearRegressor, stopping
from sgdone.bank import BankState
from sgdone.interfaces.stop_rule import Status

#: The bank is tested here: large data are left to it.
pytestmark = pytest.mark.usefixtures("without_finish")


def pressing_at(call):
    """Make a hook that presses Ctrl-C at its call with this number."""
    calls = []

    def hook(progress):
        calls.append(progress)
        if len(calls) == call:
            raise KeyboardInterrupt

    return lambda number: hook


def model_of(task, **options):
    return (LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0, **options)


@dataclass(frozen=True)
class InterruptingBudget(stopping.StopRule):
    """Presses Ctrl-C at the end of a pass; otherwise it counts as a budget."""

    at_pass: int
    name = "interrupting"

    @property
    def is_budget(self):
        return True

    def start(self, n_rows):
        return None

    def observe(self, state, progress):
        if progress.pass_ended and progress.pass_number == self.at_pass:
            raise KeyboardInterrupt


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("call", [1, 2, 3])
def test_in_a_hook(call, task):
    X, y = problem(task)
    model = model_of(task, tol=0.0)
    model._progress_hook = pressing_at(call)
    model.fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    assert model.verdict_.rule == ""
    assert model.verdict_.step == 600 * call
    assert model.score(X, y) > 0.5
    assert str(model.verdict_).endswith("Continue with partial_fit, or fit again with warm_start=True.")


@pytest.mark.parametrize("task", TASKS)
def test_in_the_middle_of_a_first_pass(task):
    X, y = problem(task, 9000)
    model = model_of(task)
    model._progress_hook = pressing_at(2)
    model.fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    assert 0 < model.verdict_.step < 9000
    assert model.score(X, y) > 0.5
    del model._progress_hook
    steps = model.verdict_.step
    assert model.partial_fit(X, y).verdict_.step == steps + 9000


@pytest.mark.parametrize("task", TASKS)
def test_in_a_stopping_rule(task, same_model):
    X, y = problem(task)
    model = model_of(task, tol=0.0, stop=InterruptingBudget(3)).fit(X, y)
    same_model(model, model_of(task, tol=0.0, stop=3).fit(X, y))
    assert model.verdict_.status is Status.INTERRUPTED
    assert (model.verdict_.step, model.n_iter_) == (1800, 3)
    assert isinstance(model._results[0].state, BankState)


@pytest.mark.parametrize("task", TASKS)
def test_in_partial_fit(task):
    X, y = problem(task)
    classes = {} if task == "numbers" else {"classes": np.unique(y)}
    model = model_of(task).partial_fit(X, y, **classes)
    model._progress_hook = pressing_at(1)
    model.partial_fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    steps = model.verdict_.step
    assert 600 < steps <= 1200
    del model._progress_hook
    assert model.partial_fit(X, y).verdict_.step == steps + 600


def test_before_the_first_row_there_is_no_model(monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(BankState, "over", interrupt)
    X, y = problem("two")
    model = LinearClassifier()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_an_interrupted_model_can_be_warm_started(same_model):
    X, y = problem("two")
    model = LinearClassifier(warm_start=True, random_state=0)
    model._progress_hook = pressing_at(1)
    model.fit(X, y)
    del model._progress_hook
    model.fit(X, y)
    assert model.verdict_.status is Status.CONVERGED
