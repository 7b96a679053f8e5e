"""Blocks of rows: made of tables or arrays, joined, widened and cut by the number of the row."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sgdone import TableEncoder
from sgdone.machine import memory
from sgdone.machine.memory import NotEnoughMemoryError
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.row_hash import row_hashes
from sgdone.matrices.stacking import ReusedArrays, rows_together, widened
from sgdone.readers.table import Table, tables_of_rows
from sgdone.rows.blocks import (
    BLOCK_ROWS,
    PIECES,
    ArrayBlocks,
    BlockMaker,
    ColumnNumbers,
    EncodedRows,
    block_rows_for,
    joined,
    numbered,
)
from tiers import examples


def table(X, y=None, weights=None, unlabelled=0):
    return Table(X, y, None, None, Path("rows"), weights=weights, unlabelled=unlabelled)


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
    return EncodedRows(X, np.asarray(labels, float), weights, numbers.astype(np.uint64), numbers, roles)


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


# ---- arrays as blocks: the blocks of a file with the same rows ----


def test_rows_are_cut_by_their_number(rng):
    n_rows = 2 * BLOCK_ROWS + 3
    X, labels, weights = rng.random((n_rows, 1)), rng.random(n_rows), rng.random(n_rows)
    blocks = ArrayBlocks(X, labels, weights)
    assert len(blocks) == PIECES + PIECES + 3
    parts = list(blocks.in_order())
    assert [part.n_rows for part in parts] == [BLOCK_ROWS, BLOCK_ROWS, 3]
    for name, expected in (("X", X), ("labels", labels), ("weights", weights), ("hashes", row_hashes(X))):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), expected)
    np.testing.assert_array_equal(np.concatenate([part.numbers for part in parts]), np.arange(n_rows))
    blocks.close()
    pieces = [blocks.read(number) for number in range(len(blocks))]
    expected = [piece for part in parts for piece in part.pieces()]
    for found, piece in zip(pieces, expected, strict=True):
        np.testing.assert_array_equal(found.numbers, piece.numbers)
        np.testing.assert_array_equal(found.X, piece.X)


def test_sparse_rows_without_weights():
    blocks = ArrayBlocks(sparse.csr_array(np.eye(3)), np.ones(3), None, np.zeros(3, np.int32))
    (part,) = blocks.in_order()
    assert part.weights is None
    assert part.roles.size == 3
    np.testing.assert_array_equal(part.X.toarray(), np.eye(3))


# ---- from tables to blocks: sizes that depend on the rows alone, and encoded rows ----


def labelled(X):
    return table(X, np.zeros(X.shape[0]))


def signs(part, first):
    return np.where(part.y > 0, 1.0, -1.0), part.weights


def test_narrow_rows_have_full_blocks_and_wide_ones_smaller_ones():
    assert block_rows_for([labelled(np.ones((10, 3)))], 10**9) == BLOCK_ROWS == 65_536
    assert block_rows_for([labelled(np.ones((10, 3)))], 2_000_000) == 4096
    assert block_rows_for([labelled(np.ones((10, 10**5)))], 2_000_000) == 256
    assert block_rows_for([labelled(sparse.csr_array(np.ones((10, 2))))], 2_000_000) == 4096


@pytest.mark.parametrize("form", ["texts", "entries"])
def test_how_rows_are_cut_into_tables_does_not_matter(form, rng):
    """Rows that become longer: more of them must not be measured if tables are longer."""
    lengths = np.linspace(100, 3000, 900).astype(int)
    if form == "texts":
        X = pa.table({"text": pa.array(["x" * length for length in lengths], pa.large_string())})
    else:
        X = sparse.csr_array((np.ones(lengths.sum()), np.zeros(lengths.sum(), np.int32), np.r_[0, np.cumsum(lengths)]))
    found = set()
    for size in (1, 7, 100, 900):
        parts = [X.slice(k, size) if form == "texts" else X[k : k + size] for k in range(0, 900, size)]
        enough = next(k for k in range(1, len(parts) + 1) if sum(map(n_bytes, parts[:k])) > 250_000 or k == len(parts))
        found.add(block_rows_for([labelled(part) for part in parts[:enough]], 1_000_000))
    assert len(found) == 1


def n_bytes(part):
    return part.nbytes if isinstance(part, pa.Table) else 12 * part.nnz


def test_blocks_have_numbers_hashes_and_the_features_so_far(rng):
    cities = pa.array(["a", "b"] * 5 + ["c"] * 5 + [None] * 5)
    X = pa.table({"number": pa.array(np.r_[rng.random(15), [np.nan] * 5], from_pandas=True), "city": cities})
    y = rng.integers(0, 2, 20)
    encoder = TableEncoder()
    cut = [table(X.slice(first, count), y[first : first + count]) for first, count in ((0, 3), (3, 9), (12, 8))]
    blocks = list(BlockMaker(encoder, signs, 10).blocks(iter(cut)))
    assert [block.numbers.tolist() for block in blocks] == [list(range(10)), list(range(10, 20))]
    np.testing.assert_array_equal(np.concatenate([block.hashes for block in blocks]), row_hashes(X))
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), np.where(y > 0, 1.0, -1.0))
    assert all(isinstance(block.X, MixedMatrix) for block in blocks)
    assert blocks[0].n_features < blocks[1].n_features == len(encoder.get_feature_names_out())
    assert all(block.roles.size == block.n_features for block in blocks)


def test_arrays_are_taken_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    (block,) = BlockMaker(TableEncoder(), signs).blocks(iter([labelled(X)]))
    np.testing.assert_array_equal(block.X, X)
    assert block.roles is None


# ---- columns of sparse rows, numbered as they appear ----


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
