"""Comparisons of candidates, progressive losses, and evaluations on validation rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.bank.evaluation import (
    CANDIDATES,
    Candidate,
    Evaluation,
    ProgressiveLosses,
    clear_losers,
    judge,
    limits,
    measure,
    ties,
    worth_keeping,
)
from sgdone.interfaces.objective import Judgement, grouped_error, means, standard_error, standard_errors
from tiers import examples


def test_a_weighted_mean_and_its_standard_error(rng):
    values, weights = rng.standard_normal(50), rng.uniform(0.5, 2.0, 50)
    mean = np.average(values, weights=weights)
    assert means(values[:, None], weights)[0] == pytest.approx(mean, rel=1e-13)
    error = np.sqrt(np.sum((weights * (values - mean)) ** 2)) / weights.sum()
    assert standard_error(values, weights) == pytest.approx(error, rel=1e-13)
    assert standard_error(values, weights, 5000) == pytest.approx(error / 10.0, rel=1e-13)
    assert standard_error(values, np.ones(50)) == pytest.approx(values.std() / np.sqrt(50), rel=1e-13)
    assert standard_error(values, 7.0 * weights) == pytest.approx(standard_error(values, weights), rel=1e-13)


@pytest.mark.parametrize(("errors", "loses"), [(2.9, False), (3.1, True)])
def test_a_loser_is_behind_by_three_standard_errors_of_the_difference(errors, loses, rng):
    """Independent of the scatter of the losses themselves."""
    lead, change = 10.0 + rng.standard_normal(400), rng.standard_normal(400)
    change = (change - change.mean()) / change.std()
    losses = np.column_stack([lead + change + errors / 20.0, lead])
    assert clear_losers(losses, np.ones(400), 1).tolist() == [loses, False]


@pytest.mark.parametrize(("share", "loses"), [(0.0029, False), (0.0031, True)])
def test_a_loser_is_behind_by_a_relevant_share_of_the_loss(share, loses, rng):
    lead = 10.0 + rng.standard_normal(400)
    losses = np.column_stack([lead, lead + share * lead.mean()])
    assert clear_losers(losses, np.ones(400), 0).tolist() == [False, loses]


@pytest.mark.parametrize(("errors", "tied"), [(0.9, [0, 1]), (1.1, [1])])
def test_ties_are_within_one_standard_error_of_the_difference(errors, tied, rng):
    lead, change = 10.0 + rng.standard_normal(400), rng.standard_normal(400)
    change = (change - change.mean()) / change.std()
    losses = np.column_stack([lead + change + errors / 20.0, lead])
    assert ties(losses, np.ones(400), 1) == tied


def test_the_candidate_with_the_next_smaller_steps_stays():
    losers = np.array([True, True, False, False, True])
    assert worth_keeping(losers, 3) == [2, 3]
    assert worth_keeping(losers, 2) == [1, 2, 3]
    assert worth_keeping(np.array([False, True]), 0) == [0]
    assert worth_keeping(losers, 3, larger=True) == [2, 3, 4]


def test_copies_count_as_one_value(rng):
    values, weights = rng.standard_normal(50), rng.uniform(0.5, 2.0, 50)
    copied = np.repeat(values, 10), np.repeat(weights, 10)
    assert grouped_error(*copied, np.repeat(np.arange(50), 10)) == (pytest.approx(standard_error(values, weights)), 50)
    assert grouped_error(values, weights, np.empty(0, np.intp)) == (standard_error(values, weights), 50)


@pytest.fixture
def seen(rng):
    """Correlated losses of four candidates, and weights of the rows."""
    together = rng.exponential(size=(500, 1))
    losses = together + 0.1 * rng.standard_normal((500, 4)) + [0.05, 0.0, 0.001, 0.02]
    return losses, rng.integers(1, 4, 500).astype(float)


def summed(losses, weights, chunk=70):
    found = ProgressiveLosses()
    for first in range(0, len(losses), chunk):
        found.add(losses[first : first + chunk], weights[first : first + chunk])
    return found


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_means_and_errors_are_those_of_all_rows(size, seen):
    losses, weights = seen
    found = summed(size * losses, weights)
    assert found.rows == 500
    np.testing.assert_allclose(found.means * found.unit, size * means(losses, weights), rtol=1e-12)
    assert found.lead == np.argmin(means(losses, weights))
    for lead in range(4):
        expected = size * standard_errors(losses - losses[:, [lead]], weights)
        np.testing.assert_allclose(found.errors(lead) * found.unit, expected, rtol=1e-6, atol=size * 1e-9)


def test_losers_are_those_of_all_rows(seen):
    losses, weights = seen
    expected = clear_losers(losses, weights, 1)
    assert summed(losses, weights).clear_losers().tolist() == expected.tolist() == [True, False, False, True]


def test_candidates_with_the_same_losses_are_no_losers(seen):
    losses, weights = seen
    found = summed(losses[:, [1, 1, 1]], weights)
    assert not found.clear_losers().any()
    assert np.all(found.errors(0) < 1e-9)


def test_after_clear_the_sums_start_again(seen):
    losses, weights = seen
    found = summed(1e6 * losses, weights)
    found.clear()
    assert found.rows == 0
    found.add(losses[:, :2], weights)
    again = summed(losses[:, :2], weights, chunk=500)
    np.testing.assert_allclose(found.means * found.unit, again.means * again.unit, rtol=1e-12)
    np.testing.assert_allclose(found.errors(0) * found.unit, again.errors(0) * again.unit, rtol=1e-12)


def test_a_copy_is_independent(seen):
    losses, weights = seen
    found = summed(losses, weights)
    copy, before = found.copy(), found.means.copy()
    copy.add(100.0 * losses, weights)
    assert np.array_equal(found.means, before)
    assert not np.array_equal(copy.means, before)


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


@pytest.mark.parametrize(
    ("gain", "noise", "expected"),
    [(0.02, 0.1, 0.2), (np.nan, 0.1, np.nan), (0.0, 0.0, 0.0), (1e-9, 0.0, np.inf), (np.nan, 0.0, np.nan)],
)
def test_the_gain_in_errors_of_the_loss(gain, noise, expected):
    """Also of a loss without error."""
    assert Judgement(1.0, 0.3, gain, 0.0, 1.0, noise).gain_in_errors == pytest.approx(expected, nan_ok=True)


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
