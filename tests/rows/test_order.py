"""The order of rows in a pass."""

import numpy as np
import pytest

from sgdone.rows.source import RUN, RUNS_IN_WINDOW, in_order, shuffled

SIZES = [1, 2, 255, 256, 257, 4095, 4096, 4097, 16_384, 16_385, 70_001]


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("orders", [lambda n: shuffled(n, np.random.default_rng(0)), in_order])
def test_every_row_once(n_rows, orders):
    found = list(orders(n_rows))
    sizes = [order.size for order in found]  # known before the rows are
    rows = [order.rows for order in found]
    assert [part.size for part in rows] == sizes
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(n_rows))


@pytest.mark.parametrize("n_rows", SIZES)
def test_upcoming_rows_exist_and_are_those_of_the_next_window(n_rows):
    orders = list(shuffled(n_rows, np.random.default_rng(0)))
    rows, upcoming = (np.concatenate([getattr(o, name) for o in orders]) for name in ("rows", "upcoming"))
    assert upcoming.max() < n_rows
    window = RUN * RUNS_IN_WINDOW
    if n_rows == 70_001:
        assert set(upcoming[: window - RUN]) <= set(rows[window - RUN : 2 * window])


def test_a_window_is_made_of_runs_of_neighbours():
    first = next(iter(shuffled(100_000, np.random.default_rng(0)))).rows[: RUN * RUNS_IN_WINDOW]
    runs = np.unique(first // RUN)
    assert runs.size == RUNS_IN_WINDOW
    assert not np.array_equal(first, np.sort(first))


def test_small_data_are_fully_shuffled():
    """Every row is as likely at every place: χ² over 3000 shuffles of 20 rows."""
    rng = np.random.default_rng(0)
    counts = np.zeros((20, 20))
    for _ in range(3000):
        counts[np.arange(20), next(iter(shuffled(20, rng))).rows.astype(int)] += 1
    statistic = np.sum((counts - 150) ** 2 / 150)
    assert statistic < 361 + 4 * np.sqrt(2 * 361)


def test_the_same_seed_gives_the_same_order_and_another_another():
    a, b, c = (np.concatenate([o.rows for o in shuffled(5000, np.random.default_rng(s))]) for s in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
