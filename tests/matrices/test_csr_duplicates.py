"""CSR matrices whose rows are unsorted, or have a column twice."""

import numpy as np
import pytest
from scipy import sparse

from sgdone import SGDClassifier
from sgdone.rows.rows import Rows
from tiers import interpreted


@pytest.fixture
def rows(rng):
    X = sparse.csr_array(rng.standard_normal((200, 40)) * (rng.random((200, 40)) < 0.1))
    return X, np.tile([0, 1], 100)


def reversed_rows(X):
    """The same matrix, the entries of each row from right to left."""
    order = np.concatenate([np.arange(X.indptr[i], X.indptr[i + 1])[::-1] for i in range(X.shape[0])])
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr.copy()), X.shape)


def split_entries(X):
    """The same matrix, each entry as two halves."""
    parts = np.repeat(X.data / 2.0, 2), np.repeat(X.indices, 2), 2 * X.indptr
    return sparse.csr_array(parts, X.shape)


@interpreted
@pytest.mark.parametrize("flagged", [False, True])
def test_duplicates_are_summed_whatever_scipy_remembers(flagged, rows, rng):
    X, y = rows
    halves = split_entries(X)
    if flagged:
        halves.has_canonical_format = True
    before = halves.data.copy()
    expected = SGDClassifier(stop=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(SGDClassifier(stop=1, random_state=0).fit(halves, y).coef_, expected.coef_)
    np.testing.assert_array_equal(halves.data, before)


@interpreted
def test_unsorted_rows_are_not_copied(rows):
    X, y = rows
    turned = reversed_rows(X)
    made = Rows.of(turned)
    assert np.shares_memory(made.arrays[0], turned.data)
    assert np.shares_memory(made.arrays[1], turned.indices)
    expected = SGDClassifier(stop=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(SGDClassifier(stop=1, random_state=0).fit(turned, y).coef_, expected.coef_, rtol=1e-12)


def test_a_duplicate_in_an_unsorted_row_is_summed(rng):
    X = sparse.csr_array(([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4]), (2, 3))
    made = Rows.of(X)
    np.testing.assert_array_equal(made.whole().toarray(), [[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    assert made.arrays[0].size == 3
