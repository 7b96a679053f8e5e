"""Evaluations and the expected gain of further training: exact where losses fall as c/t."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.bank.candidates import CANDIDATES, Candidate
from sgdone.bank.evaluation import Evaluation, judge, limits, measure
from sgdone.interfaces.measured import standard_error
from sgdone.interfaces.progress import Judgement
from tiers import examples

N_ROWS = 400


def evaluations(steps, ends, falls, *, seed=0, spread=0.5, candidates=None):
    """Evaluations after t = ``steps`` rows: candidate k has the mean loss ends[k] + falls[k]/t, and rows scatter."""
    rng = np.random.default_rng(seed)
    ends, falls = np.asarray(ends, dtype=float), np.asarray(falls, dtype=float)
    weights = rng.uniform(0.5, 2.0, N_ROWS)
    chances = rng.standard_normal((N_ROWS, ends.size))
    chances -= weights @ chances / weights.sum()
    parts = 1.0 + rng.standard_normal((N_ROWS, 1))
    parts += 1.0 - weights @ parts / weights.sum()
    candidates = candidates or CANDIDATES[: ends.size]
    constant = np.full(N_ROWS, 2.2)
    return [Evaluation(t, candidates, ends + spread * chances + parts * falls / t, weights, constant) for t in steps]


positive = st.floats(0.01, 10.0)


@examples(50)
@given(
    ends=st.lists(positive, min_size=3, max_size=3),
    falls=st.lists(st.floats(0.0, 1000.0), min_size=3, max_size=3),
    steps=st.tuples(st.integers(10, 5000), st.integers(1, 5000)),
    n_rows=st.integers(1, 10000),
)
def test_losses_that_fall_as_1_over_t_are_extrapolated_exactly(ends, falls, steps, n_rows):
    more = max(n_rows, sum(steps))
    before, now, after = evaluations((steps[0], sum(steps), sum(steps) + more), ends, falls)
    found = judge(before, now, n_rows)
    assert found.passes == pytest.approx(more / n_rows)
    digits = 1e-11 * (1.0 + max(falls)) * sum(steps) / steps[1]
    assert found.loss == pytest.approx(now.means.min(), rel=1e-12)
    assert found.gain == pytest.approx(max(0.0, now.means.min() - after.means.min()), abs=digits)
    np.testing.assert_allclose(limits(before, now), ends, atol=digits)


@pytest.mark.parametrize(("n_rows", "passes", "after"), [(600, 1, 800), (200, 1, 400), (100, 2, 400), (10, 20, 400)])
def test_by_hand(n_rows, passes, after):
    """From 3 to 2.5 between 100 and 200 rows: c = 100 and the limit is 2; another pass, or as many as were made."""
    before, now = evaluations((100, 200), [2.0], [100.0])
    assert now.means[0] == pytest.approx(2.5)
    found = judge(before, now, n_rows)
    assert found.loss == pytest.approx(2.5)
    assert found.passes == passes
    assert found.gain == pytest.approx(100.0 * (1 / 200 - 1 / after))
    assert limits(before, now) == pytest.approx([2.0])


def test_the_gain_on_large_data_is_that_of_one_pass():
    """Five passes over a hundred thousand rows were made."""
    before, now = evaluations((10**5, 5 * 10**5), [2.0], [1e5])
    found = judge(before, now, 10**5)
    assert found.passes == 1.0
    assert found.gain == pytest.approx(1e5 * (1 / (5 * 10**5) - 1 / (6 * 10**5)))


def test_the_gain_is_that_of_the_next_leader():
    """The leader has converged, and another candidate is about to overtake it."""
    before, now, after = evaluations((1000, 2000, 4000), [0.5, 0.4], [0.0, 220.0])
    assert (now.lead, after.lead) == (0, 1)
    assert judge(before, now, 2000).gain == pytest.approx(0.5 - (0.4 + 220.0 / 4000.0))


def test_errors_are_those_of_the_loss_and_of_its_decrease():
    before, now = evaluations((100, 300), [2.0], [100.0])
    found = judge(before, now, 600)
    fallen = before.losses[:, 0] - now.losses[:, 0]
    factor = 100 / 200 * 600 / 900
    assert found.loss_error == pytest.approx(standard_error(now.losses[:, 0], now.weights))
    assert found.noise == pytest.approx(found.loss_error * np.sqrt(N_ROWS / 300))
    assert found.gain_error == pytest.approx(factor * standard_error(fallen, now.weights))
    assert found.gain_in_errors == pytest.approx(found.gain / found.noise)


def test_the_noise_is_that_of_all_rows_read():
    """In the first pass of the rows so far, then of all rows."""
    errors = [judge(*evaluations((100, steps), [2.0], [0.0]), 600).noise for steps in (150, 600, 6000)]
    assert errors[0] == pytest.approx(2.0 * errors[1])
    assert errors[1] == pytest.approx(errors[2])


def test_rising_losses_have_no_gain():
    before, now = evaluations((100, 200), [2.0], [-50.0])
    found = judge(before, now, 100)
    assert found.gain == 0.0
    assert found.gain_in_errors == 0.0
    assert limits(before, now) == pytest.approx(now.means)


def test_new_candidates_are_not_extrapolated():
    first, second = Candidate(1.0, 1.0), Candidate(2.0, 1.0)
    (before,) = evaluations((100,), [2.0], [100.0], candidates=[first])
    (now,) = evaluations((200,), [1.0, 2.0], [100.0, 100.0], candidates=[second, first])
    assert now.lead == 0
    assert limits(before, now)[0] == pytest.approx(1.5)
    assert limits(before, now)[1] < 2.5
    assert judge(before, now, 100).gain == 0.0
    (only_new,) = evaluations((200,), [1.0], [100.0], candidates=[second])
    assert judge(before, only_new, 100).gain == 0.0


def test_candidates_are_matched_by_value_not_by_place():
    before, now = evaluations((100, 200), [2.0, 1.0], [100.0, 50.0])
    turned = Evaluation(200, now.candidates[::-1], now.losses[:, ::-1], now.weights, now.constant)
    assert limits(before, turned) == pytest.approx([1.0, 2.0])
    assert judge(before, turned, 100).gain == pytest.approx(judge(before, now, 100).gain)


def test_the_gain_in_errors_of_the_loss():
    assert Judgement(1.0, 0.3, 0.02, 0.0, 1.0, 0.1).gain_in_errors == pytest.approx(0.2)
    assert np.isnan(Judgement(1.0, 0.3, np.nan, 0.0, 1.0, 0.1).gain_in_errors)


def test_the_gain_in_errors_of_a_loss_without_error():
    assert Judgement(1.0, 0.3, 0.0, 0.0, 1.0, 0.0).gain_in_errors == 0.0
    assert Judgement(1.0, 0.3, 1e-9, 0.0, 1.0, 0.0).gain_in_errors == np.inf
    assert np.isnan(Judgement(1.0, 0.3, np.nan, 0.0, 1.0, 0.0).gain_in_errors)


@pytest.mark.parametrize(("worse", "expected"), [(0.0, False), (1.5, False), (2.5, True), (-2.5, False)])
def test_an_evaluation_is_worse_beyond_two_errors_of_the_difference(worse, expected):
    rng = np.random.default_rng(0)
    candidates, weights = CANDIDATES[:1], np.ones(100)
    level, change = 5.0 * rng.standard_normal(100), rng.standard_normal(100)
    change = (change - change.mean()) / change.std()
    before = Evaluation(10, candidates, level[:, None], weights, level)
    now = Evaluation(20, candidates, (level + change + worse / 10.0)[:, None], weights, level)
    assert now.is_worse_than(before) is expected


def test_means_are_weighted():
    evaluation = Evaluation(1, CANDIDATES[:2], np.array([[1.0, 4.0], [2.0, 0.0]]), np.array([3.0, 1.0]), np.ones(2))
    assert evaluation.means.tolist() == [1.25, 3.0]
    assert evaluation.lead == 0


def test_a_measured_loss_is_compared_with_a_constant_prediction():
    """The mean loss of 2.0 against 2.2; three standard errors of 0.5/20 are 0.075."""
    (now,) = evaluations((100,), [2.0], [0.0])
    assert measure(now).beats_constant
    assert measure(now).constant_loss == pytest.approx(2.2)
    close, far = (replace(now, constant=np.full(N_ROWS, level)) for level in (1.95, 1.9))
    assert measure(close).beats_constant
    assert not measure(far).beats_constant


def test_one_huge_loss_is_worse_than_a_constant_whatever_its_error():
    """It makes the standard error as large as the mean, of which three would be allowed."""
    (now,) = evaluations((100,), [2.0], [0.0])
    for loss, beats in ((1e3, True), (1e5, False)):
        losses = np.concatenate([[[loss]], now.losses[1:]])
        assert measure(replace(now, losses=losses)).beats_constant is beats
