"""CSV: values, columns, and errors that name the line."""

import gzip
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sgdone.machine import memory
from sgdone.readers.reading import read
from sgdone.readers.table import DataError


@pytest.fixture
def file(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_round_trip_is_exact(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    frame.assign(label=np.arange(len(X))).to_csv(path, index=False)
    table = read(path)
    np.testing.assert_array_equal(np.asarray(table.X), X)
    assert set(table.X.schema.types) == {pa.float64()}
    np.testing.assert_array_equal(table.y, np.arange(len(X)))


@pytest.mark.parametrize(
    "text",
    [
        "a,b,label\r\n1,2,0\r\n3,4,1\r\n",
        "a,b,label\n1,2,0\n3,4,1",
        "\n\na,b,label\n\n1,2,0\n\n\n3,4,1\n\n",
        "\ufeffa,b,label\n1,2,0\n3,4,1\n",
        '"a","b","label"\n"1","2","0"\n"3","4","1"\n',
        "a , b, label\n 1, 2 ,0\n+3,4.0,+1\n",
        "a,b,label\n1,2e0,0\n3.,.4e1,1\n",
        "label,a,b\n0,1,2\n1,3,4\n",
        "a,LABEL,b\n1,0,2\n3,1,4\n",
    ],
    ids=["CRLF", "no last newline", "blank lines", "BOM", "quotes", "spaces", "exponents", "first", "case"],
)
def test_forms_of_the_same_table(file, text):
    table = read(file(text))
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(table.y, [0, 1])
    assert table.feature_names == ["a", "b"]


def test_names_in_unicode_and_quotes(file):
    table = read(file('größe,"weight, kg",名前,target\n1,2,3,0\n'))
    assert table.feature_names == ["größe", "weight, kg", "名前"]


@pytest.mark.parametrize(
    ("cells", "expected", "kind"),
    [
        (["1", "2.5", "-3e2"], [1.0, 2.5, -300.0], "double"),
        (["1", "?", "NA"], [1.0, None, None], "double"),
        (["7", '""', '" "'], [7.0, None, None], "double"),
        (["+1", " 2 ", "null"], [1.0, 2.0, None], "double"),
        (["0", "0.5", "-0"], [0.0, 0.5, 0.0], "double"),
        (["9007199254740993", "1", "2"], [2.0**53, 1.0, 2.0], "double"),
        (["02134", "94110", "NA"], ["02134", "94110", None], "large_string"),
        (["-01", "2", "3"], ["-01", "2", "3"], "large_string"),
        (["true", "False", "?"], [True, False, None], "bool"),
        (["TRUE", "FALSE", ""], [True, False, None], "bool"),
        (["true", "false", "1"], ["true", "false", "1"], "large_string"),
        (["2020-01-31", "NA", "2020-02-01"], [datetime(2020, 1, 31), None, datetime(2020, 2, 1)], "timestamp[us]"),
        (["2020-01-31T10:00:00+02:00", "2020-01-31T10:00:00Z", "?"],
         ["2020-01-31T10:00:00+02:00", "2020-01-31T10:00:00Z", "?"], "large_string"),
        (["Paris", "NA", '"NA"'], ["Paris", None, "NA"], "large_string"),
        (["?", "?", "NA"], ["?", "?", None], "large_string"),
        (["1_000", "2", "3"], ["1_000", "2", "3"], "large_string"),
        (['"3,5"', "2", "3"], ["3,5", "2", "3"], "large_string"),
    ],
)  # fmt: skip
def test_all_cells_of_a_column_decide_its_type(file, cells, expected, kind):
    column = read(file("a,label\n" + "".join(f"{cell},0\n" for cell in cells))).X.column("a")
    assert (column.to_pylist(), str(column.type)) == (expected, kind)


def test_columns_that_stay_strings(file):
    path = file("a,b,label\n1,2,0\n1.0,3,1\n")
    assert read(path, as_strings=["a"]).X.to_pydict() == {"a": ["1", "1.0"], "b": [2.0, 3.0]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0", "1"], np.array([0, 1])),
        (["-1", "1.5"], np.array([-1, 1.5])),
        (["true", "False"], np.array([True, False])),
        (["cat", "dog"], np.array(["cat", "dog"])),
        (["größer", '"a,b"'], np.array(["größer", "a,b"])),
        (["1", "x"], np.array(["1", "x"])),
        (['"NA"', "x"], np.array(["NA", "x"])),
        (["007", "7"], np.array(["007", "7"])),
        (["-01", "12"], np.array(["-01", "12"])),
        (["00.5", "07"], np.array([0.5, 7.0])),
        (["+1", "-1"], np.array([1.0, -1.0])),
        (["9007199254740993", "9007199254740992"], np.array([2**53 + 1, 2**53])),
        (["+9007199254740993", "9007199254740992"], np.array(["+9007199254740993", "9007199254740992"])),
        (["18446744073709551617", "18446744073709551616"], np.array(["18446744073709551617", "18446744073709551616"])),
        (["100000000000000000000", "1"], np.array([1e20, 1.0])),
        (["2020-01-31", "2020-02-01"], np.array(["2020-01-31", "2020-02-01"])),
        (["12:30:00", "13:00:00"], np.array(["12:30:00", "13:00:00"])),
        (["1" * 400, "1"], np.array(["1" * 400, "1"])),
    ],
)
def test_labels_as_written(file, values, expected):
    table = read(file("a,label\n1," + values[0] + "\n2," + values[1] + "\n"))
    np.testing.assert_array_equal(table.y, expected)
    assert table.y.dtype.kind == expected.dtype.kind


@pytest.mark.slow
def test_wide(file):
    n = 30_000
    text = ",".join(f"f{j}" for j in range(n)) + ",y\n" + (",".join(["0.123456789"] * n) + ",1\n") * 4
    table = read(file(text))
    assert table.X.shape == (4, n)
    assert (np.asarray(table.X) == 0.123456789).all()


@pytest.mark.parametrize(("last", "kind"), [("2.5", "double"), ("07", "large_string")])
def test_types_change_far_into_the_file(file, last, kind):
    rows = ["1,0"] * 400_000 + [f"{last},1"]
    table = read(file("a,label\n" + "\n".join(rows)))
    assert str(table.X.schema.types[0]) == kind
    assert table.X.shape == (400_001, 1)


def test_label_by_name(file):
    path = file("NV,PI,HG\n0,13,1\n")
    table = read(path, label="HG")
    assert (table.label_name, table.feature_names) == ("HG", ["NV", "PI"])
    with pytest.raises(
        DataError, match=r"no column is named 'HGG' \(did you mean 'HG'\?\): the columns are 'NV', 'PI', 'HG'"
    ):
        read(path, label="HGG")
    with pytest.raises(
        DataError, match="named label, target, y or class: choose the label with label=, one of 'NV', 'PI', 'HG'"
    ):
        read(path)


def test_long_lists_of_columns_are_shortened(file):
    names = [f"f{j}" for j in range(1020)]
    with pytest.raises(DataError, match=r"'f19' and 1,000 more$"):
        read(file(",".join(names) + "\n" + ",".join(["1"] * 1020)))


def test_ambiguous_label(file):
    path = file("a,y,class\n1,2,3\n")
    with pytest.raises(DataError, match=r"several columns may be the label \('y', 'class'\): choose one with label="):
        read(path)
    assert read(path, label="y").feature_names == ["a", "class"]
    assert read(path, features=["a", "y"]).label_name == "class"


def test_without_labels(file):
    path = file("a,b\n1,2\n")
    table = read(path, require_label=False)
    assert (table.y, table.label_name, table.feature_names) == (None, None, ["a", "b"])
    assert read(path, label="passed", require_label=False).y is None
    np.testing.assert_array_equal(read(path, label="b", require_label=False).y, [2])


def test_features_by_name_in_their_order(file):
    path = file("id,b,a,label\nx17,2,1,0\n")
    table = read(path, features=["a", "b"])
    np.testing.assert_array_equal(table.X, [[1, 2]])
    np.testing.assert_array_equal(table.y, [0])
    with pytest.raises(DataError, match=r"2 features not found \('aa', 'zz'\) \(did you mean 'a'\?\): the columns"):
        read(path, features=["aa", "zz"])
    with pytest.raises(DataError, match="the label 'a' is also listed in features="):
        read(path, features=["a", "b"], label="a")
    with pytest.raises(DataError, match="names a column twice"):
        read(path, features=["a", "a"])


def test_number_of_features(file):
    path = file("a,b,label\n1,2,0\n")
    assert read(path, n_features=2).X.shape == (1, 2)
    with pytest.raises(DataError, match=r"found 2 feature columns \('a', 'b'\), expected 3"):
        read(path, n_features=3)
    with pytest.raises(DataError, match="there is no feature column besides the label 'y'"):
        read(file("y\n1\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n7\n", r"line 2: found 1 field, but the header has 2 columns: correct the line or remove it"),
        ("a,b,y\n1,2,0\n1,inf,0\n", r"line 3, column 'b': infinite value \(inf\): clip or drop it"),
        ("a,b,y\n1,2,0\n1,-1e999,0\n", r"line 3, column 'b': infinite value \(-inf\)"),
        ("a,b,y\n1,2,0\n1,2,\n", r"line 3, column 'y': missing label: drop the row"),
        ("a,b,y\n1,2,u\n1,2,NA\n", r"line 3, column 'y': missing label"),
        ('a,b,y\n1,2,u\n1,2,""\n', r"line 3, column 'y': missing label"),
        ("a,b,y\n1,2,0.5\n1,2,inf\n", r"line 3, column 'y': infinite value"),
        (b"a,b,y\n1,2,\xff\n", r"line 2, column 'y': is not UTF-8: convert the file"),
        (b"a,\xe9,y\n1,2,1\n", r"line 1: is not UTF-8"),
        ("a,b,y\r1,2,1\r", r"t.csv: lines end in a carriage return alone: end them in a line feed"),
        ("a,b,y\n", r"t.csv: has column names but no rows"),
        ("a,b,y", r"t.csv: has column names but no rows"),
        ("a,b,y\n\n\n", r"t.csv: has column names but no rows"),
        (
            "\n1,2.5,0\n1,2,0\n",
            r"line 2: contains numbers \(1,…\) instead of column names: add a header line, or read it with header=",
        ),
        ("a,,y\n1,2,0\n", r"column 2 has no name: name it, or drop it \(pandas: index=False\)"),
        ("a,a,y\n1,2,0\n", r"two columns are named 'a'"),
        ('a,"b,y\n1,2,0\n', r'line 1: a quote \("\) is not closed'),
    ],
)
def test_errors_say_where(file, text, message):
    path = file(text)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("rows", ["1,2,0\n" * 200_000, "1" * 3_000_000], ids=["rows", "one line"])
