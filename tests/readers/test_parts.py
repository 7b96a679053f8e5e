"""Files in parts: the same rows, columns and types as files that are read whole, in every format."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from sgdone.readers import table_from_arrow, text_blocks
from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read, read_parts
from sgdone.readers.table import DataError, ReadOptions

N_ROWS = 101
FORMATS = ["csv", "tsv", "parquet", "arrow", "arrows", "jsonl"]
COMPRESSIONS = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


def example(labels=("no", "yes")):
    rng = np.random.default_rng(0)
    cities = np.array(["Rome", "São Paulo", 'a "quoted" one', "two\nlines", "a,b"])
    return pa.table(
        {
            "number": pa.array(rng.normal(size=N_ROWS), mask=rng.random(N_ROWS) < 0.1),
            "city": pa.array(cities[rng.integers(0, 5, N_ROWS)], mask=rng.random(N_ROWS) < 0.1),
            "flag": rng.random(N_ROWS) < 0.5,
            "day": [datetime(2026, 1, 1 + k % 28) for k in range(N_ROWS)],
            "w": rng.random(N_ROWS),
            "y": np.array(labels)[rng.integers(0, 2, N_ROWS)],
        }
    )


def content(table, form):
    sink = pa.BufferOutputStream()
    if form in ("csv", "tsv"):
        arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(delimiter="," if form == "csv" else "\t"))
    elif form == "parquet":
        pq.write_table(table, sink, row_group_size=17)
    elif form in ("arrow", "arrows"):
        with (pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream)(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=23)
    else:
        lines = (json.dumps(row, default=datetime.isoformat, ensure_ascii=False) for row in table.to_pylist())
        return "".join(f"{line}\n" for line in lines).encode()
    return sink.getvalue().to_pybytes()


def write(folder, table, form, n_files=1, compression=""):
    edges = np.linspace(0, table.num_rows, n_files + 1).astype(int)
    for number, (first, end) in enumerate(pairwise(edges)):
        packed = COMPRESSIONS[compression](content(table.slice(first, end - first), form))
        (folder / f"part-{number}.{form}{compression}").write_bytes(packed)
    return folder


def parts(given, form=None, **options):
    files = input_files(given)
    return list(read_parts(files, ReadOptions(files[0].path, format=form, **options)))


def assert_same(tables, whole):
    assert {table.X.schema for table in tables} == {whole.X.schema}
    assert pa.concat_tables([table.X for table in tables]).to_pydict() == whole.X.to_pydict()
    for name in ("y", "weights"):
        found = [getattr(table, name) for table in tables]
        if getattr(whole, name) is None:
            assert all(values is None for values in found)
        else:
            np.testing.assert_array_equal(np.concatenate(found), getattr(whole, name))
    assert {(tuple(table.feature_names), table.label_name) for table in tables} == {
        (tuple(whole.feature_names), whole.label_name)
    }


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(text_blocks, "HEAD", 2000)
    monkeypatch.setattr(text_blocks, "BLOCK", 700)
    monkeypatch.setattr(table_from_arrow, "PART_ROWS", 13)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("n_files", [1, 3, 7])
@pytest.mark.usefixtures("small_parts")
def test_parts_are_the_file(tmp_path, form, n_files):
    table = example()
    (tmp_path / "whole").mkdir()
    whole = read(*(write(tmp_path / "whole", table, form)).iterdir(), weight="w")
    (tmp_path / "set").mkdir()
    tables = parts(write(tmp_path / "set", table, form, n_files), weight="w")
    assert_same(tables, whole)
    assert len(tables) > 8
    assert {Path(found.name).name for found in tables} == {f"part-{number}.{form}" for number in range(n_files)}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("compression", list(COMPRESSIONS))
@pytest.mark.usefixtures("small_parts")
def test_compressed_files_in_parts(tmp_path, form, compression):
    write(tmp_path, example(), form, 2, compression)
    counted = []
    tables = parts(tmp_path, weight="w", on_bytes=counted.append)
    assert sum(found.X.num_rows for found in tables) == N_ROWS
    assert sum(counted) == sum(path.stat().st_size for path in tmp_path.iterdir())


@pytest.mark.parametrize("labels", [(0, 1), (0.5, 2.0), (False, True), ("007", "7"), ("2026-01-31", "2026-02-01")])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.usefixtures("small_parts")
def test_labels_in_parts(tmp_path, form, labels):
    (path,) = write(tmp_path, example(labels), form).iterdir()
    tables, whole = parts(path), read(path)
    assert_same(tables, whole)
    assert {found.y.dtype.kind for found in tables} == {whole.y.dtype.kind}


@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow", "parquet"])
@pytest.mark.usefixtures("small_parts")
def test_conditions_and_chosen_columns(tmp_path, form):
    (path,) = write(tmp_path, example(), form).iterdir()
    options = {"label": "w > 0.5", "features": ["flag", "number"]}
    assert_same(parts(path, **options), read(path, **options))
    options = {"drop": ["city, day"], "require_label": False, "label": "absent"}
    assert_same(parts(path, **options), read(path, **options))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.usefixtures("small_parts")
def test_rows_without_labels_are_skipped(tmp_path, form):
    labels = ["u" if 20 < k < 60 and k % 2 else None for k in range(N_ROWS)]
    table = example().set_column(5, "y", pa.array(labels, pa.string()))
    (path,) = write(tmp_path, table, form).iterdir()
    tables = parts(path, skip_unlabelled=True)
    whole = read(path, skip_unlabelled=True)
    assert_same(tables, whole)
    assert sum(found.unlabelled for found in tables) == whole.unlabelled
    assert tables[0].X.num_rows == 0
    (path,) = write(tmp_path, table.slice(70), form).iterdir()
    with pytest.raises(DataError, match="no row has a label"):
        parts(path, skip_unlabelled=True)
    with pytest.raises(DataError, match="column 'y': missing label: drop the row"):
        parts(path)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("small_parts")
def test_closing_early_closes_the_files(tmp_path, form):
    write(tmp_path, example(), form, 2)
    files = input_files(tmp_path)
    with closing(read_parts(files, ReadOptions(files[0].path))) as tables:
        next(tables)
        assert _open_files(tmp_path)
    assert not _open_files(tmp_path)


def _open_files(folder):
    links = Path("/proc/self/fd").iterdir()
    return [link for link in links if link.exists() and link.resolve().is_relative_to(folder)]


@pytest.mark.parametrize("form", FORMATS)
def test_files_without_rows(tmp_path, form):
    table = example()
    write(tmp_path, table.slice(0, 0), form)
    if form != "jsonl":
        with pytest.raises(DataError, match=r"part-0\.\w+: has column names but no rows"):
            parts(tmp_path)
    (tmp_path / f"part-1.{form}").write_bytes(content(table, form))
    assert sum(found.X.num_rows for found in parts(tmp_path)) == N_ROWS


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_all_files_have_the_same_columns(tmp_path, form):
    table = example()
    (tmp_path / f"1.{form}").write_bytes(content(table, form))
    shuffled = table.select(["y", "flag", "w", "city", "number", "day"])
    (tmp_path / f"2.{form}").write_bytes(content(shuffled, form))
    both = pa.concat_tables([found.X for found in parts(tmp_path)])
    assert both.column_names == ["number", "city", "flag", "day", "w"]
    assert both.slice(0, N_ROWS).equals(both.slice(N_ROWS))
    (tmp_path / f"2.{form}").write_bytes(content(table.drop_columns(["city", "w"]), form))
    with pytest.raises(DataError, match=rf"2\.{form}: has no column 'city', 'w', which .*1\.{form} has"):
        parts(tmp_path)
    assert parts(tmp_path, drop=["city", "w"])[-1].feature_names == ["number", "flag", "day"]
    (tmp_path / f"2.{form}").write_bytes(content(table.append_column("extra", table["w"]), form))
    with pytest.raises(DataError, match=rf"2\.{form}: has the column 'extra', which .* does not have: .* drop="):
        parts(tmp_path)
    assert parts(tmp_path, drop=["extra"])[-1].feature_names == both.column_names
    assert parts(tmp_path, features=["number"])[-1].feature_names == ["number"]


def _feed(stream, content):
    with stream:
        stream.write(content[:1])
        stream.write(content[1:])


@pytest.mark.parametrize("form", ["csv", "arrow", "arrows", "jsonl"])
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_standard_input(tmp_path, monkeypatch, form, compression):
    (path,) = write(tmp_path, example(), form, 1, compression).iterdir()
    counted = []
    packed = path.read_bytes()
    for _ in range(2):
        reading, writing = os.pipe()
        with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", buffering=0) as stdout:
            monkeypatch.setattr(sys, "stdin", stdin)
            thread = threading.Thread(target=_feed, args=(stdout, packed))
            thread.start()
            tables = parts("-", on_bytes=counted.append)
            thread.join()
            assert not stdin.closed
        assert sum(found.X.num_rows for found in tables) == N_ROWS
    assert sum(counted) == 2 * path.stat().st_size


@pytest.mark.slow
def test_standard_input_of_a_process():
    code = (
        "from sgdone.readers.reading import read_parts\n"
        "from sgdone.readers.input_files import input_files\n"
        "from sgdone.readers.table import ReadOptions\n"
        "files = input_files('-')\n"
        "print([table.X.to_pydict() for table in read_parts(files, ReadOptions(files[0].path))])\n"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, input=gzip.compress(b"a,y\n1,0\n"), capture_output=True, check=True, timeout=60)
    assert found.stdout.decode().strip() == "[{'a': [1.0]}]"


def test_standard_input_that_was_looked_at_and_replaced(monkeypatch):
    for cell in ("1", "2"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"a,y\n{cell},0\n".encode())))
        tables = read_parts(input_files("-"), ReadOptions(Path("-")))
    assert [table.X.to_pydict() for table in tables] == [{"a": [2.0]}]


def test_an_error_in_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,0\n2\n")))
    with pytest.raises(DataError, match=r"^standard input, line 3: found 1 field"):
        parts("-")


@pytest.mark.parametrize("form", ["csv", "arrows", "jsonl"])
@pytest.mark.usefixtures("small_parts")
def test_named_pipes(tmp_path, form):
    table = example()
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=lambda: _feed((tmp_path / "pipe").open("wb", buffering=0), content(table, form)))
    thread.start()
    tables = parts(tmp_path / "pipe", None if form != "arrows" else "arrow")
    thread.join()
    assert sum(found.X.num_rows for found in tables) == N_ROWS


def test_formats_must_agree(tmp_path):
    write(tmp_path, example(), "csv")
    write(tmp_path, example(), "jsonl")
    with pytest.raises(DataError, match=r"part-0\.jsonl: is jsonl, but .*part-0\.csv is csv: read files of one format"):
        parts([tmp_path / "part-0.csv", tmp_path / "part-0.jsonl"])


@pytest.mark.slow
def test_memory_stays_flat(tmp_path):
    lines = [",".join(f"{value:.6f}" for value in row) for row in np.random.default_rng(0).normal(size=(10_000, 10))]
    rows = "".join(f"{line},1\n" for line in lines)
    with (tmp_path / "t.csv").open("w") as file:
        file.write(",".join(f"x{j}" for j in range(10)) + ",y\n")
        for _ in range(200_000_000 // len(rows)):
            file.write(rows)
    used, before = [], pa.total_allocated_bytes()
    files = input_files(tmp_path)
    for table in read_parts(files, ReadOptions(files[0].path)):
        used.append(pa.total_allocated_bytes() - before)
        assert table.X.nbytes <= table_from_arrow.PART_BYTES
    assert len(used) > 20
    assert max(used) < 4 * table_from_arrow.PART_BYTES
    assert text_blocks.HEAD < 200_000_000
