"""A lasting rise of the progressive loss is found, and nothing else is called one."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.run.loss_change import GROUP, LossWatch
from tiers import examples

KINDS = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "squared student": lambda rng, n: rng.standard_t(3, n) ** 2,
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "pareto": lambda rng, n: rng.pareto(2.5, n) + 1,
    "infinite variance": lambda rng, n: rng.pareto(1.2, n) + 1,
    "rare class": lambda rng, n: np.where(rng.random(n) < 0.03, 3.5, 0.03),
    "negative": lambda rng, n: rng.standard_normal(n) - 1,
}


def watched(losses, weights=None, step=65_536, watch=None, first_row=0):
    watch = watch or LossWatch()
    for first in range(0, losses.size, step):
        part = slice(first, first + step)
        watch.add(losses[part], None if weights is None else weights[part], first_row + first)
    return watch


def same(a, b):
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(LossWatch))


def risen(losses, row, factor):
    """Losses from a row on are larger by a share of the mean absolute loss."""
    losses[row:] += (factor - 1) * (np.abs(losses[row:]) if losses.min() >= 0 else np.abs(losses).mean())
    return losses


@pytest.mark.parametrize("kind", KINDS)
def test_no_alarm_without_a_change(kind, rng):
    assert watched(KINDS[kind](rng, 300_000)).change() is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_rise_is_found_where_it_happened(kind, rng):
    watch = watched(risen(KINDS[kind](rng, 200_000), 130_000, 1.5))
    change = watch.change()
    assert watch.n_changes == 1
    assert abs(change.row - 130_000) < 5 * GROUP
    assert change.row < change.found <= 180_000
    assert change.after > change.before


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e90])
def test_the_scale_of_the_losses_does_not_matter(scale, rng):
    change = watched(scale * risen(rng.exponential(size=150_000), 100_000, 1.4)).change()
    assert change.row == pytest.approx(100_000, abs=5 * GROUP)
    assert (change.before, change.after) == pytest.approx((scale, 1.4 * scale), rel=0.05)


@examples(10)
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_calls_may_be_of_any_size(seed, weighted):
    rng = np.random.default_rng(seed)
    losses = risen(rng.exponential(size=80_000), 50_000, 1.5)
    weights = rng.integers(0, 3, losses.size).astype(float) if weighted else None
    whole = watched(losses, weights, losses.size)
    cuts = np.sort(rng.integers(0, losses.size, 200))
    parts, copied = LossWatch(), None
    for first, last in zip([0, *cuts], [*cuts, losses.size], strict=True):
        parts.add(losses[first:last], None if weights is None else weights[first:last], int(first))
        copied = parts = parts.copy()
    assert same(whole, copied)
    assert weighted or whole.change() is not None


def test_a_copy_shares_nothing(rng):
    watch = watched(rng.exponential(size=100_000))
    before = watch.copy()
    watched(rng.exponential(2.0, 100_000), watch=watch, first_row=100_000)
    assert before.change() is None
    assert watch.change() is not None
    assert same(before, before.copy())
    assert not same(before, watch)


def test_the_size_of_the_weights_does_not_matter(rng):
    losses, weights = risen(rng.exponential(size=150_000), 100_000, 1.4), rng.lognormal(size=150_000)
    small, large = (watched(losses, scale * weights).change() for scale in (1e-290, 1e290))
    assert small.row == large.row == pytest.approx(100_000, abs=5 * GROUP)
    assert small.after == pytest.approx(large.after)


def test_few_heavy_rows_are_no_change(rng):
    weights = np.where(rng.random(400_000) < 1e-3, 1e6, 1.0)
    assert watched(rng.exponential(size=400_000), weights).change() is None


def test_rows_without_weight_do_not_count(rng):
    losses, weights = rng.exponential(size=200_000), np.ones(200_000)
    weights[1::2], losses[1::2] = 0.0, rng.exponential(size=100_000) * np.repeat([1.0, 9.0], 50_000)
    half = watched(losses[::2])
    whole = watched(losses, weights)
    assert whole.change() is None
    assert np.array_equal(whole.window, half.window)
    assert np.array_equal(whole.window_rows, 2 * half.window_rows)


def test_losses_that_are_not_finite_do_not_count(rng):
    losses = rng.exponential(size=200_000)
    broken = losses.copy()
    broken[rng.integers(0, 200_000, 90_000)] = rng.choice([np.nan, np.inf, -np.inf], 90_000)
    assert watched(broken).change() is None
    losses[::7] = 1e308
    assert watched(losses).change() is None


@pytest.mark.parametrize("value", [0.0, 1e-300, 0.3, -2.0])
def test_constant_losses_are_no_change(value):
    assert watched(np.full(300_000, value)).change() is None


def test_a_constant_loss_that_rises():
    change = watched(np.repeat([0.2, 0.25], [100_000, 30_000])).change()
    assert change.row == pytest.approx(100_000, abs=GROUP)
    assert change.sentence().startswith("The loss rose from 0.2 to 0.25 near row 100,352")


def test_negligible_losses_do_not_rise():
    falling = np.maximum(1e-12, 0.7 * np.exp(-np.arange(200_000) / 3000))
    assert watched(np.concatenate((falling, np.full(200_000, 2e-12)))).change() is None


@pytest.mark.parametrize("low", [0.0, 1e-15, 1e-4])
def test_a_rise_from_next_to_nothing_is_found(low, rng):
    losses = np.full(300_000, low)
    losses[:500] = 0.7
    losses[203_000:] = rng.exponential(size=97_000)
    change = watched(losses).change()
    assert change.row == pytest.approx(203_000, abs=GROUP)
    assert change.after == pytest.approx(1.0, rel=0.3)


def test_a_loss_that_falls_is_no_change_and_its_rise_is_one(rng):
    rows = np.arange(1.0, 400_001.0)
    losses = rng.exponential(size=rows.size) * (0.1 + 300 / rows)
    assert watched(losses).change() is None
    change = watched(risen(losses, 250_000, 1.25)).change()
    assert change.row == pytest.approx(250_000, abs=5 * GROUP)
    assert change.before == pytest.approx(0.101, rel=0.03)


@pytest.mark.parametrize("factor", [1e-7, 1e4])
def test_the_first_losses_do_not_set_the_scale_for_good(factor, rng):
    losses = risen(rng.standard_t(3, 300_000) ** 2, 200_000, 1.3)
    losses[:10_000] *= factor
    change = watched(losses).change()
    assert change.row == pytest.approx(200_000, abs=5 * GROUP)
    assert change.found <= 230_000


@pytest.mark.parametrize("length", [1, GROUP, 36_000])
def test_streams_too_short_to_tell(length):
    losses = np.linspace(0.0, 10.0, length)
    assert watched(losses).change() is None


@pytest.mark.parametrize(("length", "factor"), [(1000, 2), (1000, 100), (30, 1e6), (2000, 1.9)])
@pytest.mark.parametrize("first", [99_500, 106_000, 100_000])
def test_a_few_bad_rows_are_no_change(length, factor, first, rng):
    losses = rng.exponential(size=200_000)
    losses[first : first + length] *= factor
    assert watched(losses).change() is None


def test_the_latest_of_several_changes(rng):
    losses = rng.exponential(size=300_000) * np.repeat([1.0, 1.5, 1.0, 2.0], [80_000, 80_000, 80_000, 60_000])
    watch = watched(losses)
    assert watch.n_changes == 2
    assert watch.change().row == pytest.approx(240_000, abs=5 * GROUP)


def test_a_few_huge_losses_do_not_hide_a_rise(rng):
    losses = risen(rng.exponential(size=150_000), 100_000, 1.5)
    losses[500] = 1e9
    change = watched(losses).change()
    assert change.row == pytest.approx(100_000, abs=5 * GROUP)
    assert change.before < change.after < 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_and_detections(kind, rng):
    drawn = KINDS[kind](rng, 4_000_000)

    def stream(n_rows):
        starts = rng.integers(0, drawn.size - 50_000, -(-n_rows // 50_000))
        return np.concatenate([drawn[start : start + 50_000] for start in starts])[:n_rows]

    assert sum(watched(stream(1_000_000)).n_changes > 0 for _ in range(60)) <= 2
    rows = rng.integers(100_000, 300_000, 30)
    changes = [watched(risen(stream(row + 50_000), row, 1.2)).change() for row in rows]
    assert sum(change is not None and change.found > row for change, row in zip(changes, rows, strict=True)) >= 27
