"""Blocks of rows: joined, widened, and cut by the number of the row."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.stacking import rows_together, widened
from sgdone.readers.table import Table, tables_of_rows
from sgdone.rows.blocks import NumberedRows, joined
from tiers import examples


def table(X, y=None, weights=None, unlabelled=0):
    return Table(X, y, weights=weights, unlabelled=unlabelled)


def dense(X):
    return X


def mixed(X):
    return MixedMatrix(np.ascontiguousarray(X[:, :1]), sparse.csr_array(X[:, 1:]))


def arrow(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def values(X):
    if isinstance(X, pa.Table):
        return np.column_stack([column.to_numpy() for column in X.columns])
    return X if isinstance(X, np.ndarray) else X.toarray()


FORMS = (dense, sparse.csr_array, mixed, arrow)


@examples(25)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 12), st.sampled_from(FORMS))
def test_rows_are_cut_by_their_number_whatever_the_tables_are(sizes, size, form):
    X = np.arange(3.0 * sum(sizes)).reshape(-1, 3)
    y, weights = np.arange(len(X)), np.arange(float(len(X)))
    ends = np.cumsum([0, *sizes])
    parts = [slice(*pair) for pair in pairwise(ends)]
    found = list(tables_of_rows((table(form(X[part]), y[part], weights[part], 1) for part in parts), size))
    assert [len(cut.y) for cut in found] == [min(size, len(X) - first) for first in range(0, len(X), size)]
    if found:
        np.testing.assert_array_equal(np.vstack([values(cut.X) for cut in found]), X)
        np.testing.assert_array_equal(np.concatenate([cut.y for cut in found]), y)
        np.testing.assert_array_equal(np.concatenate([cut.weights for cut in found]), weights)
        assert sum(cut.unlabelled for cut in found) == sum(count > 0 for count in sizes)


def test_tables_without_labels_and_weights_are_cut_too():
    first, last = tables_of_rows([table(np.ones((2, 1))), table(np.ones((2, 1)))], 3)
    assert (first.X.shape, last.X.shape, first.y, first.weights) == ((3, 1), (1, 1), None, None)


@pytest.mark.parametrize("form", [sparse.csr_array, mixed])
def test_sparse_columns_that_come_later_are_empty_before(form):
    narrow, wide = form(np.eye(2)), form(np.ones((1, 4)))
    together = rows_together([narrow, wide])
    np.testing.assert_array_equal(values(together), [[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(values(widened(narrow, 4)), values(together)[:2])
    assert widened(wide, 4) is wide


def test_dense_rows_get_sparse_columns_when_the_first_ones_appear():
    together = rows_together([np.ones((2, 1)), mixed(np.ones((1, 3)))])
    assert together.n_dense == 1
    np.testing.assert_array_equal(values(together), [[1, 0, 0], [1, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(values(widened(np.ones((2, 1)), 3)), values(together)[:2])


def block(X, labels, weights=None, first=0, roles=None):
    numbers = np.arange(first, first + len(labels))
    return NumberedRows(X, np.asarray(labels, float), weights, numbers.astype(np.uint64), numbers, roles)


def test_blocks_are_joined_with_weight_1_where_there_are_none():
    one, two = block(np.eye(2), [1, -1]), block(np.ones((1, 2)), [1], np.array([3.0]), first=2)
    both = joined([one, two])
    np.testing.assert_array_equal(both.weights, [1, 1, 3])
    np.testing.assert_array_equal(both.numbers, [0, 1, 2])
    np.testing.assert_array_equal(both.X, [[1, 0], [0, 1], [1, 1]])
    assert joined([one]) is one
    assert joined([one, one]).weights is None
    chosen = both.at(np.array([2, 0]))
    np.testing.assert_array_equal(chosen.X, [[1, 1], [1, 0]])
    np.testing.assert_array_equal(chosen.labels, [1, 1])
    np.testing.assert_array_equal(chosen.weights, [3, 1])
    np.testing.assert_array_equal(chosen.hashes, [2, 0])


def test_the_widest_block_says_what_the_columns_are_part_of():
    narrow = block(sparse.csr_array(np.eye(2)), [1, 1], roles=np.zeros(2, np.int32))
    wide = block(sparse.csr_array(np.ones((1, 3))), [1], roles=np.array([0, 0, 1], np.int32))
    np.testing.assert_array_equal(joined([wide, narrow]).roles, [0, 0, 1])


def test_the_size_of_a_block_does_not_depend_on_the_type_of_its_indices():
    entries = sparse.csr_array(np.eye(3))
    long = sparse.csr_array(np.eye(3))
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert block(entries, [1, 1, 1]).n_bytes == block(long, [1, 1, 1]).n_bytes > 0
    assert block(np.ones((3, 2)), [1, 1, 1]).n_bytes == 48
    assert (
        block(mixed(np.ones((3, 2))), [1, 1, 1]).n_bytes
        == 24 + block(sparse.csr_array(np.ones((3, 1))), [1] * 3).n_bytes
    )


@pytest.mark.parametrize(("n_rows", "sizes"), [(1, [1]), (5, [1] * 5), (16, [1] * 16), (40, [3] * 8 + [2] * 8)])
def test_pieces_of_a_block(n_rows, sizes):
    whole = block(sparse.csr_array(np.eye(n_rows)), np.arange(n_rows), np.arange(float(n_rows)))
    pieces = list(whole.pieces())
    assert [piece.n_rows for piece in pieces] == sizes
    together = joined(pieces)
    for name in ("labels", "weights", "hashes", "numbers"):
        np.testing.assert_array_equal(getattr(together, name), getattr(whole, name))
    np.testing.assert_array_equal(together.X.toarray(), np.eye(n_rows))


def arrays_of(X):
    """The arrays that hold the values of a matrix."""
    parts = (X.dense, X.sparse) if isinstance(X, MixedMatrix) else (X,)
    return [part if isinstance(part, np.ndarray) else part.data for part in parts]


@pytest.mark.parametrize("form", [dense, sparse.csr_array, mixed])
def test_parts_of_a_block_share_its_memory_and_so_do_they_together(form):
    X = np.arange(1.0, 31.0).reshape(10, 3)
    whole = block(form(X), np.arange(10), np.arange(10.0))
    parts = list(whole.cut(4))
    assert [part.n_rows for part in parts] == [4, 4, 2]
    together = joined(parts)
    np.testing.assert_array_equal(values(together.X), X)
    for own, found in zip(arrays_of(whole.X), arrays_of(together.X), strict=True):
        assert np.shares_memory(own, found)
    assert list(whole.cut(10)) == [whole]


def test_parts_in_another_order_or_of_other_blocks_are_copied():
    X = np.arange(1.0, 31.0).reshape(10, 3)
    first, second, _ = block(X, np.arange(10)).cut(4)
    np.testing.assert_array_equal(joined([second, first]).X, np.vstack([X[4:8], X[:4]]))
    np.testing.assert_array_equal(joined([first, block(X[4:8].copy(), np.arange(4))]).X, X[:8])


def test_arrays_of_another_type_are_not_taken_as_they_are():
    X = sparse.csr_array(np.arange(1.0, 31.0).reshape(10, 3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    together = joined(list(block(X, np.arange(10)).cut(4)))
    assert together.X.indices.dtype == np.int32
    np.testing.assert_array_equal(together.X.toarray(), X.toarray())
