"""CSV in parts: types that the beginning decides, cells that contradict them, and rows that cannot be read."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_parts import column, parts

from sgdone.readers import text_blocks
from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read, read_as_written, written_parts
from sgdone.readers.table import DataError, ReadOptions
from sgdone.readers.text_blocks import whole_rows

HEAD_ROWS = 100


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(text_blocks, "HEAD", 400)
    monkeypatch.setattr(text_blocks, "BLOCK", 150)


@pytest.fixture
def file(tmp_path):
    def write(head, *later, name="t.csv", header="a,s,y\n"):
        lines = [f"{head},x,0"] * HEAD_ROWS + [f"{cell},x,1" for cell in later]
        path = tmp_path / name
        path.write_text(header + "\n".join(lines) + "\n")
        return path

    return write


@pytest.mark.parametrize(
    ("head", "cells", "expected", "kind"),
    [
        ("1.5", ["+2", " 3 ", "?", "None", '""', '"NA"', "nan", "1e3", '"4"'],
         [2, 3, None, None, None, None, None, 1e3, 4], "double"),
        ("1.5", ["02134"], [2134], "double"),
        ("true", ["FALSE", " true", "-", "NA", "True"], [False, True, None, None, True], "bool"),
        ("2020-01-31", ["2020/02/01", "?", "2020-01-31T10:00Z", "2020-01-31 10:00:00.1234567"],
         ["2020-02-01T00:00:00", None, "2020-01-31T10:00:00", "2020-01-31T10:00:00.123456"], "timestamp[us]"),
        ("NA", ["1", "x", "?", "NULL"], ["1", "x", "?", None], "large_string"),
        ("?", ["1"], ["1"], "large_string"),
        ("02134", ["94110"], ["94110"], "large_string"),
    ],
)  # fmt: skip
def test_odd_cells_beyond_the_beginning(file, head, cells, expected, kind):
    found = column(parts(file(head, *cells)))
    assert str(found.type) == kind
    later = found.slice(HEAD_ROWS).to_pylist()
    assert [value.isoformat() if hasattr(value, "isoformat") else value for value in later] == expected


@pytest.mark.parametrize(
    ("head", "cell", "message"),
    [
        ("1.5", "Paris", r"'Paris' does not fit: the column has only numbers in the first 0.0004 MB: correct the cell, "
         r"or pass columns=\{'a': 'category'\}"),
        ("1.5", "2020-01-31", "'2020-01-31' does not fit: the column has only numbers"),
        ("true", "1", "'1' does not fit: the column has only true and false"),
        ("2020-01-31", "31.1.2020", "'31.1.2020' does not fit: the column has only dates"),
        ("2020-01-31", "2020-01-31T10:00+02:00", "'2020-01-31T10:00\\+02:00' does not fit: the column has only dates"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [0, 1, 40])
def test_contradictions_name_the_line(file, head, cell, message, before):
    path = file(head, *[head] * before, cell, head, "Rome")
    with pytest.raises(DataError, match=rf"t\.csv, line {HEAD_ROWS + before + 2}, column 'a': {message}"):
        parts(path)
    assert str(column(parts(path, as_strings=["a"])).type) == "large_string"


def test_a_cell_within_the_beginning_decides(tmp_path):
    (tmp_path / "1.csv").write_text("a,y\n1,0\n")
    (tmp_path / "2.csv").write_text("a,y\nx,0\n")
    assert column(parts(tmp_path)).to_pylist() == ["1", "x"]


@pytest.mark.parametrize(
    ("head", "label", "message"),
    [
        (
            "0",
            "1.5",
            r"line 202, column 'y': '1.5' is not among whole numbers, and the labels of the first .* alike, or",
        ),
        ("0.5", "x", "line 202, column 'y': 'x' is not among numbers"),
        ("0", "", "line 202, column 'y': missing label"),
        ("0", "NA", "line 202, column 'y': missing label"),
    ],
)
def test_labels_beyond_the_beginning(tmp_path, head, label, message):
    (tmp_path / "t.csv").write_text("a,y\n" + f"u,{head}\n" * 200 + f"v,{label}\n")
    with pytest.raises(DataError, match=message):
        parts(tmp_path / "t.csv")
    if label == "1.5":
        tables = parts(tmp_path / "t.csv", label="y > 1")
        assert np.concatenate([table.y for table in tables]).tolist() == [False] * 200 + [True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,x,0\n1,x\n", "line 102: found 2 fields, but the header has 3 columns"),
        ("1,x,0\n1,x,0,4\n", "line 102: found 4 fields"),
        ("1,x,0\n\n\n1,x", "line 104: found 2 fields"),
        ('1,"two\nlines",0\n1,x\n', "line 103: found 2 fields"),
        ('1,x,0\n1,"open,0\n1,x,0\n', r'line 102: a quote \("\) is not closed'),
        (b"1,x,0\n1,\xff,0\n", "line 102, column 's': is not UTF-8"),
        (b"1,x,0\n\xff,x,0\n", "line 102, column 'a': is not UTF-8"),
        ("1,x,0\ninf,x,0\n", r"line 102, column 'a': infinite value \(inf\)"),
        ('"1","a, ""b""\n",0\n1,5" wide,0\ninf,x,0\n', r"line 104, column 'a': infinite value"),
    ],
)
def test_rows_that_cannot_be_read(tmp_path, text, message):
    rows = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "t.csv").write_bytes(b"a,s,y\n" + b"1,x,0\n" * 99 + rows)
    with pytest.raises(DataError, match=message):
        parts(tmp_path / "t.csv")


def test_a_quote_left_open_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "LONGEST_ROW", 2000)
    (tmp_path / "t.csv").write_text("a,s,y\n" + "1,x,0\n" * 99 + '1,"x,0\n' + "1,x,0\n" * 1000)
    with pytest.raises(DataError, match=r"line 101: the row is longer than 0.002 MB: is a quote"):
        parts(tmp_path / "t.csv")


@pytest.mark.parametrize("header", ["", "a,s,y\n"])
def test_every_file_needs_a_header(tmp_path, header):
    (tmp_path / "1.csv").write_text("a,s,y\n1,x,0\n")
    (tmp_path / "2.csv").write_text(header + "1,2,0\n")
    if header:
        assert len(parts(tmp_path)) == 2
    else:
        with pytest.raises(DataError, match=r"2\.csv, line 1: contains numbers .* instead of column names"):
            parts(tmp_path)


def test_without_a_header(tmp_path):
    (tmp_path / "1.csv").write_text('\ufeff1,"two\nlines",0\n')
    (tmp_path / "2.csv").write_text("3,four,1\n")
    tables = parts(tmp_path, header=False, label="3", separator=",")
    assert [table.X.to_pydict() for table in tables] == [
        {"x1": [1.0], "x2": ["two\nlines"]},
        {"x1": [3.0], "x2": ["four"]},
    ]
    (tmp_path / "2.csv").write_text("3,four\n")
    with pytest.raises(DataError, match=r"2\.csv: has no column 'x3'"):
        parts(tmp_path, header=False, label="3", separator=",")


CELLS = st.sampled_from(["1", "", "x", '"q"', '"a""b"', '"two\nlines"', '5" wide', '"a"b', " ", '"a,b\n\n"'])


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), st.integers(1, 40), st.sampled_from(["\n", "\r\n"]))
def test_blocks_of_whole_rows(tmp_path_factory, rows, size, end):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text("a,b,y" + end + "".join(f"{a},{b},0{end}" for a, b in rows), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK", size)
        patch.setattr(text_blocks, "HEAD", 10**6)
        tables = parts(path)
        with path.open("rb") as stream:
            blocks = list(whole_rows(stream, stream.read(size), ",", ReadOptions(path), size=size))
    assert b"".join(block.text for block in blocks) == path.read_bytes()
    assert column(tables).to_pylist() == column([read(path)]).to_pylist()
    assert column(tables, "b").to_pylist() == column([read(path)], "b").to_pylist()


class TestMisprints:
    """Of 3,000 cells with a value at most three may be no numbers, wherever the file is cut."""

    def write(self, path, *rows, label="0"):
        lines = [f"{'n/a!' if row in rows else row},{row % 2 if label == '0' else label}" for row in range(3000)]
        path.write_text("a,y\n" + "\n".join(lines) + "\n")
        return path

    @pytest.mark.parametrize("rows", [(0,), (2999,), (40, 41, 42), (1000, 2000, 2999)])
    def test_they_are_missing_values_with_a_warning(self, tmp_path, monkeypatch, rows):
        path = self.write(tmp_path / "t.csv", *rows)
        expected = [None if row in rows else float(row) for row in range(3000)]
        message = rf"column 'a' has 'n/a!' in line {rows[0] + 2:,} of .*t.csv \(\d of [\d,]+ cells\)"
        with pytest.warns(UserWarning, match=message) as found:
            assert read(path).X.column("a").to_pylist() == expected
        assert len(found) == 1
        monkeypatch.setattr(text_blocks, "HEAD", 10**6)
        with pytest.warns(UserWarning, match=message) as found:
            assert column(parts(path)).to_pylist() == expected
        assert len(found) == 1

    def test_the_beginning_may_have_none(self, tmp_path):
        path = self.write(tmp_path / "t.csv", 1500, 2999)
        with pytest.warns(UserWarning, match="column 'a' has 'n/a!' in line 1,502 of"):
            assert column(parts(path)).null_count == 2
        with pytest.raises(DataError, match="line 502, column 'a': 'n/a!' does not fit: the column has only numbers"):
            parts(self.write(tmp_path / "t.csv", 500))

    def test_too_many_make_strings(self, tmp_path, monkeypatch, recwarn):
        path = self.write(tmp_path / "t.csv", 10, 20, 30, 40)
        monkeypatch.setattr(text_blocks, "HEAD", 10**6)
        for table in (read(path).X, pa.concat_tables([part.X for part in parts(path)])):
            assert str(table.schema.types[0]) == "large_string"
        stated = parts(self.write(tmp_path / "t.csv", 10), as_strings=["a"])
        assert str(column(stated).type) == "large_string"
        assert not recwarn.list

    @pytest.mark.parametrize("reading", [read, parts])
    @pytest.mark.parametrize(
        ("label", "cell", "message"),
        [("1", "y", "the name of the column: is the header repeated"), ("1.5", "abc", "almost all others are numbers")],
    )
    def test_labels(self, tmp_path, monkeypatch, reading, label, cell, message):
        monkeypatch.setattr(text_blocks, "HEAD", 10**6)
        monkeypatch.setattr(text_blocks, "BLOCK", 10**6)
        path = self.write(tmp_path / "t.csv", label=label)
        lines = path.read_text().splitlines()
        lines[2000] = f"5,{cell}"
        path.write_text("\n".join(lines))
        with pytest.raises(DataError, match=f"line 2,001, column 'y': the label is '{cell}', .*{message}"):
            reading(path)


def test_columns_as_written_of_files_without_a_header(tmp_path):
    for name, cells in (("a.csv", "007,NA\n8,b\n"), ("b.csv", "9,c\n")):
        (tmp_path / name).write_text(cells)
    files = input_files(tmp_path)
    found = list(written_parts(files, ReadOptions(files[0].path, features=["1"], header=False)))
    assert found == [{"x1": ["007", "8"]}, {"x1": ["9"]}]
    assert read_as_written(tmp_path / "a.csv", ["2"], header=False) == {"x2": ["NA", "b"]}
