"""Errors about a row of a file name the file and the line, or the row of a file without lines."""

import gzip
import io
import json
import pickle
import re
import sys

import pyarrow as pa
import pytest

from sgdone import LinearClassifier, LinearRegressor, files
from sgdone.message_text import RowError
from sgdone.readers import row_input
from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read_parts
from sgdone.readers.table import DataError, ReadOptions
from sgdone.readers.text_blocks import TextBlock, row_lines
from table_files import content

#: The first of two bad cells is in the fifth row, after a blank line and a cell with a line break.
CSV = 't,a,y\nu,1,0\n\n"u\n""v",2,1\nu,3,\nw,4,1\nu,abc,0\nv,x,1\n'
CELLS = ["1", "2", "3", "4", "abc", "x"]
LABELS = [0, 1, None, 1, 0, 1]
JSON = "".join(json.dumps({"a": a, "y": y}) + "\n" * (1 + (a == "1")) for a, y in zip(CELLS, LABELS, strict=True))
TABLE = pa.table({"a": CELLS, "y": LABELS})


CASES = {
    "t.csv": (CSV.encode(), "line 8"),
    "t.csv.gz": (gzip.compress(CSV.encode()), "line 8"),
    "t.jsonl": (JSON.encode(), "line 6"),
    "t.parquet": (content(TABLE, "parquet", 2), "row 5"),
    "t.arrow": (content(TABLE, "arrow", 2), "row 5"),
}

#: Files without a bad cell.
GOOD = {name: CASES[name][0].replace(b"abc", b"5").replace(b"x", b"6") for name in ("t.csv", "t.jsonl")}


@pytest.fixture(params=[True, False], ids=["in memory", "in parts"])
def in_memory(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(row_input, "IN_MEMORY", 0.0)


@pytest.mark.parametrize("name", CASES)
def test_a_cell_that_is_no_number(tmp_path, in_memory, name):
    content, place = CASES[name]
    (tmp_path / f"1{name}").write_bytes(GOOD.get(name, content))
    (tmp_path / f"2{name}").write_bytes(content)
    paths = [tmp_path / f"{number}{name}" for number in ((1, 2) if name in GOOD else (2,))]
    message = rf"2{re.escape(name)}, {place}: column 'a' is a column of numbers, but the row holds 'abc'\. Correct"
    with pytest.raises(DataError, match=message):
        LinearClassifier(columns={"a": "number"}).fit(files(paths, label="y"))


@pytest.mark.parametrize("name", GOOD)
def test_a_single_cell_is_a_missing_value_and_its_place_is_named(tmp_path, in_memory, name):
    content, place = CASES[name]
    (tmp_path / name).write_bytes(content.replace(b"x", b"6"))
    with pytest.warns(UserWarning, match=rf"column 'a' has 'abc' in .*{re.escape(name)}, {place} \(1 of 5 cells\)"):
        LinearClassifier(columns={"a": "number"}).fit(files(tmp_path / name, label="y"))


def test_standard_input(monkeypatch, in_memory):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    with pytest.raises(DataError, match=r"standard input, line 8: column 'a' .* the row holds 'abc'"):
        LinearClassifier(columns={"a": "number"}).fit(files("-", label="y"))


def test_predict(tmp_path):
    (tmp_path / "train.csv").write_text(CSV.replace("abc", "5").replace("x", "6"))
    (tmp_path / "new.csv").write_text(CSV)
    model = LinearClassifier().fit(files(tmp_path / "train.csv", label="y"))
    with pytest.raises(DataError, match=r"new\.csv, line 8: column 'a' is a column of numbers, but the row holds"):
        list(model.predict(files(tmp_path / "new.csv", label="y")))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("t.svm", ["1 1:1", "", "# a comment", "0 1:2 # another", "1 1:1e200"]),
        ("t.vw", ["1 |f a:1", "", "", "0 |f a:2 #b", "1 |f a:1e200"]),
    ],
)
def test_a_row_that_is_too_large(tmp_path, in_memory, name, lines):
    (tmp_path / name).write_text("\n".join([*lines, *lines[:4]]))
    with pytest.raises(DataError, match=rf"{name}, line 5: the row is too large: ‖x‖² overflows float64"):
        LinearClassifier().fit(files(tmp_path / name))


def test_a_label_that_is_no_number(tmp_path, in_memory):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n2,3\n\n3,four\n")
    with pytest.raises(DataError, match=r"t\.csv, line 5: the label of the row is .*'four': a regression needs"):
        LinearRegressor().fit(files(tmp_path / "t.csv", label="y"))


@pytest.mark.parametrize("name", CASES)
def test_places_can_be_sent_to_other_processes(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(CASES[name][0])
    tables = read_parts(input_files(path), ReadOptions(path, label="y", skip_unlabelled=True))
    found = [pickle.loads(pickle.dumps(table.place))(row) for table in tables for row in range(table.X.num_rows)]
    assert found[3] == f"{path}, {CASES[name][1]}"
    error = RowError("the label of ", 7, " is missing")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("text", "separator", "expected"),
    [
        (b"1,2\n3,4\n", ",", [5, 6]),
        (b"1,2\n3,4", ",", [5, 6]),
        (b"1,2\r\n\r\n3,4\r\n", ",", [5, 7]),
        (b'1,"a\n\n""b"\n\n3,"c"\n"d\n",4', ",", [5, 9, 10]),
        (b'1,a"b\n2,"c\nd"\n3,4\n', ",", [5, 6, 8]),
        (b'{"a": "\\""}\n \n{}\n', None, [5, 7]),
    ],
)
def test_lines_of_rows(text, separator, expected):
    found = row_lines(TextBlock(text, 5, text.count(b"\n")), len(expected), separator)
    assert list(found) == expected
