import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdone.readers import file_parts as listing
from sgdone.readers.file_parts import file_parts
from sgdone.readers.input_files import input_files
from sgdone.readers.table import DataError, ReadOptions
from table_files import content


def parts_of(paths, **options):
    found = input_files(paths)
    return file_parts(found, ReadOptions(found[0].path, skip_unlabelled=True, **options))


@pytest.fixture
def parquet(tmp_path):
    """Two files of 1,000 rows in row groups of 300, the columns of the second in another order."""
    table = pa.table({"a": np.arange(1000), "c": ["x", "y"] * 500, "delay": np.arange(1000) % 30})
    pq.write_table(table, tmp_path / "1.parquet", row_group_size=300)
    pq.write_table(
        table.select(["delay", "c", "a"]).cast(pa.schema([("delay", "double"), ("c", "string"), ("a", "double")])),
        tmp_path / "2.parquet",
        row_group_size=300,
    )
    return tmp_path


def test_row_groups_are_parts(parquet):
    found = parts_of(parquet, label="delay > 15")
    assert [part.last for part in found.parts] == [1, 2, 3, 4] * 2
    assert str(found.parts[5]) == f"{parquet / '2.parquet'}, row group 2"
    tables = [pickle.loads(pickle.dumps(part)).read() for part in found.parts]
    assert [table.X.num_rows for table in tables] == [300, 300, 300, 100] * 2
    assert {table.X.schema for table in tables} == {tables[0].X.schema}  # of both files
    assert np.concatenate([table.y for table in tables]).tolist() == 2 * [k % 30 > 15 for k in range(1000)]


def test_many_row_groups_are_joined(parquet, monkeypatch):
    monkeypatch.setattr(listing, "MOST_PARTS", 3)
    found = parts_of(parquet, label="delay")
    assert [str(part).rpartition(", ")[2] for part in found.parts] == ["row groups 1 to 3", "row group 4"] * 2
    assert [part.read().X.num_rows for part in found.parts] == [900, 100] * 2


def test_errors_name_the_row_of_the_file(tmp_path):
    x = np.arange(500.0)
    x[350] = np.inf
    table = pa.table({"x": x, "y": x > 3})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=200)
    parts = parts_of(tmp_path / "t.parquet").parts
    assert parts[0].read().X.num_rows == 200
    with pytest.raises(DataError, match=r"t\.parquet, row 351, column 'x': infinite value"):
        parts[1].read()
    (tmp_path / "t.arrow").write_bytes(content(table, "arrow", 200))
    parts = parts_of(tmp_path / "t.arrow").parts
    assert [str(part).rpartition(", ")[2] for part in parts] == [f"record batch {k}" for k in (1, 2, 3)]
    with pytest.raises(DataError, match=r"t\.arrow, row 351, column 'x': infinite value"):
        parts[1].read()


def test_a_file_that_changes_is_refused(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,y\n1,0\n2,1\n")
    (part,) = parts_of(file).parts
    assert part.read().X.to_pydict() == {"a": [1.0, 2.0]}
    file.write_text("a,y\n1,0\n2,1\n3,1\n")
    with pytest.raises(DataError, match="has changed since the fit began"):
        part.read()


def test_columns_without_values_have_no_type(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c,y\n1,?,NA,0\n2,,-,1\n")
    (tmp_path / "2.csv").write_text("c,b,a,y\ntrue,1,7,1\n")
    one, two = (part.read().X for part in parts_of(tmp_path).parts)
    assert list(map(str, one.schema.types)) == ["double", "null", "null"]
    assert two.column_names == ["a", "b", "c"]
    strings = parts_of(tmp_path).with_strings(["b", "a"]).parts
    assert strings[0].read().X.to_pydict() == {"a": ["1", "2"], "b": ["?", None], "c": [None, None]}


def test_files_without_rows_or_labels(tmp_path):
    (tmp_path / "1.csv").write_text("a,y\n1,\n2,\n")
    (tmp_path / "2.csv").write_text("a,y\n")
    (tmp_path / "3.csv").write_text("a,y\n1,0\n,1\n3,\n")
    found = [part.read() for part in parts_of(tmp_path).parts]
    assert [(table.X.shape, table.unlabelled) for table in found] == [((0, 1), 2), ((0, 1), 0), ((2, 1), 1)]


@pytest.mark.parametrize("suffix", ["svm", "jsonl", "vw"])
def test_other_formats_are_a_part_a_file(tmp_path, suffix):
    lines = {"svm": "1 1:2 3:4\n", "jsonl": '{"a": 1, "y": 2}\n', "vw": "1 | a b\n"}[suffix]
    (tmp_path / f"1.{suffix}").write_text(lines)
    (tmp_path / f"2.{suffix}").write_text("")
    found = parts_of(tmp_path, bits=2 if suffix == "vw" else None).parts
    assert [part.read().X.shape[0] for part in found] == [1, 0]
    missing = replace(input_files(tmp_path)[0], path=tmp_path / f"nowhere.{suffix}")
    with pytest.raises(DataError, match="no such file"):
        file_parts([*input_files(tmp_path), missing], ReadOptions(tmp_path))


def test_json_keys_of_other_files(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"a": 1, "y": 0, "id": 7}\n')
    (tmp_path / "2.jsonl").write_text('{"b": true, "y": 1}\n')
    found = parts_of(tmp_path, drop=["id"]).parts
    assert [part.read().X.to_pydict() for part in found] == [{"a": [1.0], "b": [None]}, {"a": [None], "b": [True]}]
    size = found[1].size
    (tmp_path / "2.jsonl").write_text('{"c": 1111, "y": 1}\n'[: size - 1].ljust(size - 1) + "\n")
    with pytest.raises(DataError, match="has the key 'c', which is in no line of the first"):
        found[1].read()
