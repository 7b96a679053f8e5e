"""JSON lines: kinds of values, missing keys, nested values, and errors that name the line."""

import json

import pyarrow as pa
import pytest
from in_parts import column, parts

from sgdone.readers import text_blocks
from sgdone.readers.formats import json_lines
from sgdone.readers.reading import read
from sgdone.readers.table import DataError


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(text_blocks, "HEAD", 400)
    monkeypatch.setattr(text_blocks, "BLOCK", 150)


@pytest.fixture
def file(tmp_path):
    def write(*lines, name="t.jsonl"):
        texts = [
            line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
            for line in lines
        ]
        (tmp_path / name).write_bytes(b"\n".join(texts) + b"\n")
        return tmp_path / name

    return write


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json", "t"])
def test_by_suffix_or_by_looks(file, name):
    table = read(file({"a": 1, "b": "x", "y": 0}, "", {"y": 1, "a": 2.5}, name=name))
    assert table.X.to_pydict() == {"a": [1.0, 2.5], "b": ["x", None]}
    assert table.y.tolist() == [0, 1]


def test_a_json_array_is_refused(file):
    with pytest.raises(DataError, match=r"t\.json: is not JSON lines: write one object a line \(pandas: to_json"):
        read(file([{"a": 1}], name="t.json"))
    with pytest.raises(DataError, match=r"t\.jsonl, line 1: is not an object: write one object a line"):
        read(file([{"a": 1}]))


@pytest.mark.parametrize(
    ("values", "expected", "kind"),
    [
        ([1, 2.5, None], [1.0, 2.5, None], "double"),
        ([True, None, False], [True, None, False], "bool"),
        (["1", "2", "x"], ["1", "2", "x"], "large_string"),
        (["1", "2", None], ["1", "2", None], "large_string"),
        (["NA", None, "é"], ["NA", None, "é"], "large_string"),
        ([None, None, None], [None, None, None], "large_string"),
    ],
)
def test_values_have_the_kinds_they_are_written_with(file, values, expected, kind):
    path = file(*({"a": value, "y": 0} for value in values))
    for tables in ([read(path)], parts(path)):
        assert (column(tables).to_pylist(), str(column(tables).type)) == (expected, kind)


def test_dates(file):
    days = [{"a": f"2020-01-{day:02}", "y": 0} for day in range(1, 29)]
    assert str(column(parts(file(*days))).type) == "timestamp[us]"
    assert column(parts(file(*days))).to_pylist() == column([read(file(*days))]).to_pylist()
    assert str(column(parts(file(*days), as_strings=["a"])).type) == "large_string"
    with pytest.raises(
        DataError, match=r"line 30, column 'a': 'soon' does not fit: the column has only dates .*columns="
    ):
        parts(file(*days, days[0], {"a": "soon", "y": 0}))


def test_missing_keys_and_files_without_a_column(file, tmp_path):
    file({"a": 1, "y": 0}, {"y": 1}, name="1.jsonl")
    file({"y": 1, "b": "x"}, name="2.jsonl")
    assert [table.X.to_pydict() for table in parts(tmp_path)] == [
        {"a": [1.0, None], "b": [None, None]},
        {"a": [None], "b": ["x"]},
    ]


ROW = {"a": 1, "b": "x", "y": 0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"a": "x", "b": "x", "y": 0}, "line 31, column 'a': \"x\" does not fit: the column has only whole numbers"),
        ({"a": 1, "b": 2, "y": 0}, "line 31, column 'b': 2 does not fit: the column has only strings"),
        ({"a": True, "b": "x", "y": 0}, "line 31, column 'a': true does not fit"),
        ({"a": [1], "b": "x", "y": 0}, r"line 31, column 'a': \[1\] does not fit"),
        ({"a": 1, "b": "x", "y": 0.5}, "line 31, column 'y': 0.5 does not fit: the column has only whole numbers"),
        ({"a": 1, "b": "x", "y": None}, "line 31, column 'y': missing label"),
        ({"a": 1, "b": "x", "y": 0, "c": 1}, "line 31: the key 'c' is in no line of the first .*: leave it out"),
        ('{"a": 1, "b": "x", "y": 0', "line 31: is not JSON"),
        ('{"a": 1, "b": "x", "y": 0} {"a": 2}', "line 31: is not JSON"),
        ('{"a": 1, "a": 2, "b": "x", "y": 0}', "was specified twice"),
        (b'{"a": 1, "b": "\xff", "y": 0}', "line 31: is not UTF-8"),
    ],
)  # fmt: skip
def test_errors_beyond_the_beginning(file, line, message):
    with pytest.raises(DataError, match=rf"t\.jsonl.*{message}"):
        parts(file(*[ROW] * 29, "", line, ROW))


