"""What going on would gain: exactly, where losses fall as c/t."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.auto.candidates import CANDIDATES, Candidate
from sgdone.auto.gain import Look, Outlook, limits, outlook
from sgdone.auto.judge import standard_error
from tiers import examples

N_ROWS = 400


def looks(steps, ends, falls, *, seed=0, spread=0.5, candidates=None):
    """Looks at so many steps t: the mean loss of candidate k is ends[k] + falls[k]/t; losses of single rows scatter."""
    rng = np.random.default_rng(seed)
    ends, falls = np.asarray(ends, dtype=float), np.asarray(falls, dtype=float)
    weights = rng.uniform(0.5, 2.0, N_ROWS)
    chances = rng.standard_normal((N_ROWS, ends.size))
    chances -= weights @ chances / weights.sum()
    parts = 1.0 + rng.standard_normal((N_ROWS, 1))
    parts += 1.0 - weights @ parts / weights.sum()
    candidates = candidates or CANDIDATES[: ends.size]
    return [Look(t, candidates, ends + spread * chances + parts * falls / t, weights) for t in steps]


positive = st.floats(0.01, 10.0)


@examples(50)
@given(
    ends=st.lists(positive, min_size=3, max_size=3),
    falls=st.lists(st.floats(0.0, 1000.0), min_size=3, max_size=3),
    steps=st.tuples(st.integers(10, 5000), st.integers(1, 5000)),
    n_rows=st.integers(1, 10000),
)
def test_losses_that_fall_as_1_over_t_are_foretold_exactly(ends, falls, steps, n_rows):
    more = max(n_rows, sum(steps))
    before, now, after = looks((steps[0], sum(steps), sum(steps) + more), ends, falls)
    found = outlook(before, now, n_rows)
    assert found.passes == pytest.approx(more / n_rows)
    digits = 1e-11 * (1.0 + max(falls)) * sum(steps) / steps[1]
    assert found.loss == pytest.approx(now.means.min(), rel=1e-12)
    assert found.gain == pytest.approx(max(0.0, now.means.min() - after.means.min()), abs=digits)
    np.testing.assert_allclose(limits(before, now), ends, atol=digits)


@pytest.mark.parametrize(("n_rows", "passes", "after"), [(600, 1, 800), (200, 1, 400), (100, 2, 400), (10, 20, 400)])
def test_by_hand(n_rows, passes, after):
    """From 3 to 2.5 between 100 and 200 rows: c = 100, 2 in the end; a pass more, or as many as there have been."""
    before, now = looks((100, 200), [2.0], [100.0])
    assert now.means[0] == pytest.approx(2.5)
    found = outlook(before, now, n_rows)
    assert found.loss == pytest.approx(2.5)
    assert found.passes == passes
    assert found.gain == pytest.approx(100.0 * (1 / 200 - 1 / after))
    assert limits(before, now) == pytest.approx([2.0])


def test_many_rows_are_not_read_as_often_again():
    """Five passes of a hundred thousand rows: another one is what is asked about."""
    before, now = looks((10**5, 5 * 10**5), [2.0], [1e5])
    found = outlook(before, now, 10**5)
    assert found.passes == 1.0
    assert found.gain == pytest.approx(1e5 * (1 / (5 * 10**5) - 1 / (6 * 10**5)))


def test_the_gain_is_that_of_whoever_will_be_best():
    """The leader has come to its end, another is about to overtake it."""
    before, now, after = looks((1000, 2000, 4000), [0.5, 0.4], [0.0, 220.0])
    assert (now.lead, after.lead) == (0, 1)
    assert outlook(before, now, 2000).gain == pytest.approx(0.5 - (0.4 + 220.0 / 4000.0))


def test_errors_are_those_of_the_loss_and_of_its_fall():
    before, now = looks((100, 300), [2.0], [100.0])
    found = outlook(before, now, 600)
    fallen = before.losses[:, 0] - now.losses[:, 0]
    factor = 100 / 200 * 600 / 900
    assert found.noise == pytest.approx(standard_error(now.losses[:, 0], now.weights) * np.sqrt(N_ROWS / 300))
    assert found.gain_error == pytest.approx(factor * standard_error(fallen, now.weights))
    assert found.in_errors == pytest.approx(found.gain / found.noise)


def test_noise_is_that_of_all_rows_read():
    """In the first pass of those so far, then of all."""
    noises = [outlook(*looks((100, steps), [2.0], [0.0]), 600).noise for steps in (150, 600, 6000)]
    assert noises[0] == pytest.approx(2.0 * noises[1])
    assert noises[1] == pytest.approx(noises[2])


def test_losses_that_rise_promise_nothing():
    before, now = looks((100, 200), [2.0], [-50.0])
    found = outlook(before, now, 100)
    assert found.gain == 0.0
    assert found.in_errors == 0.0
    assert limits(before, now) == pytest.approx(now.means)


def test_of_newcomers_nothing_is_known():
    first, second = Candidate(1.0, 1.0), Candidate(2.0, 1.0)
    (before,) = looks((100,), [2.0], [100.0], candidates=[first])
    (now,) = looks((200,), [1.0, 2.0], [100.0, 100.0], candidates=[second, first])
    assert now.lead == 0
    assert limits(before, now)[0] == pytest.approx(1.5)
    assert limits(before, now)[1] < 2.5
    assert outlook(before, now, 100).gain == 0.0
    (strangers,) = looks((200,), [1.0], [100.0], candidates=[second])
    assert outlook(before, strangers, 100).gain == 0.0


def test_candidates_are_told_apart_by_what_they_are_and_not_by_their_place():
    before, now = looks((100, 200), [2.0, 1.0], [100.0, 50.0])
    turned = Look(200, now.candidates[::-1], now.losses[:, ::-1], now.weights)
    assert limits(before, turned) == pytest.approx([1.0, 2.0])
    assert outlook(before, turned, 100).gain == pytest.approx(outlook(before, now, 100).gain)


@pytest.mark.parametrize(
    ("gain", "gain_error", "sure"),
    [(0.01, 0.0049, True), (0.01, 0.0051, False), (0.0199, 0.0, True), (0.021, 0, False)],
)
def test_sure_is_what_twice_its_own_error_cannot_change(gain, gain_error, sure):
    found = Outlook(1.0, 0.1, 1.0, gain, gain_error)
    assert found.surely_below(0.2) is sure
    assert found.in_errors == pytest.approx(10.0 * gain)


def test_a_loss_without_noise():
    assert Outlook(1.0, 0.0, 1.0, 0.0, 0.0).in_errors == 0.0
    assert Outlook(1.0, 0.0, 1.0, 1e-9, 0.0).in_errors == np.inf


@pytest.mark.parametrize(("worse", "told"), [(0.0, False), (1.5, False), (2.5, True), (-2.5, False)])
def test_a_look_is_worse_beyond_twice_the_error_of_the_difference(worse, told):
    rng = np.random.default_rng(0)
    candidates, weights = CANDIDATES[:1], np.ones(100)
    level, change = 5.0 * rng.standard_normal(100), rng.standard_normal(100)
    change = (change - change.mean()) / change.std()
    before = Look(10, candidates, level[:, None], weights)
    now = Look(20, candidates, (level + change + worse / 10.0)[:, None], weights)
    assert now.is_worse_than(before) is told


def test_means_are_weighted():
    look = Look(1, CANDIDATES[:2], np.array([[1.0, 4.0], [2.0, 0.0]]), np.array([3.0, 1.0]))
    assert look.means.tolist() == [1.25, 3.0]
    assert look.lead == 0
