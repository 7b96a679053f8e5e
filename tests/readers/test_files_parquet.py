"""Parquet: types, pandas' index, and errors that name the row."""

import gzip
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdone.machine import memory
from sgdone.readers.reading import read
from sgdone.readers.table import DataError


@pytest.fixture
def file(tmp_path):
    def write(columns, **options):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet", **options)
        return tmp_path / "t.parquet"

    return write


def test_round_trip_over_row_groups(file):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    y = np.arange(1000) % 3
    table = read(file({"a": X[:, 0], "b.c": X[:, 1], "ß": X[:, 2], "class": y}, row_group_size=77))
    np.testing.assert_array_equal(np.asarray(table.X), X)
    np.testing.assert_array_equal(table.y, y)
    assert table.feature_names == ["a", "b.c", "ß"]


def test_types_are_those_of_the_file(file):
    columns = {
        "single": np.array([1, 2], dtype=np.float32),
        "flag": [True, None],
        "city": ["Rome", None],
        "day": [date(2020, 1, 31), None],
        "level": pa.array(["u", "v"]).dictionary_encode(),
        "empty": pa.array([None, None], pa.null()),
    }
    table = read(file({**columns, "y": [0, 1]}))
    assert [str(kind) for kind in table.X.schema.types] == [
        "float", "bool", "large_string", "date32[day]",
        "dictionary<values=large_string, indices=int32, ordered=0>", "null",
    ]  # fmt: skip
    assert table.X["city"].to_pylist() == ["Rome", None]


def test_decimals(file):
    table = read(file({"a": [Decimal("1.25"), Decimal("-3.50")], "y": [Decimal("1.0"), Decimal("2.5")]}))
    np.testing.assert_array_equal(table.X, [[1.25], [-3.5]])
    np.testing.assert_array_equal(table.y, [1, 2.5])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_text_labels(file, kind):
    labels = pa.array(["dog", "cat", "dog"]).cast(kind)
    np.testing.assert_array_equal(read(file({"a": [1, 2, 3], "label": labels})).y, ["dog", "cat", "dog"])


def test_number_dictionaries_as_labels(file):
    labels = pa.array([7, 5, 7]).dictionary_encode()
    np.testing.assert_array_equal(read(file({"a": [1, 2, 3], "label": labels})).y, [7, 5, 7])


def test_pandas_index_is_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "y": [0, 1, 0]})
    frame.iloc[[2, 0]].to_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert table.feature_names == ["a"]
    np.testing.assert_array_equal(table.X, [[3], [1]])
    frame.set_index("a").to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", features=["a"]).X.shape == (3, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON",
        b"[" * 100_000,
        b"\xff\xfe",
        b"3",
        b"null",
        b"[1]",
        b'{"index_columns": null}',
        b'{"index_columns": [{}]}',
    ],
)
def test_odd_pandas_metadata_are_ignored(tmp_path, content):
    table = pa.table({"a": [1.0, 2.0], "y": [0, 1]}).replace_schema_metadata({b"pandas": content})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").feature_names == ["a"]


def test_labels_of_more_digits_than_floats(file):
    labels = [Decimal(2**70), Decimal(2**70 + 1)]
    table = read(file({"a": [1, 2], "y": pa.array(labels, pa.decimal128(38, 0))}))
    assert table.y.tolist() == [str(2**70), str(2**70 + 1)]
    table = read(file({"a": [1, 2], "y": np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)}))
    assert table.y.tolist() == [2**64 - 1, 2**64 - 2]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_small_file_of_many_rows_stops_in_time(tmp_path, monkeypatch, compressed):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.zeros(10**6), "y": np.zeros(10**6)}), path)
    if compressed:
        path.write_bytes(gzip.compress(path.read_bytes() + bytes(2**21)))
    monkeypatch.setattr(memory, "available_memory", lambda: 2**21)
    with pytest.raises(DataError, match=r"is too large: .* need about [\d.]+ MB of memory, but 2.1 MB are available"):
        read(path)


def test_polars(tmp_path):
    pl.DataFrame({"a": [1.0, 2], "y": ["u", "v"]}).write_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(read(tmp_path / "t.parquet").y, ["u", "v"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, -np.inf], "y": [0, 1]}, r"row 2, column 'a': infinite value \(-inf\)"),
        ({"a": [[1.0, 2.0]], "y": [0]}, r"row 1, column 'a': \[1.0, 2.0\] \(list.*\) is neither number, text"),
        (
            {"a": pa.array([b"x"]), "y": [0]},
            r"row 1, column 'a': b'x' \(binary\) is neither number, text nor date: conv",
        ),
        ({"a": [1], "y": pa.array([0], pa.timestamp("s", "no/zone"))}, r"row 1, column 'y': the label a value \(time"),
        ({"a": [1, 2], "y": [0, None]}, r"row 2, column 'y': missing label: drop the row"),
        ({"a": [1, 2], "y": [0.0, np.nan]}, r"row 2, column 'y': missing value"),
        ({"a": [1], "y": [[1.0]]}, r"row 1, column 'y': the label \[1.0\] .* is neither a class nor a number"),
        ({"a": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}, r"has column names but no rows"),
        ({"a": [1], "b": [2]}, r"choose the label with label=, one of 'a', 'b'"),
    ],
)
def test_errors_say_where(file, columns, message):
    path = file(columns)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_first_fault_over_row_groups(file):
    values = np.arange(10_000.0)
    values[7_654] = np.inf
    with pytest.raises(DataError, match=r"row 7,655, column 'b'"):
        read(file({"a": np.zeros(10_000), "b": values, "y": np.zeros(10_000)}, row_group_size=1000))


@pytest.mark.parametrize("content", [b"PAR1 and nothing else PAR1", b"x", b"a,b\n1,2\n" * 100])
def test_corrupt(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"t\.parquet: cannot be read as Parquet \(.+\): write the file again"):
        read(tmp_path / "t.parquet")


def test_corrupt_inside(file):
    path = file({"a": np.random.default_rng(0).normal(size=10_000), "y": np.zeros(10_000)}, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[100:4000] = bytes(3900)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read as Parquet \(.*(checksum|CRC).*\)"):
        read(path)


def test_cut_off(file):
    path = file({"a": np.arange(1000.0), "y": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read(path)