def test_columns_that_are_left_out_may_hold_anything(file):
    rows = [{**ROW, "c": [k, {"d": k}] if k % 2 else k} for k in range(40)]
    path = file(*rows, {**ROW, "new": 1})
    for options in ({"drop": ["c"]}, {"features": ["a", "b"]}):
        assert column(parts(path, **options)).to_pylist() == [1.0] * 41


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([ROW, {**ROW, "a": [1, 2]}], r"line 2, column 'a': \[1, 2\] is a list or object, .*: leave the column out"),
        ([ROW, {**ROW, "c": {"d": 1}}], "line 2, column 'c': {\"d\": 1} is a list or object"),
        ([ROW, {**ROW, "a": "x"}], "line 2, column 'a': \"x\" is not among whole numbers, as the values before it are"),
        ([ROW, "{", ROW], "line 2: is not JSON"),
        ([b'{"\xff": 1, "y": 0}'], "line 1: is not UTF-8"),
        (["[" * 100_000], "line 1: is not JSON"),
        ([""], "is empty"),
    ],
)  # fmt: skip
def test_errors_at_the_beginning(file, lines, message):
    for read_all in (parts, read):
        with pytest.raises(DataError, match=rf"t\.jsonl.*{message}"):
            read_all(file(*lines))


def test_long_lines(file, monkeypatch):
    monkeypatch.setattr("sgdone.readers.formats.json_lines._PIECE", 64)
    path = file(*[{**ROW, "b": "x" * 1000}] * 3)
    assert column(parts(path), "b").to_pylist() == ["x" * 1000] * 3


@pytest.mark.slow
def test_one_line_with_many_keys(file, monkeypatch):
    """The other lines lack its keys: Arrow makes tables of few of them at a time."""
    monkeypatch.setattr(json_lines, "CELLS", 2000)
    monkeypatch.setattr(text_blocks, "_LONGEST_TIMES_LINES", 2**14)
    monkeypatch.setattr(text_blocks, "BLOCK", 2**23)
    monkeypatch.setattr(text_blocks, "HEAD", 2**26)
    made, arrow_read = [], json_lines.arrow_read

    def counted(*arguments):
        table = arrow_read(*arguments)
        made.append(table.num_rows * table.num_columns)
        return table

    monkeypatch.setattr(json_lines, "arrow_read", counted)
    lines = [{"a": row, "y": row % 2} for row in range(500)]
    lines.insert(300, {f"k{key}": key for key in range(300)} | {"y": 1})
    path = file(*lines)
    table = pa.concat_tables([part.X for part in parts(path)])
    assert table.shape == (501, 301)
    assert table["k299"].to_pylist() == [None] * 300 + [299.0] + [None] * 200
    assert read(path).X.equals(table)
    assert max(made) <= 2000


@pytest.mark.parametrize("text", ["null\n", '\n null\n{"a": 1, "y": 0}\n', '{"a": 1, "y": 0}\nnull\n'])
def test_a_line_that_is_null_is_named(tmp_path, text):
    """Arrow's reader ends the process."""
    (tmp_path / "t.jsonl").write_text(text)
    line = 1 + text[: text.index("null")].count("\n")
    with pytest.raises(DataError, match=rf"t\.jsonl, line {line}: "):
        parts(tmp_path / "t.jsonl", label="y")