def test_a_small_file_of_many_rows_stops_in_time(tmp_path, monkeypatch, rows):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(("a,b,y\n" + rows).encode()))
    monkeypatch.setattr(memory, "available_memory", lambda: 2_000_000)
    message = r"is too large: [\d,]+ lines? so far need about [\d.]+ MB of memory, but 2 MB are available. Use fewer"
    with pytest.raises(DataError, match=message):
        read(tmp_path / "t.csv.gz")


def test_a_header_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("sgdone.readers.formats.csv.cells._LONGEST_HEADER", 1000)
    (tmp_path / "t.csv").write_text("a" * 1001)
    with pytest.raises(DataError, match="line 1: is longer than 0"):
        read(tmp_path / "t.csv")


def test_memory_that_runs_out_is_a_data_error(file, monkeypatch):
    def fail(*_args, **_kwargs):
        raise pa.ArrowMemoryError("malloc of size 131136 failed")

    monkeypatch.setattr("sgdone.readers.formats.csv.cells.arrow_csv.read_csv", fail)
    message = (
        r"t\.csv: does not fit into the .* of memory that are available \(malloc of size 131136 failed\): use fewer"
    )
    with pytest.raises(DataError, match=message):
        read(file("a,y\n1,2\n"))


def test_names_that_are_numbers(file):
    assert read(file("0,1,2\n5,6,1\n"), label="2").feature_names == ["0", "1"]
    assert read(file("1,2,3\n5,6,1\n"), label="1").feature_names == ["2", "3"]


