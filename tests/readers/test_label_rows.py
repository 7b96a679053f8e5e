"""Rows without a label, and labels that are conditions on a column."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdone.readers.column_choice import LabelCondition
from sgdone.readers.reading import read
from sgdone.readers.table import DataError

TABLE = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "w": [1.0, 2.0, 3.0, 4.0], "delay": [20.0, None, 15.0, -3.0]})


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"flights.{request.param}"
    if request.param == "parquet":
        pq.write_table(TABLE, path)
    else:
        path.write_text("x,w,delay\n1,1,20\n2,2,\n3,3,15\n4,4,-3\n")
    return path


def test_rows_without_a_label_are_skipped_on_request(file):
    with pytest.raises(DataError, match="missing label: drop the row"):
        read(file, label="delay")
    table = read(file, label="delay", weight="w", skip_unlabelled=True)
    assert table.y.tolist() == [20, 15, -3]
    assert table.X.to_pydict() == {"x": [1.0, 3.0, 4.0]}
    assert table.weights.tolist() == [1, 3, 4]
    assert table.labelled.tolist() == [0, 2, 3]
    assert table.unlabelled == 1


def test_rows_to_predict_are_never_skipped(file):
    table = read(file, label="delay", require_label=False)
    assert table.y is None
    assert table.X.num_rows == 4


def test_a_condition(file):
    table = read(file, label="delay > 15", skip_unlabelled=True)
    assert table.y.dtype == bool
    assert table.y.tolist() == [True, False, False]
    assert table.label_name == "delay > 15"
    assert table.feature_names == ["x", "w"]
    assert read(file, label="delay<=15", skip_unlabelled=True).y.tolist() == [False, True, True]


def test_blank_labels_and_files_without_any(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,y\n1,a\n2," "\n3,b\n')
    assert read(path, skip_unlabelled=True).y.tolist() == ["a", "b"]
    path.write_text("x,y\n1,\n2,\n")
    with pytest.raises(DataError, match="missing label"):
        read(path, skip_unlabelled=True)


def test_a_condition_on_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,job\n1,a\n2,b\n")
    with pytest.raises(DataError, match=r"column 'job': job > 3 compares numbers, and the type of the column is"):
        read(path, label="job > 3")


def test_errors_name_the_line_of_the_file(tmp_path):
    """Though rows before it were skipped."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,\n2,1\n3,inf\n")
    with pytest.raises(DataError, match="line 4, column 'y': infinite value"):
        read(path, skip_unlabelled=True)


@pytest.mark.parametrize("text", ["delay", "delay >", "> 3", "other > 3", "delay > x", "delay = 3", "delay > 1.2.3"])
def test_what_is_no_condition(text):
    assert LabelCondition.parse(text, ["delay"]) is None


def test_a_column_with_the_name_of_a_condition():
    assert LabelCondition.parse("a > 3", ["a > 3", "a"]) is None
    assert LabelCondition.parse("a > b > 3", ["a > b"]) == LabelCondition("a > b", ">", 3.0)
    assert LabelCondition("a", ">=", 1.5).holds(np.array([1.0, 1.5])).tolist() == [False, True]
