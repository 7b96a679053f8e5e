"""Validation rows of a stream: chosen by their features, each row used exactly once in the first pass."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.kernels.bank import NO_FOLD
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows.blocks import NumberedRows
from sgdone.rows.validation_rows import FEWEST, MOST, HashedValidation
from tiers import fast_first


def blocks_of(X, size, weights=None, labels=None):
    hashes = row_hashes(X)
    labels = np.zeros(X.shape[0]) if labels is None else labels
    for first in range(0, X.shape[0], size):
        rows = slice(first, first + size)
        numbers = np.arange(X.shape[0])[rows]
        yield NumberedRows(X[rows], labels[rows], None if weights is None else weights[rows], hashes[rows], numbers)


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


def test_fewer_than_20_rows_validate_nothing():
    validation = HashedValidation(1)
    first_pass(validation, np.arange(60.0)[:, None], 60)
    assert validation.n_rows < FEWEST
    assert validation.validation_rows(1).count == 0


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
