"""A bank at work: ties are blended, what may be overfitted is known, rows held out are learnt from in the end."""

from itertools import pairwise

import numpy as np
import pytest
from bank_cases import CANDIDATES, FEW_TASKS, random_case
from scipy import sparse

from sgdone.auto import Task
from sgdone.auto.candidates import Candidate
from sgdone.auto.folds import Folds
from sgdone.auto.gain import Look, Outlook
from sgdone.auto.learner import Learner
from sgdone.auto.looks import Looks
from sgdone.data import ArraySource
from sgdone.losses import Hinge, Logistic, Squared


def learner_of(X, labels, task, candidates=CANDIDATES):
    """A learner that has seen all rows and learnt from them once, and its rows."""
    block = next(ArraySource(X, labels, shuffle=False).blocks(np.random.default_rng(0)))
    used = block.all_used()
    learner = Learner.over(block, used, task, None, None, candidates, seen=used, ordered=False)
    learner.set_penalties(len(labels))
    learner.bank.advance(learner.scaled(block), Folds.none(len(labels)).of_row, 0, len(labels))
    return learner, block


@pytest.fixture(params=FEW_TASKS)
def learnt(request):
    case = random_case(0, FEW_TASKS[request.param], n_rows=60)
    return learner_of(case.X, case.labels, case.task)


def look_with(learner, ahead):
    """A look at which the candidates' mean losses are so far apart, and the losses of a row nearly as far."""
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((200, 3))
    losses = 1.0 + rng.standard_normal((200, 1)) + noise - noise.mean(axis=0) + ahead
    return Look(learner.steps, learner.bank.alive, losses, np.ones(200))


@pytest.mark.parametrize(
    ("ahead", "chosen"),
    [([0.0, 0.5, 0.9], [0]), ([0.0, 0.0, 0.9], [0, 1]), ([0.9, 0.0, 0.0], [1, 2]), ([0.5, 0.0, 0.9], [1])],
)
def test_candidates_as_good_as_the_leader_are_blended(ahead, chosen, learnt):
    learner, _ = learnt
    coef, intercept = learner.blend(look_with(learner, np.array(ahead)))
    solutions = [learner.bank.solution(k, learner.units.scaling) for k in chosen]
    np.testing.assert_allclose(coef, np.mean([found[0] for found in solutions], axis=0))
    np.testing.assert_allclose(intercept, np.mean([found[1] for found in solutions], axis=0))
    others = [learner.bank.solution(k, learner.units.scaling)[0] for k in range(3)]
    assert not any(np.allclose(one, other) for one, other in pairwise(others))


def test_rows_held_out_are_learnt_from_when_they_are_released(learnt):
    learner, block = learnt
    of_row = np.full(60, 255, np.uint8)
    of_row[:10] = 0
    folds = Folds(of_row, np.arange(10, dtype=np.uint64), 1)
    learner.fork(folds, may_wait=True)
    assert learner.bank.holds_out
    before, steps = learner.solution()[0], learner.steps
    assert learner.release(block, folds)
    assert learner.steps == steps + 10
    assert not np.allclose(learner.solution()[0], before)
    assert not learner.release(block, folds)
    assert learner.steps == steps + 10


@pytest.mark.parametrize(
    ("task", "loss", "expected"),
    [
        (Task.of(Logistic(), 2, True), 0.5, 4 / 200),
        (Task.of(Logistic(), 5, True), 0.5, 4 * 4 / 200),
        pytest.param(Task.of(Hinge(), 5, True), 0.5, 4 * 5 / 200, marks=pytest.mark.slow),
        (Task.of(Squared(), None, True), 3.0, 4 / 200 * 6.0),
    ],
)
def test_excess_of_an_optimum_on_few_rows(task, loss, expected, rng):
    """Four columns count: one of the five is the same in all rows."""
    X = rng.standard_normal((100, 5))
    X[:, 2] = 7.0
    labels = rng.standard_normal(100) if task.is_regression else rng.integers(0, 2, 100) * 2.0 - 1.0
    if task.n_outputs > 1:
        labels = rng.integers(0, task.n_outputs, 100).astype(float)
    for form in (np.asarray, sparse.csr_array):
        learner, _ = learner_of(form(X), labels, task, [Candidate(1.0, 1.0)])
        columns = 4 if form is np.asarray else 5
        assert learner.excess(loss, 100) == pytest.approx(expected * columns / 4)


def test_excess_is_what_least_squares_loses(rng):
    """In the mean over many samples, the loss on new rows of a fit to 100 rows, less that of the truth."""
    truth, found = np.arange(4.0), []
    for _ in range(3000):
        X = rng.standard_normal((100, 4))
        fit = np.linalg.lstsq(X, X @ truth + rng.standard_normal(100), rcond=None)[0]
        found.append(((fit - truth) ** 2).sum() / 2.0)
    learner, _ = learner_of(X, X @ truth, Task.of(Squared(), None, False), [Candidate(1.0, 1.0)])
    assert np.mean(found) == pytest.approx(learner.excess(0.5, 100), rel=0.1)


@pytest.mark.parametrize(("noise", "overfits"), [(0.04, True), (0.06, False)])
def test_only_what_shows_is_called_overfitting(noise, overfits, rng):
    """Half of the excess 4/200 beside 0.2 standard errors."""
    X = rng.standard_normal((100, 4))
    learner, _ = learner_of(X, np.where(X[:, 0] > 0, 1.0, -1.0), Task.of(Logistic(), 2, True))
    looks = Looks(100, 0.2, small=True)
    assert looks.may_overfit(learner)
    looks.expected = Outlook(0.5, noise, 1.0, 0.0, 0.0)
    assert looks.may_overfit(learner) == overfits
