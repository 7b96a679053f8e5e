"""Units of columns: equal to the slow reference, independent of windows, and equivariant."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from model_cases import OBJECTIVES, advance, predictions, random_case
from reference_bank import column_units
from sgdone.rows import ArraySource
from sgdone.rows.faults import BadRowError
from sgdone.rows.rows import LEVEL
from sgdone.sums.units import TEXT_NORM, Units
from tiers import examples, fast_first

dense_or_csr = pytest.mark.parametrize("dense", fast_first(1, [True, False]), ids=["dense", "csr"])


def block_of(X, dense=True, weights=None):
    labels = np.ones(len(X))
    source = ArraySource(X if dense else sparse.csr_array(X), labels, weights, shuffle=False)
    return next(source.blocks(np.random.default_rng(0)))


def seen(block, *windows, centred=None):
    """Units made of some rows of a block, window by window."""
    n_features, n_dense = block.rows.n_features, block.rows.n_dense
    units = Units(n_dense, n_dense > 0 if centred is None else centred, n_features)
    for window in windows:
        units.observe(block, window)
    units.renew()
    return units


def units_of(X, dense=True, weights=None, windows=1):
    """Units made of all rows, seen in so many windows."""
    block = block_of(X, dense, weights)
    return seen(block, *np.array_split(block.used(0, len(X)), windows))


def in_units(X, units):
    """The rows in scaled units, dense."""
    scaling = units.scaling
    return (X - (0.0 if scaling.shift is None else scaling.shift)) / scaling.scale


def random_rows(seed, dense=True, n_rows=None):
    """Columns of all sizes; of sparse ones some are full, some have but one entry or none."""
    rng = np.random.default_rng(seed)
    n_rows = n_rows or int(rng.integers(2, 200))
    X = rng.standard_normal((n_rows, 7)) * 10.0 ** rng.uniform(-3, 3, 7)
    if dense:
        return X + 100.0 * rng.standard_normal(7)
    X *= rng.random((n_rows, 7)) < np.array([1.0, 0.5, 0.2, 0.1, 0.5, 0.5, 0.0])
    X[:, 5] = 0.0
    X[n_rows // 2, 5] = 3.0
    return X


@dense_or_csr
@examples(20)
@given(seed=st.integers(0, 10**6), windows=st.integers(1, 5))
def test_units_equal_the_reference(dense, seed, windows):
    X = random_rows(seed, dense)
    scale, shift = column_units(X, dense)
    units = units_of(X, dense, windows=windows)
    np.testing.assert_allclose(units.scale, scale, rtol=1e-10)
    if dense:
        np.testing.assert_allclose(units.scaling.shift, shift, rtol=1e-12, atol=1e-13 * scale.max())
    else:
        assert units.scaling.shift is None
    assert units.rows == units.made_from == len(X)


@dense_or_csr
def test_window_by_window_is_at_once(dense):
    X = random_rows(1, dense, 500)
    at_once, in_windows = units_of(X, dense), units_of(X, dense, windows=60)
    assert np.array_equal(at_once.firsts, in_windows.firsts)
    assert np.array_equal(at_once.squares, in_windows.squares)
    assert np.array_equal(at_once.scale, in_windows.scale)


@examples(20)
@given(seed=st.integers(0, 10**6), powers=st.lists(st.integers(-30, 30), min_size=7, max_size=7))
def test_dense_columns_that_stay_in_place(seed, powers):
    """Without an intercept nothing would take up a shift."""
    factors = 10.0 ** np.array(powers)
    X = random_rows(seed) * factors
    X[:, 2] = 5.0
    X[:, 3] = 0.0
    block = block_of(X)
    units = seen(block, *np.array_split(block.order.rows, 3), centred=False)
    np.testing.assert_allclose(units.scale, column_units(X, True, centred=False)[0], rtol=1e-12)
    assert units.scaling.shift is None
    assert (units.scale[2], units.scaling.scale[3]) == (5.0, np.inf)


def test_rows_in_units_have_mean_0_and_spread_1():
    X = random_rows(2, n_rows=300)
    rows = in_units(X, units_of(X))
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(rows.std(axis=0), 1.0, rtol=1e-10)


@dense_or_csr
@examples(15)
@given(seed=st.integers(0, 10**6), powers=st.lists(st.integers(-30, 30), min_size=7, max_size=7))
def test_other_units_of_the_user_give_the_same_rows(dense, seed, powers):
    X = random_rows(seed, dense, 50)
    factors = 10.0 ** np.array(powers)
    units, other = units_of(X, dense), units_of(X * factors, dense)
    np.testing.assert_allclose(other.scale, units.scale * factors, rtol=1e-9)
    np.testing.assert_allclose(in_units(X * factors, other), in_units(X, units), rtol=1e-7, atol=1e-9)


@examples(15)
@given(seed=st.integers(0, 10**6), size=st.floats(0, 6), sign=st.sampled_from([-1.0, 1.0]))
def test_columns_far_from_0_give_the_same_rows(seed, size, sign):
    """A million spreads away, six digits of the sixteen say where a column is."""
    X = random_rows(seed, n_rows=50)
    X -= X.mean(axis=0)
    units = units_of(X)
    shift = sign * 10.0**size * units.scale
    other = units_of(X + shift)
    np.testing.assert_allclose(other.scale, units.scale, rtol=1e-9)
    np.testing.assert_allclose(in_units(X + shift, other), in_units(X, units), atol=1e-8)


def test_a_first_row_far_away_costs_no_digits():
    """Differences are taken from it."""
    X = random_rows(3, n_rows=4000)
    X[0] += 1e7 * X.std(axis=0)
    np.testing.assert_allclose(units_of(X).scale, column_units(X, True)[0], rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e150, 1e-300, 1.0 / 3.0])
def test_constant_columns_count_for_nothing(value):
    X = random_rows(4, n_rows=1000)
    X[:, 3] = value
    units = units_of(X, windows=7)
    assert units.scale[3] == 0.0
    assert units.scaling.scale[3] == np.inf
    assert np.array_equal(in_units(X, units)[:, 3], np.zeros(1000))
    assert np.all(np.isfinite(units.scaling.scale[[0, 1, 2, 4, 5, 6]]))


def test_rounding_is_no_spread_but_a_small_one_is():
    X = np.ones((100, 2))
    X[::2, 0] += 2.0**-52
    X[::2, 1] += 1e-9
    scale = units_of(X).scale
    assert scale[0] == 0.0
    assert scale[1] == pytest.approx(5e-10, rel=1e-5)


def test_a_column_of_zeros_in_sparse_rows_counts_for_nothing():
    units = units_of(random_rows(5, dense=False), dense=False)
    assert units.scale[6] == 0.0
    assert units.scaling.scale[6] == np.inf


def test_entries_that_are_stored_zeros_do_not_count():
    X = random_rows(6, dense=False, n_rows=50)
    stored = sparse.csr_array(np.where(X == 0, 5.0, X))
    stored.data[stored.data == 5.0] = 0.0
    block = next(ArraySource(stored, np.ones(50), shuffle=False).blocks(np.random.default_rng(0)))
    units = seen(block, block.all_used())
    assert stored.nnz == X.size
    np.testing.assert_allclose(units.scale, column_units(X, False)[0], rtol=1e-12)


def test_what_is_rare_counts_more():
    X = np.zeros((99, 2))
    X[:, 0] = 2.0
    X[7, 1] = 2.0
    units = units_of(X, dense=False)
    assert units.scale[0] == 2.0
    assert units.scale[1] == pytest.approx(2.0 / (1.0 + np.log(50.0)), rel=1e-14)


def test_levels_and_words_of_a_table():
    """A rare level has the unit of a frequent one; words of a text have one unit in common, divided by their rarity."""
    rng = np.random.default_rng(0)
    words = rng.random((99, 4)) * (rng.random((99, 4)) < 0.3)
    X = np.column_stack([np.arange(99) < 7, np.arange(99) >= 7, words, 10 * words[:, :2], np.zeros(99)])
    roles = np.array([LEVEL, LEVEL, 2, 2, 2, 2, 3, 3, 3], dtype=np.int32)
    source = ArraySource(sparse.csr_array(X), np.ones(99), shuffle=False, roles=roles)
    block = next(source.blocks(np.random.default_rng(0)))
    units = Units.of_all_rows(block, centred=True)
    in_turn = Units(0, False, 9, roles=roles)
    in_turn.observe(block, block.used(0, 99))
    in_turn.renew()
    np.testing.assert_allclose(units.scale, in_turn.scale, rtol=1e-12)
    np.testing.assert_allclose(units.scale[:2], 1.0)
    assert units.scale[8] == 0
    scaled = X[:, :8] / units.scale[:8]
    for text in (slice(2, 6), slice(6, 8)):
        assert np.mean((scaled[:, text] ** 2).sum(axis=1)) == pytest.approx(TEXT_NORM)
        rarity = 1.0 + np.log(100 / (1 + np.count_nonzero(X[:, text], axis=0)))
        common = units.scale[text] * rarity
        np.testing.assert_allclose(common, common[0])


# ---- when units are estimated again ----


@dense_or_csr
def test_units_are_renewed_with_twice_as_many_rows(dense, rng):
    X = rng.choice([-1.0, 1.0], (100, 7))
    block = block_of(X, dense)
    units = Units(7 * dense, dense, 7)
    renewed = []
    for first in range(0, 100, 10):
        units.observe(block, block.used(first, first + 10))
        before = units.scale.copy()
        renewed.append(units.renew() and units.made_from)
        assert renewed[-1] or np.array_equal(units.scale, before)
    assert [bool(found) for found in renewed] == [k in (0, 1, 3, 7) for k in range(10)]
    assert [found for found in renewed if found] == [10, 20, 40, 80]


@dense_or_csr
def test_a_feature_first_seen_late_gets_units_at_once(dense):
    X = random_rows(8, dense, 100)
    X[:90, 4] = 0.0
    X[95, 4] = 2.0
    block = block_of(X, dense)
    units = Units(7 * dense, dense, 7)
    units.observe(block, block.used(0, 60))
    assert units.renew()
    assert units.scaling.scale[4] == np.inf
    units.observe(block, block.used(60, 90))
    assert not units.renew()
    before = units.scale.copy()
    units.observe(block, block.used(90, 100))
    assert not units.renew()
    assert np.isfinite(units.scaling.scale[4])
    assert units.scale[4] == pytest.approx(column_units(X, dense)[0][4], rel=1e-10)
    others = np.arange(7) != 4
    np.testing.assert_array_equal(units.scale[others], before[others])


@dense_or_csr
def test_so_does_a_column_that_has_grown(dense):
    X = random_rows(9, dense, 120)
    X[:, 0] = np.random.default_rng(0).standard_normal(120)
    X[100:, 0] *= 100.0
    block = block_of(X, dense)
    units = seen(block, block.used(0, 100))
    units.observe(block, block.used(100, 120))
    assert units.renew()
    assert units.scale[0] > 10.0


def test_new_units_do_not_change_the_models():
    """A column that starts to vary after the first rows."""
    case = random_case(28, OBJECTIVES["softmax of 3"], n_rows=200)
    case.X[:120, 3] = 0.25
    case = replace(case, weights=np.ones(200))
    block = block_of(case.X)
    units = seen(block, block.used(0, 100))
    before = replace(case, scaling=units.scaling)
    models = case.models()
    advance(models, before, 0, 100)
    expected = predictions(models, before)
    units.observe(block, block.used(100, 200))
    assert units.renew()
    after = replace(case, scaling=units.scaling)
    models.change_units(before.scaling, after.scaling)
    np.testing.assert_allclose(predictions(models, after), expected, rtol=1e-10, atol=1e-10)
    advance(models, after, 100, 200)
    assert np.all(np.isfinite(predictions(models, after)))


def test_a_column_that_has_had_some_spread_keeps_its_weight():
    """Its spread falls below rounding as more equal rows come; its weight must stay finite."""
    X = random_rows(10, n_rows=20000)
    X[:, 2] = 1.0
    X[5, 2] += 3e-13
    block = block_of(X)
    units = seen(block, block.used(0, 100))
    assert np.isfinite(units.scaling.scale[2])
    case = random_case(29, OBJECTIVES["softmax of 3"], n_features=7)
    case = replace(case, X=X[:30], weights=np.ones(30), scaling=units.scaling)
    models = case.models()
    advance(models, case)
    units.observe(block, block.used(100, 20000))
    assert units.renew()
    models.change_units(case.scaling, units.scaling)
    after = replace(case, scaling=units.scaling)
    assert np.all(np.isfinite(models.weights))
    assert np.all(np.isfinite(predictions(models, after)))


def test_a_copy_is_independent():
    X = random_rows(11, n_rows=50)
    block = block_of(X)
    units = seen(block, block.used(0, 20))
    copy = units.copy()
    copy.observe(block, block.used(20, 50))
    copy.renew()
    assert (units.rows, copy.rows) == (20, 50)
    np.testing.assert_allclose(units.scale, column_units(X[:20], True)[0], rtol=1e-10)
    np.testing.assert_allclose(copy.scale, column_units(X, True)[0], rtol=1e-10)
    units.observe(block, block.used(20, 50))
    assert np.array_equal(units.squares, copy.squares)


# ---- rows that do not count, and rows that are refused ----


@dense_or_csr
def test_rows_of_weight_0_do_not_count(dense):
    """Whether they are among the rows to be seen or have been left out before."""
    X = random_rows(12, dense, 60)
    weights = np.where(np.arange(60) % 3 == 1, 0.0, 0.5)
    X[1::3, 0] = 1e5
    expected = column_units(X[weights > 0], dense)[0]
    np.testing.assert_allclose(units_of(X, dense, weights).scale, expected, rtol=1e-9)
    block = block_of(X, dense, weights)
    units = seen(block, block.order.rows)
    assert units.rows == 40
    np.testing.assert_allclose(units.scale, expected, rtol=1e-9)


@dense_or_csr
def test_what_is_in_rows_of_weight_0_does_not_matter(dense):
    X = random_rows(13, dense, 60)
    weights = np.ones(60)
    weights[[0, 9]] = 0.0
    X[[0, 9], 2] = np.nan
    units = units_of(X, dense, weights)
    np.testing.assert_allclose(units.scale, column_units(X[weights > 0], dense)[0], rtol=1e-9)


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "holds NaN"), (-np.inf, "holds infinity"), (1e200, "too large")])
@pytest.mark.parametrize("row", [0, 17, 39])
@dense_or_csr
def test_rows_that_no_unit_makes_finite_are_refused_by_name(dense, row, bad, words):
    X = random_rows(14, dense, 40)
    X[row, 4] = bad
    block = block_of(X, dense)
    units = Units(7 * dense, dense, 7)
    with pytest.raises(BadRowError, match=f"row {row} of X.*{words}|row {row} of X is {words}"):
        units.observe(block, block.used(0, 40))


@dense_or_csr
def test_single_precision(dense):
    X = random_rows(15, dense, 100).astype(np.float32)
    units = units_of(X, dense)
    assert units.scale.dtype == np.float64
    np.testing.assert_allclose(units.scale, column_units(X.astype(np.float64), dense)[0], rtol=1e-5)


def test_sparse_rows_that_point_outside_are_left_to_the_loop_that_learns():
    X = random_rows(16, dense=False, n_rows=40)
    block = block_of(X, dense=False)
    data, indices, *others = block.rows.arrays
    wrong = indices.copy()
    wrong[int(others[0][11])] = 7
    broken = replace(block, rows=replace(block.rows, arrays=(data, wrong, *others)))
    units = seen(broken, broken.used(0, 40))
    assert units.rows == 39
    left = np.delete(X, 11, axis=0)
    np.testing.assert_allclose(units.scale, column_units(left, False)[0], rtol=1e-12)


@dense_or_csr
@pytest.mark.parametrize("centred", [True, False])
def test_tiny_columns_have_the_units_of_larger_ones(dense, centred):
    """Their squares underflow."""
    X = random_rows(3, dense, 100)
    blocks = [block_of(factor * X, dense) for factor in (1.0, 2.0**-900)]
    windows = np.array_split(blocks[0].used(0, 100), 3)
    units = [seen(block, *windows, centred=dense and centred) for block in blocks]
    np.testing.assert_allclose(units[1].scale * 2.0**900, units[0].scale, rtol=1e-12)
    np.testing.assert_allclose(units[1].shift * 2.0**900, units[0].shift, rtol=1e-12)


@dense_or_csr
def test_a_tiny_column_that_grows(dense):
    X = np.ones((300, 2))
    X[:, 0] = np.tile([1.0, 2.0], 150) * np.repeat([1e-300, 1e-200, 1e3], 100)
    units = units_of(X, dense, windows=3)
    expected = np.std(X[:, 0]) if dense else np.sqrt(np.mean(X[:, 0] ** 2))
    np.testing.assert_allclose(units.scale[0], expected, rtol=1e-12)


# ---- units of all rows at once, a weight being a frequency ----


def of_all_rows(X, dense=True, weights=None, **options):
    return Units.of_all_rows(block_of(X, dense, weights), **{"centred": dense} | options)


@dense_or_csr
@examples(15)
@given(seed=st.integers(0, 10**6))
def test_all_rows_at_once_are_as_if_seen(dense, seed):
    X = random_rows(seed, dense)
    at_once, in_turn = of_all_rows(X, dense), units_of(X, dense)
    np.testing.assert_allclose(at_once.scale, in_turn.scale, rtol=1e-9)
    np.testing.assert_allclose(at_once.shift, in_turn.shift, rtol=1e-9)
    assert (at_once.rows, at_once.made_from) == (in_turn.rows, in_turn.made_from)


@dense_or_csr
def test_all_rows_at_once_can_be_followed_by_others(dense):
    """Each of them counts as one, whatever the weights were."""
    X = random_rows(17, dense, 100)
    units = of_all_rows(X[:40], dense, np.full(40, 1.0 if not dense else 3.0))
    block = block_of(X, dense)
    units.observe(block, block.used(40, 100))
    assert units.renew()
    np.testing.assert_allclose(units.scale, column_units(X, dense)[0], rtol=1e-9)


@pytest.mark.parametrize("centred", [True, False])
def test_a_weight_is_a_frequency(centred):
    X, counts = random_rows(18, n_rows=60), np.tile([1, 2, 3, 0], 15)
    weighted = of_all_rows(X, weights=counts.astype(float), centred=centred)
    repeated = of_all_rows(np.repeat(X, counts, axis=0), centred=centred)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-10)
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-12)
    assert weighted.rows == 45


@dense_or_csr
@pytest.mark.parametrize("size", [1e-170, 1e-300])
def test_tiny_columns_of_all_rows(dense, size):
    X = random_rows(19, dense, 50)
    expected = of_all_rows(X, dense).scale
    X[:, 1] *= size
    scale = of_all_rows(X, dense).scale
    np.testing.assert_allclose(scale[1], expected[1] * size, rtol=1e-9)
    np.testing.assert_allclose(np.delete(scale, 1), np.delete(expected, 1), rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e-300])
@pytest.mark.parametrize("weights", [None, np.tile([0.3, 1.7], 50)], ids=["equal", "unequal"])
def test_constant_columns_of_all_rows_count_for_nothing(value, weights):
    X = random_rows(20, n_rows=100)
    X[:, 3] = value
    assert of_all_rows(X, weights=weights).scaling.scale[3] == np.inf


def test_known_moments_are_used():
    X = random_rows(21, n_rows=80)
    weights = np.tile([0.5, 1.5], 40)
    means = np.average(X, axis=0, weights=weights)
    known = of_all_rows(X, weights=weights, means=means, squares=weights @ (X - means) ** 2)
    np.testing.assert_allclose(known.scale, of_all_rows(X, weights=weights).scale, rtol=1e-12)


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "holds NaN"), (np.inf, "holds infinity"), (1e200, "too large")])
@dense_or_csr
def test_a_bad_row_among_all_rows_is_named(dense, bad, words):
    X = random_rows(22, dense, 40)
    X[17, 4] = bad
    with pytest.raises(BadRowError, match=f"row 17 of X.*{words}"):
        of_all_rows(X, dense)
