"""Batches that a program makes, as tables that are all alike."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from sgdone import batches
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.row_input import all_rows, read_head
from sgdone.readers.table import checked_memory


def tables(rows, **options):
    return list(batches(rows, **options).tables())


def test_frames_have_labels_weights_and_the_columns_that_are_asked_for():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.0, 2.5], "w": [0.5, 2.0], "y": ["no", "yes"]})
    (table,) = tables([frame], label="y", weight="w", drop=["a"])
    assert table.X.to_pydict() == {"b": ["x", None], "c": [1.0, 2.5]}
    assert table.y.tolist() == ["no", "yes"]
    assert table.weights.tolist() == [0.5, 2.0]
    (table,) = tables([frame], label="y", columns=["c", "a"])
    assert table.X.column_names == ["c", "a"]


def test_columns_may_come_in_another_order_and_without_values():
    first = pa.table({"a": [1.0], "b": ["x"], "y": [0]})
    later = pa.table({"y": [1], "b": pa.nulls(1), "a": [2.0]})
    one, two = tables([first, later], label="y")
    assert one.X.schema == two.X.schema
    assert two.X.to_pydict() == {"a": [2.0], "b": [None]}


def test_integers_and_booleans_are_numbers_like_others():
    whole = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    with_gap = pd.DataFrame({"a": [1.5, None], "y": [0, 1]})
    one, two = tables([whole, with_gap], label="y")
    assert one.X.schema == two.X.schema
    assert one.y.dtype.kind == "i"


@pytest.mark.parametrize("X", [np.ones((2, 3)), sparse.coo_array(np.ones((2, 3))), [[1, 2, 3], [4, 5, 6]]])
def test_arrays_become_float64(X):
    (table,) = tables([(X, [0, 1])])
    assert table.X.dtype == np.float64
    assert table.X.shape == (2, 3)
    assert table.weights is None
    assert table.y.tolist() == [0, 1]


def test_mixed_rows_and_tuples_of_frames_are_taken():
    X = MixedMatrix(np.ones((2, 1)), sparse.csr_array(np.eye(2)))
    (table,) = tables([(X, [0, 1], None)])
    assert table.X is X
    (table,) = tables([(pd.DataFrame({"a": ["u", None]}), ["p", "q"], [1, 0])])
    assert table.X.to_pydict() == {"a": ["u", None]}
    assert table.weights.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((sparse.csr_array(np.diag([1.0, np.inf])), [0, 1]), "batch 0, row 1, column 1 is inf: impute or drop it"),
        ((np.array([[1.0, 2.0], [3.0, np.nan]]), [0, 1]), "batch 0, row 1, column 1 is nan"),
        ((np.ones((2, 1)), [0.0, np.nan]), "batch 0, row 1: the label is nan: drop the row"),
        ((np.ones((2, 1)), np.array(["a", None], dtype=object)), "batch 0, row 1: the label is None"),
        ((np.ones((2, 1)), [[0, 1]]), r"batch 0 has 2 rows and labels of shape \(1, 2\): give one a row"),
        ((np.ones((2, 1)), [0, 1], [1.0, np.inf]), "batch 0, row 1: the weight is inf: weights must be 0 or more"),
        ((np.ones((2, 1)), [0, 1], [1.0]), r"batch 0 has 2 rows and weights of shape \(1,\): give one a row"),
        (pd.DataFrame({"a": [1.0, 2.0]}), "label"),
    ],
)
def test_what_cannot_be_used_is_named(batch, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tables([batch])


def test_one_kind_of_batches():
    with pytest.raises(ValueError, match="batch 1 is an array, and the first batch is a frame: give one kind"):
        tables([(pd.DataFrame({"a": [1.0]}), [0]), (np.ones((1, 1)), [0])])
    narrow, wide = ((sparse.csr_array(np.ones((1, width))), [0]) for width in (2, 5))
    assert [table.X.shape[1] for table in tables([narrow, wide])] == [2, 5]


def test_empty_batches_are_left_out_and_the_rest_is_lazy():
    def rows():
        yield np.empty((0, 2)), []
        yield np.ones((1, 2)), [1]
        raise AssertionError("read too early")

    found = batches(rows()).tables()
    assert next(found).X.shape == (1, 2)


@pytest.mark.parametrize("wrong", [0, 999_999, -1, float("inf"), float("nan"), True, "1GB", None])
def test_memory_is_a_number_of_bytes_and_a_megabyte_is_enough(wrong):
    with pytest.raises(ValueError, match="max_memory must be a number of bytes, a million or more; got"):
        batches([], max_memory=wrong)
    assert checked_memory(1_000_000) == checked_memory(1 << 20) == 1 << 20


@pytest.mark.parametrize("size", [100, 1000, 8000])
def test_the_head_ends_at_a_quarter_of_the_memory(size):
    """Rows of 64 bytes: 8,192 of them are a quarter of 2 MB."""

    def head(n_rows):
        parts = ((np.ones((size, 8)), np.zeros(size)) for _ in range(n_rows // size))
        return read_head(batches(parts).tables(), 1 << 21)

    assert head(8000)[1]
    found, complete = head(16_000)
    assert not complete
    assert 8192 < sum(table.X.shape[0] for table in found) <= 8192 + size


def test_all_rows_are_one_table():
    head, complete = read_head(iter([]), 1 << 20)
    assert complete
    with pytest.raises(ValueError, match="no rows to train on"):
        all_rows(head)
    head, complete = read_head(batches([(np.ones((3, 1)), [1, 2, 3])] * 2).tables(), 1 << 20)
    assert complete
    assert all_rows(head).y.tolist() == [1, 2, 3, 1, 2, 3]
