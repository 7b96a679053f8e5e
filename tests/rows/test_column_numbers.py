"""Columns of sparse rows, numbered as they appear."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.machine import memory
from sgdone.machine.memory import NotEnoughMemoryError
from sgdone.matrices.stacking import ReusedArrays
from sgdone.rows.blocks import ColumnNumbers, numbered


def rows_of(rng, n_rows, width, density=0.05):
    return sparse.csr_array(sparse.random_array((n_rows, width), density=density, rng=rng, format="csr"))


def numbers_one_by_one(parts):
    """The columns in the order of their first entry."""
    found = {}
    for part in parts:
        for column in part.indices.tolist():
            found.setdefault(column, len(found))
    return list(found)


@pytest.mark.parametrize("arrays", [None, ReusedArrays()])
def test_numbers_are_those_of_first_appearance(rng, arrays):
    parts = [rows_of(rng, 40, width) for width in (30, 500, 200, 500)]
    numbers = ColumnNumbers()
    made = [numbers.of(part, arrays) for part in parts]
    assert numbers.columns.tolist() == numbers_one_by_one(parts)
    assert (len(numbers), numbers.n_features) == (numbers.columns.size, 500)
    for part, own in zip(parts, made, strict=True):
        known = numbers.columns[: own.shape[1]]
        wide = np.zeros((40, 500))
        wide[:, known] = own.toarray()
        np.testing.assert_array_equal(wide[:, : part.shape[1]], part.toarray())


def test_the_cut_into_parts_does_not_matter(rng):
    X = rows_of(rng, 300, 1000)
    one, several = ColumnNumbers(), ColumnNumbers()
    whole = one.of(X)
    parts = [several.of(X[first : first + 7]) for first in range(0, 300, 7)]
    np.testing.assert_array_equal(np.concatenate([part.indices for part in parts]), whole.indices)


def test_known_columns_keep_their_numbers(rng):
    X = rows_of(rng, 100, 300)
    first = ColumnNumbers()
    indices = first.of(X).indices
    again = ColumnNumbers(first.columns, first.n_features)
    np.testing.assert_array_equal(again.of(X).indices, indices)
    assert again[3] == first.columns[3]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_types_of_indices(rng, dtype):
    X = rows_of(rng, 20, 50)
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    assert ColumnNumbers().of(X).indices.dtype == np.int32


def test_rows_without_entries():
    numbers = ColumnNumbers()
    assert numbers.of(sparse.csr_array((3, 5))).shape == (3, 1)
    assert (len(numbers), numbers.n_features) == (0, 5)


def test_columns_that_repeat_are_added_up():
    X = sparse.csr_array(([1.0, 2.0, 4.0], [7, 2, 7], [0, 3]), shape=(1, 9))
    numbers = ColumnNumbers()
    assert sorted(numbered(X, numbers).toarray()[0].tolist()) == [2.0, 5.0]
    assert sorted(numbers.columns.tolist()) == [2, 7]


@pytest.mark.parametrize("index", [-1, 9])
def test_an_index_out_of_range_is_an_error(index):
    X = sparse.csr_array(([1.0, 2.0], [3, 2], [0, 1, 2]), shape=(2, 9))
    X.indices = np.array([3, index], dtype=np.int32)
    with pytest.raises(ValueError, match=f"row 1 .*{index}"):
        numbered(X, ColumnNumbers())


def test_arrays_have_no_numbers():
    X, numbers = np.eye(3), ColumnNumbers()
    assert numbered(X, numbers) is X
    assert numbers[2] == 2


def test_far_too_many_columns_are_an_error(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    X = sparse.csr_array(([1.0], [2_000_000_000], [0, 1]), shape=(1, 2_000_000_001))
    with pytest.raises(NotEnoughMemoryError, match=r"2,000,000,001 columns needs about 24 GB"):
        ColumnNumbers().of(X)
