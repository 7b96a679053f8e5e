"""Parquet and Arrow files in parts: common types of several files, and damage."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read, read_parts
from sgdone.readers.table import DataError, ReadOptions
from sgdone.readers.table_from_arrow import damage_explained


def write(path, table):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=1000, write_page_checksum=True)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1000)


def parts(folder, **options):
    return list(read_parts(input_files(folder), ReadOptions(folder, **options)))


def column(tables):
    return pa.concat_tables([table.X for table in tables]).column("a")


@pytest.fixture(params=["parquet", "arrow"])
def form(request):
    return request.param


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (pa.array([1, 2], pa.int32()), pa.array([2**40]), "int64"),
        (pa.array([1, 2]), pa.array([0.5]), "double"),
        (pa.array([1, 2], pa.float32()), pa.array([0.1]), "double"),
        (pa.array(["u"]), pa.array(["v"], pa.large_string()), "large_string"),
        (pa.array(["u"]), pa.array(["v"]).dictionary_encode(), "large_string"),
        (pa.array(["u"]).dictionary_encode(), pa.array(["v"]).dictionary_encode(),
         "dictionary<values=large_string, indices=int32, ordered=0>"),
        (pa.array([None], pa.null()), pa.array(["v"]), "large_string"),
    ],
)  # fmt: skip
def test_common_types(tmp_path, form, one, other, kind):
    for number, values in enumerate((one, other, one)):
        write(tmp_path / f"{number}.{form}", pa.table({"a": values, "y": [0] * len(values)}))
    found = column(parts(tmp_path))
    assert str(found.type) == kind
    assert found.to_pylist() == [*one.to_pylist(), *other.to_pylist(), *one.to_pylist()]


def test_values_that_would_change(tmp_path, form):
    write(tmp_path / f"1.{form}", pa.table({"a": [0.5], "y": [0]}))
    write(tmp_path / f"2.{form}", pa.table({"a": [2**53 + 1], "y": [0]}))
    with pytest.raises(DataError, match=rf"2\.{form}, row 1 and later, column 'a': the type is int64 here and double"):
        parts(tmp_path)


def test_types_that_differ_are_found_before_the_first_row(tmp_path, form):
    write(tmp_path / f"1.{form}", pa.table({"a": [0.5], "y": [0]}))
    write(tmp_path / f"2.{form}", pa.table({"a": ["x"], "y": [0]}))
    with pytest.raises(DataError, match=rf"2\.{form}, column 'a': the type is string, but double in .*1\.{form}"):
        next(read_parts(input_files(tmp_path), ReadOptions(tmp_path)))
    assert len(parts(tmp_path, drop=["a"], features=["y"], label="z", require_label=False)) == 2


def test_rows_are_counted_from_the_beginning_of_each_file(tmp_path, form):
    values = np.zeros(2500)
    write(tmp_path / f"1.{form}", pa.table({"a": values, "y": values}))
    values[2100] = np.inf
    write(tmp_path / f"2.{form}", pa.table({"a": values, "y": np.zeros(2500)}))
    with pytest.raises(DataError, match=rf"2\.{form}, row 2,101, column 'a': infinite value"):
        parts(tmp_path)


def test_a_damaged_row_group(tmp_path):
    path = tmp_path / "t.parquet"
    write(path, pa.table({"a": np.random.default_rng(0).normal(size=3000), "y": np.zeros(3000)}))
    content = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    content[start + 1000 : start + 1100] = bytes(100)
    path.write_bytes(content)
    tables = read_parts(input_files(path), ReadOptions(path))
    assert next(tables).X.num_rows == 1000
    with pytest.raises(
        DataError, match=r"t\.parquet, row group 2 of 3: cannot be read as Parquet \(.*\): write the file"
    ):
        next(tables)


def test_memory_that_runs_out_is_not_the_files_fault(tmp_path, monkeypatch):
    write(tmp_path / "t.parquet", pa.table({"a": [1.0], "y": [0]}))

    def fail(*_args, **_kwargs):
        raise pa.ArrowMemoryError("malloc of size 131136 failed")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fail)
    with pytest.raises(MemoryError):
        parts(tmp_path)


def test_parquet_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="Parquet cannot be read from a pipe"):
        next(read_parts(input_files(tmp_path / "t.parquet"), ReadOptions(tmp_path, format="parquet")))


@pytest.mark.parametrize("cut", [3, 20, 9000, 12000])
def test_arrow_files_that_are_cut_off(tmp_path, cut):
    path = tmp_path / "t.arrow"
    write(path, pa.table({"a": np.arange(1000.0), "y": np.zeros(1000)}))
    path.write_bytes(path.read_bytes()[:-cut])
    for read_all in (parts, read):
        with pytest.raises(DataError, match=r"t\.arrow.*: (cannot be read as Arrow|ends too early)"):
            read_all(path)


@pytest.mark.parametrize(("content", "message"), [
    (b"", "is empty"), (b"FEA1" + bytes(100), "version 1 of Feather"), (b"a,b\n" * 30, "cannot be read as Arrow"),
    (b"ARROW1\0\0", "cannot be read as Arrow"),
])  # fmt: skip
def test_what_is_not_arrow(tmp_path, content, message):
    (tmp_path / "t.feather").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "t.feather")


def test_dictionaries_and_compressed_buffers(tmp_path):
    levels = pa.array([f"level {k % 7}" for k in range(5000)]).dictionary_encode()
    table = pa.table({"a": levels, "y": np.arange(5000) % 2})
    for compression in ("lz4", "zstd", "uncompressed"):
        feather.write_feather(table, tmp_path / "t.feather", compression=compression, chunksize=999)
        found = read(tmp_path / "t.feather")
        assert found.X["a"].to_pylist() == levels.to_pylist()
        assert column(parts(tmp_path)).to_pylist() == levels.to_pylist()


def test_a_damaged_length_takes_no_memory(tmp_path):
    path = tmp_path / "t.arrows"
    table = pa.table({"a": [1.0, 2.0], "y": [0, 1]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content = bytearray(path.read_bytes())
    schema_size = int.from_bytes(content[4:8], "little")
    content[8 + schema_size + 4 : 8 + schema_size + 8] = (2**31 - 8).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(DataError, match="record batch 1: cannot be read as Arrow"):
        parts(path)


def test_a_file_that_asks_for_more_memory_than_there_is_anywhere_is_damaged():
    with pytest.raises(DataError, match="cannot be read as Arrow"), damage_explained("Arrow", ReadOptions()):
        raise pa.ArrowMemoryError("malloc of size 1125899906842688 failed")


def test_names_that_are_not_utf8(tmp_path, form):
    path = tmp_path / f"t.{form}"
    write(path, pa.table({"abcdef": [1.0, 2.0], "y": [0, 1]}))
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"abcde\xff"))
    for read_all in (parts, read):
        with pytest.raises(DataError, match=r"t\.\w+: cannot be read as"):
            read_all(path)
