"""Validation rows: disjoint folds of rows not read yet, and rows of a stream chosen by their features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from row_kinds import STORAGES
from sgdone.kernels.bank import ALL_ROWS, NO_FOLD
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows import ArraySource, Scaling
from sgdone.rows.blocks import EncodedRows
from sgdone.rows.validation_rows import FEWEST, MOST, HashedValidation, ValidationRows, number_of_folds
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


# ---- validation rows of a stream: chosen by their features, each row used exactly once in the first pass ----


def blocks_of(X, size, weights=None, labels=None):
    hashes = row_hashes(X)
    labels = np.zeros(X.shape[0]) if labels is None else labels
    for first in range(0, X.shape[0], size):
        rows = slice(first, first + size)
        numbers = np.arange(X.shape[0])[rows]
        yield EncodedRows(X[rows], labels[rows], None if weights is None else weights[rows], hashes[rows], numbers)


def first_pass(validation, X, size, weights=None):
    """Numbers of the rows trained on, in the order in which they come."""
    trained = []
    for block in blocks_of(X, size, weights):
        stay, given_back = validation.add(block)
        trained.append(block.numbers[stay])
        trained += [] if given_back is None else [given_back.numbers]
    return np.concatenate(trained)


def numbers_of(validation, n_features=1):
    return np.sort(validation.validation_rows(n_features).numbers)


@pytest.mark.parametrize("key", [1, 2, 2**63 - 1])
def test_about_a_tenth_of_the_rows(key, rng):
    validation = HashedValidation(key)
    trained = first_pass(validation, rng.standard_normal((20_000, 1)), 512)
    assert abs(validation.n_rows - 2000) < 4 * np.sqrt(20_000 * 0.09)
    np.testing.assert_array_equal(np.sort(np.r_[trained, numbers_of(validation)]), np.arange(20_000))


def test_keys_choose_other_rows(rng):
    X = rng.standard_normal((5000, 1))
    chosen = []
    for key in (1, 2):
        validation = HashedValidation(key)
        first_pass(validation, X, 5000)
        chosen.append(set(numbers_of(validation).tolist()))
    assert 20 < len(chosen[0] & chosen[1]) < 90  # a tenth of a tenth


@pytest.mark.parametrize("size", fast_first(2, [65_536, 4096, 512]))
def test_at_most_32768_rows_and_evicted_ones_are_trained_on_once(size, rng):
    n_rows = 8 * 65_536 + 1000
    X = rng.standard_normal((n_rows, 1))
    validation = HashedValidation(7)
    trained, most = [], 0
    for block in blocks_of(X, size):
        stay, given_back = validation.add(block)
        trained.append(block.numbers[stay])
        if given_back is not None:
            assert (block.numbers[-1] + 1) % 65_536 == 0
            trained.append(given_back.numbers)
            assert validation.n_rows == MOST == 32_768
        most = max(most, validation.n_rows)
    assert most <= MOST + 65_536 // 10 + 1000
    assert MOST < validation.n_rows < MOST + 200  # those of the last thousand rows
    np.testing.assert_array_equal(np.sort(np.r_[np.concatenate(trained), numbers_of(validation)]), np.arange(n_rows))
    expected = HashedValidation(7)
    first_pass(expected, X, 65_536)
    np.testing.assert_array_equal(numbers_of(validation), numbers_of(expected))


def test_later_passes_know_the_validation_rows(rng):
    X = rng.standard_normal((6000, 1))
    weights = np.where(rng.random(6000) < 0.3, 0.0, 2.0)
    validation = HashedValidation(3)
    first_pass(validation, X, 1000, weights)
    found = [block.numbers[validation.folds_of(block) != NO_FOLD] for block in blocks_of(X, 700, weights)]
    np.testing.assert_array_equal(np.concatenate(found), numbers_of(validation))
    assert np.all(weights[numbers_of(validation)] > 0)


def test_copies_stay_together(rng):
    X = rng.permutation(np.repeat(rng.standard_normal(3000), 2))[:, None]
    validation = HashedValidation(1)
    first_pass(validation, X, 500)
    assert validation.by_features
    chosen = X[numbers_of(validation), 0]
    assert chosen.size > 400
    assert not np.isin(np.delete(X[:, 0], numbers_of(validation)), chosen).any()


def test_few_different_rows_are_chosen_by_their_numbers(rng):
    """A tenth of five different rows would be none of them, or all rows of one kind."""
    X = rng.integers(0, 5, 10_000).astype(float)[:, None]
    validation = HashedValidation(1)
    trained = first_pass(validation, X, 1000)
    assert validation.by_features is False
    assert abs(validation.n_rows - 1000) < 150
    assert set(X[trained, 0]) == set(X[numbers_of(validation), 0]) == set(range(5))


@pytest.mark.parametrize(("copies", "by_features"), [(2, True), (3, False)])
def test_half_of_the_first_block_must_be_different(copies, by_features):
    validation = HashedValidation(1)
    first_pass(validation, np.repeat(np.arange(100.0), copies)[:, None], 100 * copies)
    assert validation.by_features is by_features


def test_validation_rows_have_the_features_that_came_later(rng):
    narrow = sparse.csr_array(rng.standard_normal((1000, 2)))
    validation = HashedValidation(1)
    (block,) = blocks_of(narrow, 1000)
    validation.add(block)
    rows = validation.validation_rows(5)
    assert rows.block.rows.n_features == 5
    assert rows.count == 1
    np.testing.assert_array_equal(rows.block.rows.whole().toarray()[:, :2], narrow[rows.numbers].toarray())


def test_rows_too_few_to_validate_are_trained_on_in_later_passes(rng):
    X = rng.standard_normal((60, 1))
    validation = HashedValidation(1)
    trained = first_pass(validation, X, 60)
    assert 0 < validation.n_rows == 60 - trained.size < FEWEST
    assert validation.validation_rows(1).count == 0
    (block,) = blocks_of(X, 60)
    assert np.all(validation.folds_of(block) == NO_FOLD)


# ---- folds that depend on the rows alone ----


@pytest.mark.parametrize("n_rows", [200, 6000])
def test_folds_by_rows_do_not_depend_on_order_storage_or_units(n_rows):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n_rows, 5)) < 0.5, rng.standard_normal((n_rows, 5)), 0.0)
    labels, order = rng.standard_normal(n_rows), rng.permutation(n_rows)
    units = np.array([1.0, 1e3, 1e-3, 7.0, 0.1])

    def folds_of(X, labels, scale):
        return ValidationRows.by_rows(block_of(n_rows, X=X, labels=labels, scaling=Scaling(scale)))

    found = folds_of(X, labels, np.ones(5))
    assert found.count > 0
    others = [
        folds_of(X[order], labels[order], np.ones(5)).of_row[np.argsort(order)],
        folds_of(sparse.csr_array(X), labels, np.ones(5)).of_row,
        folds_of(X * units, labels, units).of_row,
    ]
    for of_row in others:
        # Rounding may exchange neighbours in the order of the projection.
        assert np.mean(of_row != found.of_row) < 0.01


def test_number_of_folds_is_that_of_the_folds_drawn():
    for n_rows in (20, 1000, 3000, 9000, 30_000):
        assert number_of_folds(n_rows) == drawn(n_rows).count
