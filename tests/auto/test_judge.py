"""Who is ahead, and who is left behind."""

import numpy as np
import pytest

from sgdone.auto.judge import clear_losers, means, standard_error, worth_keeping


def test_a_mean_of_weighted_rows_and_its_error(rng):
    values, weights = rng.standard_normal(50), rng.uniform(0.5, 2.0, 50)
    mean = np.average(values, weights=weights)
    assert means(values[:, None], weights)[0] == pytest.approx(mean, rel=1e-13)
    error = np.sqrt(np.sum((weights * (values - mean)) ** 2)) / weights.sum()
    assert standard_error(values, weights) == pytest.approx(error, rel=1e-13)
    assert standard_error(values, weights, 5000) == pytest.approx(error / 10.0, rel=1e-13)
    assert standard_error(values, np.ones(50)) == pytest.approx(values.std() / np.sqrt(50), rel=1e-13)
    assert standard_error(values, 7.0 * weights) == pytest.approx(standard_error(values, weights), rel=1e-13)


@pytest.mark.parametrize(("errors", "loses"), [(2.9, False), (3.1, True)])
def test_a_loser_is_behind_by_three_errors_of_the_difference(errors, loses, rng):
    """However much the losses of rows scatter by themselves."""
    lead, change = 10.0 + rng.standard_normal(400), rng.standard_normal(400)
    change = (change - change.mean()) / change.std()
    losses = np.column_stack([lead + change + errors / 20.0, lead])
    assert clear_losers(losses, np.ones(400), 1).tolist() == [loses, False]


@pytest.mark.parametrize(("share", "loses"), [(0.0029, False), (0.0031, True)])
def test_and_by_three_thousandths_of_the_loss(share, loses, rng):
    lead = 10.0 + rng.standard_normal(400)
    losses = np.column_stack([lead, lead + share * lead.mean()])
    assert clear_losers(losses, np.ones(400), 0).tolist() == [False, loses]


def test_the_next_more_cautious_than_the_leader_stays():
    losers = np.array([True, True, False, False, True])
    assert worth_keeping(losers, 3) == [2, 3]
    assert worth_keeping(losers, 2) == [1, 2, 3]
    assert worth_keeping(np.array([False, True]), 0) == [0]
