"""When candidates are compared, and how many are kept."""

import pytest

from sgdone.bank.evaluation import is_due_after, is_due_in_stream, most_candidates, next_in_stream


def test_in_the_first_pass_after_1024_rows_and_twice_as_many_each_time():
    due = [steps for steps in range(10_000) if is_due_in_stream(steps)]
    assert due == [1024, 2048, 4096, 8192]
    assert [next_in_stream(steps) for steps in (0, 1023, 1024, 5000)] == [1024, 1024, 2048, 8192]


def test_after_passes_further_and_further_apart_and_after_the_last():
    small = [passes for passes in range(1, 101) if is_due_after(passes, small=True)]
    large = [passes for passes in range(1, 101) if is_due_after(passes, small=False)]
    assert small == [1, 2, 4, 8, 16, 32, 64, 100]
    assert large == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100]


@pytest.mark.parametrize(("passes", "most"), [(1, 1000), (2, 2), (5, 2), (6, 1), (100, 1)])
def test_few_candidates_are_kept_in_later_passes_over_large_data(passes, most):
    assert most_candidates(passes, small=False) == most
    assert most_candidates(passes, small=True) == 1000
