"""Work in a thread: items in order, errors in their place, and no thread left behind."""

import threading
import time
from contextlib import closing

import pytest

from sgdone.machine.threads import in_background


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def test_items_come_in_order_from_another_thread():
    threads = set()

    def items():
        for k in range(50):
            threads.add(threading.current_thread().name)
            yield k

    assert list(in_background(items(), 2)) == list(range(50))
    assert threads == {"sgdone-reader"}


@pytest.mark.parametrize("error", [OSError("no disk"), MemoryError(), KeyboardInterrupt(), SystemExit(3)])
def test_an_error_is_raised_at_its_place(error):
    def items():
        yield 1
        raise error

    found = in_background(items(), 5)
    assert next(found) == 1
    with pytest.raises(type(error)) as caught:
        next(found)
    assert caught.value is error


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_a_consumer_that_stops_early_closes_the_iterator(taken):
    closed, made = [], []

    def endless():
        try:
            while True:
                made.append(0)
                yield 0
        finally:
            closed.append(threading.current_thread().name)

    items = in_background(endless(), 2)
    with closing(items):
        for _ in range(taken):
            next(items)
    if taken:  # otherwise nothing has begun
        assert closed == ["sgdone-reader"]
    assert len(made) <= taken + 4


def test_it_runs_a_bounded_number_of_items_ahead():
    made = []

    def items():
        for k in range(100):
            made.append(k)
            yield k

    found = in_background(items(), 3)
    with closing(found):
        next(found)
        deadline = time.monotonic() + 10
        while len(made) < 5 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.02)
        assert len(made) == 5  # one is used, three wait, and one is ready to


def test_an_iterator_that_is_no_generator_needs_no_close():
    assert list(in_background(iter([1, 2]), 1)) == [1, 2]
