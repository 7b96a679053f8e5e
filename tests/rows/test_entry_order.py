"""Whether groups of consecutive rows differ in the levels that they have."""

import numpy as np
import pytest

from sgdone.rows.faults import ORDER_MATTERS, EntryOrder

N_ROWS, GROUP = 20_000, 1000


def share(levels, n_levels):
    """The share of rows that have one level each."""
    order = EntryOrder()
    for first in range(0, levels.size, GROUP):
        order.add(np.bincount(levels[first : first + GROUP], minlength=n_levels).astype(float), GROUP)
    return order.share


@pytest.mark.parametrize("n_levels", [2, 30, 5000])
def test_rows_sorted_by_a_level_have_an_order(n_levels, rng):
    """However few rows have each level, and if a tenth of them is out of place."""
    shares = np.cumsum(1.0 / np.arange(1.0, n_levels + 1))
    levels = np.searchsorted(shares, shares[-1] * rng.random(N_ROWS))
    assert share(levels, n_levels) < ORDER_MATTERS / 5
    nearly = np.sort(levels)
    moved = rng.random(N_ROWS) < 0.1
    nearly[moved] = rng.permutation(nearly[moved])
    assert share(nearly, n_levels) > ORDER_MATTERS


def test_rows_that_alternate_or_are_one_group_have_none():
    assert share(np.arange(N_ROWS) % 2, 2) == 0.0
    assert share(np.zeros(GROUP, dtype=int), 1) == 0.0


def test_levels_that_come_later_are_an_order():
    order = EntryOrder()
    order.add(np.array([100.0]), 100)
    order.add(np.array([0.0, 100.0]), 100)
    assert order.share == pytest.approx(1.0, abs=0.02)
