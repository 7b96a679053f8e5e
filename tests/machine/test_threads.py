"""Threads: results in order, few items at a time, one BLAS thread within each."""

import os
import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sgdone.machine.threads import blas_threads, mapped, single_thread


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_order(threads):
    gate = threading.Barrier(min(threads, 2))

    def square(number):
        if number < min(threads, 2):
            gate.wait(10)  # the first two at the same time, if there are two threads
        return number**2

    assert list(mapped(square, range(20), threads)) == [number**2 for number in range(20)]


@pytest.mark.parametrize("threads", [1, 2])
def test_few_items_are_alive_at_a_time(threads):
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    for number, _ in enumerate(mapped(abs, items(), threads)):
        assert len(taken) <= number + 2 * threads + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_is_raised_where_its_item_was(threads):
    found = mapped(lambda number: 1 // number, [1, 1, 0], threads)
    assert [next(found), next(found)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(found)


def limits():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_uses_one_thread_within_the_context_only():
    with threadpool_limits(2, "blas"):
        before = limits()
        with single_thread():
            assert limits() == {1}
        assert limits() == before


def test_the_limit_holds_until_the_last_thread_leaves():
    entered, left, inside = threading.Event(), threading.Event(), []

    def second():
        with single_thread():
            entered.set()
            assert left.wait(10)
            inside.append(limits())

    with threadpool_limits(2, "blas"):
        before, other = limits(), threading.Thread(target=second)
        with single_thread():
            other.start()
            assert entered.wait(10)
        left.set()
        other.join()
        assert inside == [{1}]
        assert limits() == before


def test_as_many_threads_as_blas_may_use_and_processors_there_are():
    with threadpool_limits(1, "blas"):
        assert blas_threads() == 1
    with threadpool_limits(2, "blas"):
        assert blas_threads() == min(2, len(os.sched_getaffinity(0)))
