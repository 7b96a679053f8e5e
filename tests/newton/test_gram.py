"""Products of columns and targets about their means."""

import numpy as np
import pytest
from scipy import sparse

from exact_problems import numbers, pieces_of
from sgdone.newton.ridge_path import gram, in_units
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


def rows(n_rows=60):
    X, y = numbers(n_rows)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    return X, y, np.arange(n_rows) % 3 / 2.0


def sums_of(X, y, weights=None, **options):
    return gram(pieces_of(X, y, weights).block, **options)


@FORMS
@pytest.mark.parametrize("centred", [True, False])
def test_sums_are_weighted_products_about_the_means(centred, form):
    X, y, weights = rows()
    found = sums_of(form(X), y, weights, centred=centred, frequency=3.0)
    columns = np.column_stack([X, y])
    means = np.average(columns, axis=0, weights=weights) if centred else np.zeros(4)
    expected = (columns - means).T @ (3.0 * weights[:, None] * (columns - means))
    assert found.weight == pytest.approx(3.0 * weights.sum(), rel=1e-14)
    np.testing.assert_allclose(found.means, means, rtol=1e-13)
    np.testing.assert_allclose(found.products, expected, rtol=1e-12, atol=1e-12)


@FORMS
def test_parts_add_up(form):
    X, y, weights = rows()
    whole = sums_of(form(X), y, weights, centred=True)
    parts = slice(10), slice(10, 45), slice(45, 60)
    first, second, third = (sums_of(form(X[part]), y[part], weights[part], centred=True) for part in parts)
    for merged in (first.merge(second).merge(third), first.merge(second.merge(third))):
        np.testing.assert_allclose(merged.means, whole.means, rtol=1e-13)
        np.testing.assert_allclose(merged.products, whole.products, rtol=1e-12, atol=1e-12)


def test_columns_far_from_0_keep_their_digits():
    X, y, weights = rows(2 * PIECE + 5)
    X = np.round(X, 6)
    near, far = (sums_of(X + shift, y, weights, centred=True) for shift in (0.0, 2.0**26))
    np.testing.assert_allclose(far.products, near.products, rtol=1e-9, atol=1e-4)


@FORMS
def test_threads_change_no_bit(form):
    X, y, weights = rows(2 * PIECE + 5)
    one, two = (sums_of(form(X), y, weights, centred=True, threads=threads) for threads in (1, 2))
    assert one.products.tobytes() == two.products.tobytes()
    assert one.means.tobytes() == two.means.tobytes()


def test_products_in_other_units():
    X, y, _ = rows()
    found = sums_of(X, y, centred=True)
    columns, targets, square = in_units(found, Scaling(np.array([2.0, np.inf, 0.5]), np.full(3, 9.0)))
    scaled = (X - X.mean(axis=0)) / [2.0, np.inf, 0.5]
    np.testing.assert_allclose(columns, scaled.T @ scaled, atol=1e-11)
    np.testing.assert_allclose(targets, scaled.T @ (y - y.mean()), atol=1e-11)
    assert square == pytest.approx(60 * np.var(y))
