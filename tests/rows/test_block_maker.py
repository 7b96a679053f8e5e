"""From tables to blocks: sizes that depend on the rows alone, and encoded rows."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.row_hash import row_hashes
from sgdone.readers.table import Table
from sgdone.rows.blocks import BLOCK_ROWS, BlockMaker, block_rows_for
from sgdone.tables import TableEncoder


def table(X, y=None):
    return Table(X, np.zeros(X.shape[0]) if y is None else y)


def signs(part, first):
    return np.where(part.y > 0, 1.0, -1.0), part.weights


def test_narrow_rows_have_full_blocks_and_wide_ones_smaller_ones():
    assert block_rows_for([table(np.ones((10, 3)))], 10**9) == BLOCK_ROWS == 65_536
    assert block_rows_for([table(np.ones((10, 3)))], 2_000_000) == 4096
    assert block_rows_for([table(np.ones((10, 10**5)))], 2_000_000) == 256
    assert block_rows_for([table(sparse.csr_array(np.ones((10, 2))))], 2_000_000) == 4096


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
        found.add(block_rows_for([table(part) for part in parts[:enough]], 1_000_000))
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
    (block,) = BlockMaker(TableEncoder(), signs).blocks(iter([table(X)]))
    np.testing.assert_array_equal(block.X, X)
    assert block.roles is None
