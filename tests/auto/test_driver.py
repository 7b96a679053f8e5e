"""What a fit does window by window: who is tried when, what is held out how long, and where stretches end."""

import numpy as np
import pytest

from sgdone.auto import Task
from sgdone.auto.bank import Bank
from sgdone.auto.driver import train_bank
from sgdone.auto.folds import Folds
from sgdone.auto.learner import Learner
from sgdone.auto.looks import Looks
from sgdone.auto.request import Request
from sgdone.data import ArraySource
from sgdone.kernels.bank import PENALTY
from sgdone.losses import Logistic


def fitted(n_rows, n_features, seed=0, decay=0.0, **options):
    """The result of a fit, and what its learner was like after each stretch of rows.

    Directions have less variance by ``decay``, and all the same say: a fit of such rows takes longer.
    """
    rng = np.random.default_rng(seed)
    sizes = np.arange(1.0, n_features + 1.0) ** -decay
    parts = rng.standard_normal((n_rows, n_features))
    X = parts * sizes @ rng.standard_normal((n_features, n_features))
    labels = np.where(parts.sum(axis=1) + rng.logistic(size=n_rows) > 0, 1.0, -1.0)
    course = []

    def note(progress, learner):
        course.append((progress.pass_number, learner.steps, learner.bank.n_models, learner.bank.holds_out))

    request = Request(Task.of(Logistic(), 2, True), hook=note, **options)
    return train_bank(ArraySource(X, labels), request, np.random.default_rng(seed)), course


@pytest.mark.parametrize(("n_rows", "n_features", "expected"), [(600, 100, True), (6000, 3, False)])
def test_penalties_are_tried_where_there_is_something_to_overfit(n_rows, n_features, expected, monkeypatch):
    asked = []
    branch = Learner.branch

    def note(learner, n_rows, *, bolder, penalties):
        asked.append(penalties)
        branch(learner, n_rows, bolder=bolder, penalties=penalties)

    monkeypatch.setattr(Learner, "branch", note)
    fitted(n_rows, n_features, decay=3.0 if n_features == 3 else 0.0)
    assert asked[0] == expected
    assert not any(asked[1:])


def test_the_penalty_in_use_is_the_leaders():
    result, _ = fitted(600, 100)
    learner = result.state
    found = learner.bank.plans[learner.model, PENALTY]
    assert found == pytest.approx(learner.lead.penalty / 600)


def in_pass(course, number):
    return [entry for entry in course if entry[0] == number]


def test_rows_stay_held_out_as_long_as_nothing_is_overfitted():
    _, course = fitted(25_000, 6, decay=1.0, seed=1)
    assert in_pass(course, 2)
    assert all(held_out for *_, held_out in in_pass(course, 2)[:-1])
    _, course = fitted(25_000, 150)
    assert in_pass(course, 2)
    assert not any(held_out for *_, held_out in in_pass(course, 2))


def test_rows_held_out_are_learnt_from_before_the_end(monkeypatch):
    """Every row of every pass, but for those that are held out in passes that are not the last."""
    renewed = []
    renew = Looks.renew
    monkeypatch.setattr(Looks, "renew", lambda looks, learner: (renewed.append(learner.steps), renew(looks, learner)))
    result, _ = fitted(25_000, 6, decay=1.0, seed=1)
    assert result.verdict.passes == 3
    assert result.state.steps == 3 * (25_000 - 4096) + 4096
    assert renewed == [result.state.steps]
    assert not result.state.bank.holds_out


def test_the_weights_returned_have_learnt_from_the_rows_held_out(rng):
    """A column that is 0 elsewhere gets its weight from them."""
    X = rng.standard_normal((25_000, 2))
    labels = np.where(X[:, 0] + rng.logistic(size=25_000) > 0, 1.0, -1.0)
    seen = []

    def note(progress, learner):
        seen.append(learner.solution()[0])

    source = ArraySource(X, labels)
    result = train_bank(source, Request(Task.of(Logistic(), 2, True), hook=note), np.random.default_rng(0))
    assert result.verdict.status.value == "converged"
    assert not np.array_equal(result.coef, seen[-2])
    np.testing.assert_allclose(result.coef, result.state.solution()[0], rtol=1e-12)


def test_stretches_end_where_candidates_are_compared():
    """After 1024, 2048, … rows learnt from, however many of those read are held out."""
    _, course = fitted(25_000, 6)
    first = [steps for passes, steps, *_ in course if passes == 1]
    assert {1024, 2048, 4096, 8192} <= set(first)
    # A window of 4096 rows ends, or a comparison is due: nothing else ends a stretch.
    assert len(first) <= 6 + 25_000 // 4096


def test_rows_held_out_are_counted_once():
    """An early end reads those that it has not passed yet; what is learnt from is never more than what is read."""
    result, course = fitted(60_000, 3)
    assert {passes for passes, *_ in course} == {1}
    assert course[-1][1] < result.state.steps <= result.rows_read < 60_000


def test_rows_held_out_are_counted_after_ctrl_c():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 4))
    source = ArraySource(X, np.where(X[:, 0] + rng.logistic(size=30_000) > 0, 1.0, -1.0))

    def interrupt(progress, learner):
        if learner.steps > 5000:
            raise KeyboardInterrupt

    result = train_bank(source, Request(Task.of(Logistic(), 2, True), hook=interrupt), np.random.default_rng(0))
    assert result.verdict.status.value == "interrupted"
    assert 5000 + 4096 < result.state.steps <= result.rows_read


def test_rows_of_earlier_blocks_are_not_set_aside(monkeypatch):
    """Blocks are of 16,384 rows; with most weights 0 the first rows that are learnt from lie in several."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300_000, 2))
    weights = (rng.random(300_000) < 0.04).astype(float)
    source = ArraySource(X, np.where(X[:, 0] + rng.logistic(size=300_000) > 0, 1.0, -1.0), weights)
    read, given = [], []
    drawn = Folds.drawn

    def note(block, unread, rng):
        given.append(unread)
        return drawn(block, unread, rng)

    advance = Bank.advance

    def learn(bank, block, folds, first, last, *, learn=True):
        if learn and not given:
            read.append(block.order[first:last])
        return advance(bank, block, folds, first, last, learn=learn)

    monkeypatch.setattr(Folds, "drawn", note)
    monkeypatch.setattr(Bank, "advance", learn)
    train_bank(source, Request(Task.of(Logistic(), 2, True)), np.random.default_rng(0))
    assert sum(map(len, read)) > 16_384
    assert not np.isin(given[0], np.concatenate(read)).any()
