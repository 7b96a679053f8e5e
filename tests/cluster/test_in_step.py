import threading
from functools import partial

import numpy as np
import pytest
from partitions import logistic_problem, split

from sgdone.cluster import Here, PartitionError, Rounds
from sgdone.cluster.in_step import in_step
from sgdone.cluster.statistics import Statistics


def asks(times, rounds):
    """A search that asks some times."""
    return [rounds.ask(Statistics("classification")).weight for _ in range(times)]


def engine():
    return Here(split(*logistic_problem(60, 2), 3))


def test_requests_that_are_made_together_are_one_round():
    rounds = Rounds(engine())
    found = in_step(rounds, [partial(asks, times) for times in (1, 4, 0, 2)])
    assert found == [[60.0], [60.0] * 4, [], [60.0] * 2]
    assert [record.request for record in rounds.records] == ["Several", "Several", "Statistics", "Statistics"]


def test_errors_end_all_searches():
    def fails(rounds):
        asks(1, rounds)
        raise RuntimeError("no way on")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="no way on"):
        in_step(Rounds(engine()), [fails, partial(asks, 5)])
    bad = Here(split(np.full((4, 1), np.nan), np.array([0, 1, 0, 1]), 2))
    with pytest.raises(PartitionError, match="partition 0: row 0 of X holds NaN"):
        in_step(Rounds(bad), [partial(asks, 1), partial(asks, 2)])
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread() and thread.name.startswith("Thread-"):
            thread.join(10)
    assert threading.active_count() <= before


def test_ctrl_c_ends_all_searches():
    class Interrupted(Here):
        def ask(self, parts, *, in_order=False):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_step(Rounds(Interrupted([])), [partial(asks, 1), partial(asks, 2)])


def test_numpy_warnings_are_those_of_the_caller():
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        in_step(Rounds(engine()), [lambda _: np.float64(1e308) * 10.0])
