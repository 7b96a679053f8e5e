"""Hashes of rows: equal for equal rows, however they are stored."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.row_hash import row_hashes
from tiers import examples, slow

WORD = (1 << 64) - 1


def mixed(value):
    """The finishing step of MurmurHash3."""
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & WORD
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & WORD
    return value ^ (value >> 33)


def cell_hash(bits, column, key):
    return mixed(bits ^ ((key + (column + 1) * 0x9E3779B97F4A7C15) & WORD))


def bits_of(value):
    return int(np.float64(value).view(np.uint64)) if value == value else 0x7FF8000000000000


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & WORD
    return value


def hash_of(row, key):
    """The slow reference: the hash of one row of numbers and texts."""
    cells = [fnv(cell) if isinstance(cell, str) else bits_of(cell) for cell in row]
    return sum(cell_hash(bits, j, key) for j, bits in enumerate(cells) if isinstance(row[j], str) or row[j] != 0) & WORD


@pytest.fixture
def X(rng):  # noqa: N802
    X = rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.5)
    X[3, 1] = np.nan
    return X


def stored(X):
    """The same rows in all storages."""
    unsorted = sparse.csr_array(X)
    for first, last in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):
        unsorted.indices[first:last] = unsorted.indices[first:last][::-1]
        unsorted.data[first:last] = unsorted.data[first:last][::-1]
    explicit = sparse.csr_array(np.where(X == 0, 7.0, X))
    explicit.data[explicit.data == 7.0] = 0.0
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    return {
        "columns in order": np.asfortranarray(X),
        "csr": sparse.csr_array(X),
        "entries in any order": unsorted,
        "zeros that are stored": explicit,
        "long indices": long,
        "mixed": MixedMatrix(np.ascontiguousarray(X[:, :2]), sparse.csr_array(X[:, 2:])),
        "table": pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}),
        "table in chunks": pa.concat_tables(
            [pa.table({f"x{j}": part[:, j] for j in range(6)}) for part in (X[:7], X[7:])]
        ),
        "slice of a table": pa.table({f"x{j}": np.r_[9.0, X[:, j]] for j in range(6)}).slice(1),
    }


@pytest.mark.parametrize("key", [0, 12345, WORD])
def test_the_same_in_all_storages_and_as_the_reference(X, key):
    expected = row_hashes(X, key)
    assert expected.tolist() == [hash_of(row, key) for row in X.tolist()]
    for name, rows in stored(X).items():
        np.testing.assert_array_equal(row_hashes(rows, key), expected, name)


def test_zeros_of_both_signs_and_nans_of_all_bits_are_one_value():
    odd = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    hashes = row_hashes(np.c_[odd, [0.0, -0.0, 0.0]])
    assert np.unique(hashes).size == 1
    assert hashes[0] == row_hashes(pa.table({"a": pa.array([None], pa.float64()), "b": [0]}))[0]
    assert hashes[0] == row_hashes(sparse.csr_array(np.array([[np.nan, 0.0]])))[0]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.float32(), pa.float64(), pa.bool_()])
def test_numbers_of_all_types_are_hashed_as_float64(kind):
    table = pa.table({"a": pa.array([1, 0, 1]).cast(kind), "b": pa.array([0, 1, 1]).cast(kind)})
    np.testing.assert_array_equal(row_hashes(table), row_hashes(np.array([[1.0, 0], [0, 1], [1, 1]])))


def test_columns_and_values_tell_rows_apart(rng):
    X = rng.integers(-1, 2, (3000, 8)).astype(np.float64)
    different = np.unique(X, axis=0).shape[0]
    assert np.unique(row_hashes(X)).size == different
    assert row_hashes(np.array([[1.0, 2.0]])) != row_hashes(np.array([[2.0, 1.0]]))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.binary(), pa.large_binary()]
)
def test_texts_are_hashed_as_utf8(kind):
    texts = ["Zürich", "", None, "a", "Zürich", "\x00"]
    cells = pa.chunked_array([pa.array(texts[:2]), pa.array(texts[2:])])
    table = pa.table({"n": [1, 1, 1, 2, 1, 1], "city": cells}).cast(pa.schema([("n", pa.int64()), ("city", kind)]))
    rows = [(n, text or "") for n, text in zip([1, 1, 1, 2, 1, 1], texts, strict=True)]
    rows[2] = (1, "\x00")  # a gap
    assert row_hashes(table, 5).tolist() == [hash_of(row, 5) for row in rows]
    for first in range(6):
        np.testing.assert_array_equal(row_hashes(table.slice(first, 3), 5), row_hashes(table, 5)[first : first + 3])


def test_dates_and_columns_without_values():
    days = pa.array([3, 0, None], pa.date32())
    table = pa.table({"a": days, "b": days.cast(pa.timestamp("ms")), "c": pa.nulls(3)})
    expected = np.array([[3.0, 3 * 86400e3, np.nan], [0.0, 0.0, np.nan], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(row_hashes(table), row_hashes(expected))
    assert row_hashes(table.slice(0, 0)).size == 0


@slow
@examples(50)
@given(st.lists(st.tuples(st.floats(), st.floats(), st.text(max_size=3)), min_size=1, max_size=8), st.integers(0, WORD))
def test_any_rows_are_hashed_as_the_reference_has_it(rows, key):
    numbers = {"a": pa.array([row[0] for row in rows], pa.float64()), "b": pa.array([row[1] for row in rows])}
    table = pa.table(numbers | {"c": pa.array([row[2] for row in rows], pa.string())})
    assert row_hashes(table, key).tolist() == [hash_of(row, key) for row in rows]


PROGRAM = """
import sys
import numpy as np
import pyarrow as pa
from matrices.test_row_hash import stored
from sgdone.matrices.row_hash import row_hashes

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 6)) * (rng.random((12, 6)) < 0.5)
hashes = [row_hashes(rows, 3) for rows in stored(X).values()]
np.save(sys.argv[1], [*hashes, row_hashes(pa.table({"a": ["x", None, "long text", ""] * 3}), 3)])
"""


@slow
def test_with_bounds_checked_and_as_plain_python(tmp_path):
    found = []
    for name, value in (("NUMBA_DISABLE_JIT", "1"), ("NUMBA_BOUNDSCHECK", "1")):
        file = tmp_path / f"{name}.npy"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / name), name: value}
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, str(file)],
            env=environment,
            cwd=Path(__file__).parents[1],
            check=True,
        )
        found.append(np.load(file))
    np.testing.assert_array_equal(*found)
