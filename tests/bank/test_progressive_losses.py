"""Progressive losses summed row by row: means, errors and losers equal those of all rows at once."""

import numpy as np
import pytest

from sgdone.bank.comparison import clear_losers
from sgdone.bank.progressive_losses import ProgressiveLosses
from sgdone.interfaces.measured import means, standard_errors


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
