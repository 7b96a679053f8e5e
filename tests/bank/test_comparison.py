"""Means, standard errors, clear losers and ties of candidates."""

import numpy as np
import pytest

from sgdone.bank.comparison import clear_losers, ties, worth_keeping
from sgdone.interfaces.measured import grouped_error, means, standard_error


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


def test_copies_count_as_one_value(rng):
    values, weights = rng.standard_normal(50), rng.uniform(0.5, 2.0, 50)
    copied = np.repeat(values, 10), np.repeat(weights, 10)
    assert grouped_error(*copied, np.repeat(np.arange(50), 10)) == (pytest.approx(standard_error(values, weights)), 50)
    assert grouped_error(values, weights, np.empty(0, np.intp)) == (standard_error(values, weights), 50)
