"""Validation rows: disjoint folds of rows not read yet, none too large, enough rows in all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from row_kinds import STORAGES
from sgdone.kernels.bank import ALL_ROWS, NO_FOLD
from sgdone.rows import ArraySource, Scaling
from sgdone.rows.validation_rows import ValidationRows
from tiers import examples, fast_first


def block_of(n_rows, weights=None, X=None, scaling=None, labels=None):
    X = np.zeros((n_rows, 1)) if X is None else X
    source = ArraySource(X, np.zeros(n_rows) if labels is None else labels, weights, shuffle=False, scaling=scaling)
    return next(source.blocks(np.random.default_rng(0)))


def drawn(n_rows, n_read=0, seed=0):
    """Folds among the rows left when ``n_read`` were read."""
    block = block_of(n_rows)
    return ValidationRows.drawn(block, block.all_used()[n_read:], np.random.default_rng(seed))


def sizes(folds):
    return np.bincount(folds.of_row[folds.rows], minlength=folds.count).tolist()


def assert_consistent(folds, n_rows, unread):
    """Each row of a fold is listed once, fold after fold, and was unread; no fold is empty."""
    assert folds.of_row.shape == (n_rows if folds.count else 0,)
    assert folds.of_row.dtype == np.uint8
    assert folds.rows.dtype == np.uint64
    assert np.array_equal(np.sort(folds.rows), np.flatnonzero(folds.of_row != NO_FOLD))
    assert np.isin(folds.rows, unread).all()
    assert np.all(np.diff(folds.of_row[folds.rows].astype(int)) >= 0)
    assert np.array_equal(np.unique(folds.of_row[folds.rows]), np.arange(folds.count))
    assert folds.count < ALL_ROWS < NO_FOLD


@examples(150)
@given(n_rows=st.integers(20, 30000), share_read=st.floats(0.0, 1.0), seed=st.integers(0, 10**6))
def test_folds_of_rows_not_read_yet(n_rows, share_read, seed):
    n_read = int(share_read * n_rows)
    folds = drawn(n_rows, n_read, seed)
    assert_consistent(folds, n_rows, np.arange(n_read, n_rows))
    assert folds.rows.size >= min(max(1024, min(n_rows // 2, 4096), n_rows // 16), n_rows - n_read)


@pytest.mark.parametrize(
    "some", fast_first(1, [range(20, 2100, 7), range(20, 2100), range(2100, 30000, 123), range(2100, 30000, 125)])
)
def test_no_fold_is_larger_than_a_fifth(some):
    """Except the last of five, which takes the at most four rows left over."""
    for n_rows in some:
        folds = drawn(n_rows)
        assert 1 <= folds.count <= 5
        *others, last = sizes(folds)
        assert all(size <= n_rows / 5 for size in others), n_rows
        assert last <= n_rows / 5 + (4 if folds.count == 5 else 0), n_rows


@pytest.mark.parametrize("n_rows", [20, 24, 100, 1003, 1279])
def test_small_data_have_five_folds_of_all_rows(n_rows):
    folds = drawn(n_rows)
    assert folds.count == 5
    assert folds.rows.size == n_rows
    found = sizes(folds)
    assert found[:4] == [n_rows // 5] * 4
    assert found[4] == n_rows - 4 * (n_rows // 5)


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(21000, 4096), (65536, 4096), (160000, 10000), (524288, 32768), (900000, 32768)]
)
def test_large_data_have_one_fold(n_rows, expected):
    assert sizes(drawn(n_rows)) == [expected]


@pytest.mark.parametrize("n_rows", [1, 5, 19])
def test_very_few_rows_have_no_folds(n_rows):
    folds = drawn(n_rows)
    assert (folds.count, folds.rows.size) == (0, 0)
    assert np.all(folds.folds_of(block_of(n_rows)) == NO_FOLD)


def test_no_unread_rows_no_folds():
    assert drawn(100, 100).count == 0


def test_rows_of_weight_0_do_not_count():
    weights = np.zeros(1000)
    weights[::2] = 1.0
    block = block_of(1000, weights)
    folds = ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0))
    assert_consistent(folds, 1000, np.arange(0, 1000, 2))
    assert sizes(folds) == [100] * 5
    few = block_of(1000, np.where(np.arange(1000) < 19, 1.0, 0.0))
    assert ValidationRows.drawn(few, few.all_used(), np.random.default_rng(0)).count == 0


def test_folds_depend_on_the_generator_only():
    first, again, other = drawn(1000, seed=1), drawn(1000, seed=1), drawn(1000, seed=2)
    assert np.array_equal(first.of_row, again.of_row)
    assert np.array_equal(first.rows, again.rows)
    assert not np.array_equal(first.of_row, other.of_row)
    halves = np.bincount(first.of_row[:500], minlength=5)
    assert np.all(np.abs(halves - 100) < 40)


@pytest.mark.parametrize("form", STORAGES.values(), ids=list(STORAGES))
def test_copies_of_a_row_are_in_one_fold(form, rng):
    """Except the groups at the boundary of two folds."""
    different = rng.standard_normal((300, 3)) * (rng.random((300, 3)) < [1.0, 0.8, 0.8]) + [1.0, 0.0, 0.0]
    which = rng.permutation(np.repeat(np.arange(300), 4))
    block = block_of(1200, X=form(different[which]), scaling=Scaling(np.array([1.0, 2.0, np.inf])))
    folds = ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0))
    assert_consistent(folds, 1200, np.arange(1200))
    assert sizes(folds) == [240] * 5
    split = [row for row in range(300) if len(set(folds.of_row[which == row])) > 1]
    assert len(split) <= 4


def test_copies_of_a_few_rows_are_in_all_folds(rng):
    """A fold model must not miss a row that is a tenth of all rows."""
    which = rng.integers(0, 10, 1000)
    block = block_of(1000, X=rng.standard_normal((10, 3))[which])
    folds = ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0))
    assert all(set(folds.of_row[which == row]) == set(range(5)) for row in range(10))


@pytest.mark.parametrize("same_label", [True, False])
def test_few_rows_that_are_repeated_with_their_labels_are_in_one_fold(same_label, rng):
    """Then copies are the same observation; copies of other labels are independent ones."""
    which = np.repeat(np.arange(50), 10)
    labels = (which % 2 if same_label else np.arange(500) % 2).astype(float)
    block = block_of(500, X=rng.standard_normal((50, 3))[which], labels=labels)
    folds = ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0))
    split = [row for row in range(50) if len(set(folds.of_row[which == row])) > 1]
    assert len(split) <= 4 if same_label else len(split) == 50
    assert np.unique(folds.groups).size == (50 if same_label else 500)


def test_the_users_units_do_not_matter(rng):
    X = rng.standard_normal((300, 3))[rng.integers(0, 300, 900)]
    found = []
    for factors in (np.ones(3), np.array([1e-20, 1.0, 1e20])):
        block = block_of(900, X=X * factors, scaling=Scaling(factors))
        found.append(ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0)))
    assert np.array_equal(found[0].of_row, found[1].of_row)


def test_columns_that_do_not_count_do_not_matter(rng):
    X = rng.standard_normal((300, 3))[rng.integers(0, 300, 900)]
    more = np.column_stack([X, np.zeros((900, 2))])
    blocks = [
        block_of(900, X=rows, scaling=Scaling(np.array(scale)))
        for rows, scale in ((X, [1.0, 2.0, 3.0]), (more, [1.0, 2.0, 3.0, np.inf, np.inf]))
    ]
    found = [ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0)) for block in blocks]
    assert np.array_equal(found[0].of_row, found[1].of_row)


def test_without_validation_rows_all_rows_are_training_rows():
    assert (ValidationRows().rows.size, ValidationRows().count) == (0, 0)
    assert np.array_equal(ValidationRows().folds_of(block_of(7)), np.full(7, NO_FOLD))


def test_rows_of_another_matrix_are_training_rows():
    """Even if it has as many rows."""
    block, other = block_of(100), block_of(100)
    folds = ValidationRows.drawn(block, block.all_used(), np.random.default_rng(0))
    assert np.array_equal(folds.folds_of(block), folds.of_row)
    assert np.array_equal(folds.folds_of(other), np.full(100, NO_FOLD))
