import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

pytest.importorskip("pyspark", reason="pyspark is not installed")

from sgdone.cluster import Partition
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.spark.engine import packed, partition_from, state_rows, unpacked
from sgdone.spark.row_columns import rows_of_vectors, vector_names

KIND = pa.struct(
    [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
)


def dense(*values):
    return {"type": 1, "size": None, "indices": None, "values": list(values)}


def stored(size, **entries):
    columns = sorted(int(name[1:]) for name in entries)
    return {"type": 0, "size": size, "indices": columns, "values": [entries[f"x{column}"] for column in columns]}


def batch(*vectors):
    return pa.array(list(vectors), KIND)


def test_dense_vectors_are_a_dense_array():
    found = rows_of_vectors([batch(dense(1, 2)), batch(dense(3, 4), dense(0, 0)).slice(1)], "features")
    assert np.array_equal(found.matrix, [[1.0, 2.0], [0.0, 0.0]])
    assert not found.has_sparse
    assert found.entries == 2


def test_sparse_vectors_stay_sparse_however_they_are_batched():
    rows = [stored(6, x1=2.0, x5=-1.0), stored(6), dense(0, 0, 7, 0, 0, 0), stored(6, x0=0.0, x3=4.0)]
    one = rows_of_vectors([batch(*rows)], "features").matrix
    many = rows_of_vectors([batch(row) for row in rows], "features").matrix
    assert sparse.issparse(one)
    assert one.nnz == 4
    assert one.indices.dtype == many.indices.dtype == np.int32
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(one, name), getattr(many, name))
    assert one.toarray()[3].tolist() == [0, 0, 0, 4, 0, 0]


def test_sparse_vectors_that_are_mostly_full_become_dense():
    found = rows_of_vectors([batch(dense(1, 2, 3), stored(3, x1=4.0))], "features")
    assert np.array_equal(found.matrix, [[1.0, 2.0, 3.0], [0.0, 4.0, 0.0]])
    assert found.has_sparse


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([dense(1, 2), None], "row 1 has no vector in column 'x', but null"),
        ([dense(1, 2), dense(1)], "row 1 has a vector of size 1 in column 'x', row 0 one of size 2"),
        ([dense(1, 2), stored(3, x0=1.0)], "row 1 has a vector of size 3"),
    ],
)
def test_vectors_that_do_not_fit_are_named(rows, text):
    for batches in ([batch(*rows)], [batch(row) for row in rows]):
        with pytest.raises(ValueError, match=text):
            rows_of_vectors(batches, "x")


def test_names_of_entries_are_those_of_an_assembler():
    attributes = {"numeric": [{"idx": 0, "name": "age"}], "binary": [{"idx": 1, "name": "city_Oslo"}]}
    assert vector_names({"ml_attr": {"attrs": attributes}}) == ["age", "city_Oslo"]
    assert vector_names({"ml_attr": {"attrs": {"numeric": [{"idx": 0}]}}}) is None
    assert vector_names({"ml_attr": {"num_attrs": 3}}) is None
    assert vector_names({}) is None


@pytest.mark.parametrize(
    "X",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6, dtype=np.float32).reshape(3, 2),
        sparse.csr_array(np.eye(3)),
        MixedMatrix(np.ones((3, 1)), sparse.csr_array(np.eye(3))),
        pa.table({"city": ["Oslo", None, "Bern"], "day": pa.array([1, 2, None], pa.date32())}),
    ],
    ids=["dense", "float32", "sparse", "mixed", "table"],
)
def test_a_partition_is_the_same_after_bytes(X):
    made = Partition(4, X, ["a", "b", "a"], [1.0, 2.0, 0.0], groups=[1, 1, 2])
    pieces = list(state_rows(made, None, piece=100))
    assert len(pieces) > 2
    for again in (unpacked(packed(made)), partition_from(reversed(pieces))):
        assert packed(again) == packed(made)
        assert again.is_table == made.is_table
        assert again.X.shape == made.X.shape
        assert (again.number, again.groups.tolist(), again.y.tolist()) == (4, [1, 1, 2], ["a", "b", "a"])
    assert unpacked(packed(Partition.failed(2, "row 1 is bad"))).fault == "row 1 is bad"
