"""Penalties are tried until the best lies inside, or at an end."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.newton.penalty_path import LARGEST, PenaltyGrid, lam_at
from tiers import examples


def searched(loss, **ends):
    grid = PenaltyGrid(**ends)
    while (k := grid.next()) is not None:
        assert k not in grid.losses
        grid.record(k, loss(k))
    return grid


@examples(30)
@given(best=st.integers(-12, 12))
def test_the_best_of_a_curve_with_one_minimum_is_found(best):
    grid = searched(lambda k: abs(k - best + 0.1))
    assert (grid.best, grid.end) == (best, "")
    assert {best - 1, best + 1} <= set(grid.losses)
    assert len(grid.losses) <= abs(best) + 3


@pytest.mark.parametrize(("slope", "best", "end"), [(-1.0, 5, "largest"), (1.0, -4, "smallest")])
def test_a_best_penalty_at_an_end_is_reported(slope, best, end):
    grid = searched(lambda k: slope * k, lowest=-4.5, highest=5.0)
    assert (grid.best, grid.end) == (best, end)
    assert set(grid.losses) <= set(range(-4, 6))


def test_of_equal_losses_the_largest_penalty_is_the_best():
    assert searched(lambda k: max(abs(k) - 2, 0), highest=9.0).best == 2


def test_what_is_not_a_number_is_never_the_best():
    grid = searched(lambda k: math.nan if k > 0 else k * k - k)
    assert (grid.best, grid.losses[1]) == (0, math.inf)


def test_a_loss_that_falls_for_ever_ends_the_search():
    """Targets that depend on nothing: each larger penalty is a little better."""
    grid = searched(lambda k: -k)
    assert (grid.best, grid.end) == (LARGEST, "largest")
    assert math.isfinite(lam_at(grid.best) ** 2)