def test_long_names_are_not_printed_whole(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(f"{'x' * 5000},label\n1,0\n2,1\n")
    with pytest.raises(DataError, match="found 1 feature column") as caught:
        read(path, n_features=3)
    assert len(str(caught.value)) < 1000


def test_columns_to_drop_and_weights(file):
    path = file('id,a,"b, in cm",w,y\nk,1,2,0.5,0\nm,3,4,2,1\n')
    table = read(path, drop=["id, a"], weight="w")
    assert (table.feature_names, table.dropped) == (["b, in cm"], ["id", "a"])
    np.testing.assert_array_equal(table.weights, [0.5, 2])
    assert read(path, drop=["b, in cm", "id"]).feature_names == ["a", "w"]
    with pytest.raises(DataError, match=r"no column is named 'aa' \(did you mean 'a'\?\)"):
        read(path, drop=["aa"])
    with pytest.raises(DataError, match="the label 'y' is also listed in drop="):
        read(path, drop=["y"], label="y")
    with pytest.raises(DataError, match="the column of weights 'y' is the label"):
        read(path, weight="y")
    assert read(path, weight="nowhere", require_label=False).weights is None


@pytest.mark.parametrize(
    ("cell", "message"),
    [("-1", "line 3, column 'w': the weight -1.0 is not"), ("NA", "line 3, column 'w': missing weight"), ("x", "num")],
)
def test_weights_are_numbers_of_0_or_more(file, cell, message):
    with pytest.raises(DataError, match=message):
        read(file(f"a,w,y\n1,1,0\n2,{cell},1\n"), weight="w")


def test_without_a_header(file):
    path = file('\n1,"two\nlines",0\n3,four,1\n', "t.data")
    table = read(path, header=False, label="3")
    assert (table.feature_names, table.label_name) == (["x1", "x2"], "x3")
    assert table.X.to_pydict() == {"x1": [1.0, 3.0], "x2": ["two\nlines", "four"]}
    table = read(path, header=False, label="x3", drop=["1"], as_strings=["2"])
    assert (table.feature_names, table.dropped) == (["x2"], ["x1"])
    with pytest.raises(DataError, match="the columns are 'x1', 'x2', 'x3', by their order"):
        read(path, header=False, label="4")
    with pytest.raises(DataError, match="line 3: found 1 field, but the first line has 2 columns"):
        read(file("1,2\n\n3\n"), header=False, label="2")
    with pytest.raises(DataError, match=r"line 2, column 'x1': infinite"):
        read(file("1,2\ninf,3\n"), header=False, label="2")


@pytest.mark.parametrize("separator", ["|", " ", ":"])
def test_another_separator(file, separator):
    path = file("a,b|label\n1|0\n2,5|1\n".replace("|", separator), "t.data")
    table = read(path, separator=separator)
    assert table.X.to_pydict() == {"a,b": ["1", "2,5"]}
    np.testing.assert_array_equal(table.y, [0, 1])


def test_a_first_column_without_a_name_is_named_as_in_pandas(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text('"","a","y"\n"1",2.5,0\n"2",3.5,1\n')
    table = read(path)
    assert table.feature_names == ["Unnamed: 0", "a"]
    assert table.X.column("Unnamed: 0").to_pylist() == [1.0, 2.0]
