"""Moments of columns: those of NumPy, however the rows are split."""

import numpy as np
import pytest
from scipy import sparse

from exact_problems import pieces_of
from sgdone import SGDClassifier
from sgdone.sums.units import entry_moments, moments_of


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_moments_of_parts_add_up(form, dtype, rng):
    X = (rng.standard_normal((1000, 30)) * (rng.random((1000, 30)) < 0.3)).astype(dtype)
    parts = [moments_of(form(part)) for part in np.array_split(X, [100, 150, 900])]
    merged = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    np.testing.assert_allclose(merged.spreads, X.std(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(merged.means, X.mean(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-9)


def test_columns_far_from_0_and_constant_columns():
    X = np.array([[1e9 + 1, 7.1], [1e9 + 3, 7.1]])
    assert moments_of(X).spreads.tolist() == [1.0, 0.0]


def test_spreads_of_a_fit(rng):
    """Of rows of positive weight, at equal distances if there are many."""
    X, y = rng.standard_normal((5000, 3)) * [1.0, 10.0, 0.0], rng.integers(0, 2, 5000)
    X[::2] = 1e6
    model = SGDClassifier(stop=1, random_state=0).fit(X, y, sample_weight=np.arange(5000) % 2)
    np.testing.assert_allclose(model.feature_std_, [1.0, 10.0, 0.0], rtol=0.1)


def test_a_weight_is_a_frequency(rng):
    X, counts = rng.standard_normal((50, 3)) + 1e3, rng.integers(1, 4, 50)
    found, repeated = moments_of(X, counts.astype(float)), moments_of(np.repeat(X, counts, axis=0))
    assert found.rows == repeated.rows
    np.testing.assert_allclose(found.means, repeated.means, rtol=1e-13)
    np.testing.assert_allclose(found.squares, repeated.squares, rtol=1e-9)


def test_equal_weights_keep_a_constant_column_constant():
    assert moments_of(np.full((7, 1), 0.1), np.full(7, 3.3)).spreads.tolist() == [0.0]


def test_entries_of_sparse_rows(rng):
    """Of those that are not 0, stored or not."""
    X, weights = rng.standard_normal((5000, 3)) * (rng.random((5000, 3)) < 0.3), rng.integers(0, 3, 5000) / 2.0
    stored = sparse.csr_array(X)
    stored.data[::5] = 0.0
    X = stored.toarray()
    found = entry_moments(pieces_of(stored, np.ones(5000), weights).block)
    assert found.rows == weights.sum()
    np.testing.assert_allclose(found.counts, weights @ (X != 0), rtol=1e-13)
    np.testing.assert_allclose(found.squares, weights @ X**2, rtol=1e-12)
