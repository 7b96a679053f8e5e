"""An optional phase is trained before or after the method of a run, where it is worthwhile."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from sgdone.interfaces.method import Method, Report
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Needs, Status, Stop
from sgdone.losses import Squared
from sgdone.rows import ArraySource
from sgdone.run import Clock, RunOptions, run
from sgdone.stopping import MaxPasses, ProgressiveLoss


@dataclass
class Counted:
    steps: int = 0

    def copy(self):
        return Counted(self.steps)


@dataclass(frozen=True)
class Steps(Method):
    """A method that reads all rows in each step, and ends by itself after some."""

    offers: ClassVar[Needs] = Needs(any_scales=True)
    whole_passes: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = False

    value: float
    count: int = 3
    status: Status = Status.CONVERGED
    began_at: list = field(default_factory=list, compare=False)

    def start(self, objective, stream, start, step):
        self.began_at.append(None if start is None else float(start.intercept[0]))
        return Counted()

    def advance(self, state, block, first, last, updates, watches=()):
        state.steps += 1
        done = Stop("", self.status, f"{self.count} steps") if state.steps == self.count else None
        return Report(first, further_reads=block.rows.n_rows, finished=done, passes=1, updates=1)

    def solution(self, state):
        return Model(np.zeros((1, 1)), np.array([self.value]))

    def objective(self, state):
        return Objective(Squared(), 0.0, predicts="target")


@dataclass(frozen=True)
class Optional(Steps):
    when: str = "after"
    better: bool = True

    def is_worthwhile(self, objective, stream, stop, before):
        return (before is None) == (self.when == "first")

    def is_better(self, state, ended, before):
        return self.better

    def hand_over(self, state, main, last, stream):
        return last

    def __str__(self):
        return "the second method"


@dataclass(frozen=True)
class First(Steps):
    runs_to_its_end: ClassVar[bool] = True


def ran(method, optional=None, stop=None, **options):
    X = np.linspace(-1.0, 1.0, 10)[:, None]
    objective = Objective(Squared(), 0.0, predicts="target")
    return run(
        ArraySource(X, X[:, 0]), objective, method, stop or MaxPasses(20), RunOptions(optional=optional, **options)
    )


def test_a_phase_follows_where_it_is_worthwhile():
    second = Optional(2.0, 2)
    result = ran(Steps(1.0), second)
    assert (result.model.intercept[0], second.began_at) == (2.0, [1.0])
    verdict = result.verdict
    assert (verdict.step, verdict.passes, verdict.finish_passes, len(result.trace)) == (5, 5.0, 2.0, 5)
    assert isinstance(result.state, Counted)
    assert result.trace["passes"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert result.trace["step"].tolist() == [1, 2, 3, 4, 5]


def test_a_phase_that_takes_the_place_of_the_main_method():
    main = Steps(1.0)
    result = ran(main, Optional(2.0, 2, when="first"))
    assert (result.model.intercept[0], result.verdict.passes, main.began_at) == (2.0, 2.0, [])


def test_a_phase_that_stalls_leaves_its_trace_and_its_cost():
    result = ran(Steps(1.0), Optional(2.0, 2, Status.STALLED, when="first"))
    assert (result.model.intercept[0], len(result.trace)) == (1.0, 5)
    assert "the second method ended after 2 passes: 2 steps" in str(result.verdict)
    assert (result.verdict.passes, result.verdict.finish_passes) == (5.0, 0.0)


def test_a_phase_that_finds_nothing_better_is_mentioned():
    result = ran(Steps(1.0), Optional(2.0, 2, better=False))
    assert (result.model.intercept[0], result.verdict.passes) == (1.0, 5.0)
    assert "the second method found no better model in 2 passes" in str(result.verdict)


@pytest.mark.parametrize("allowed", [1, 2, 4])
def test_no_phase_begins_once_a_budget_is_spent(allowed):
    second = Optional(2.0, 2)
    result = ran(Steps(1.0), second, stop=MaxPasses(allowed))
    assert (result.model.intercept[0], result.verdict.passes) == (2.0 if allowed == 4 else 1.0, allowed)
    assert bool(second.began_at) == (allowed == 4)


def test_a_first_model_is_found_whatever_the_budget():
    second = Optional(2.0, 2)
    result = ran(First(1.0), second, stop=MaxPasses(1))
    assert (result.verdict.status, result.verdict.passes, second.began_at) == (Status.BUDGET_SPENT, 3.0, [])

    def stops(progress):
        return "enough" if progress.step == 2 else None

    result = ran(First(1.0), second, hooks=[stops])
    assert (result.verdict.status, result.verdict.passes) == (Status.STOPPED, 3.0)


def test_readings_before_a_run_are_part_of_it():
    before = ran(Steps(1.0, 2))
    result = ran(Steps(1.0), stop=MaxPasses(4), clock=Clock(earlier=before.trace))
    assert (result.verdict.passes, len(result.trace)) == (4.0, 4)
    assert result.trace["passes"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_no_phase_follows_once_a_callback_has_asked_for_the_end():
    second = Optional(2.0, 2)
    result = ran(Steps(1.0), second, hooks=[lambda progress: "enough" if progress.step == 3 else None])
    assert (result.model.intercept[0], result.verdict.status, second.began_at) == (1.0, Status.CONVERGED, [])
    worse = replace(second, better=False)
    result = ran(Steps(1.0), worse, hooks=[lambda progress: "no" if progress.rows_read > 30 else None])
    assert (result.model.intercept[0], result.verdict.status) == (1.0, Status.STOPPED)


def test_passes_of_an_earlier_phase_are_not_those_of_the_safeguard():
    result = ran(Steps(1.0), Optional(2.0, 150, Status.STALLED, when="first"), stop=ProgressiveLoss(0.0))
    assert (result.verdict.status, result.verdict.passes) == (Status.CONVERGED, 153.0)
