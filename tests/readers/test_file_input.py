"""Files as the rows of a fit: what is read, what is known of them, and that they must not change."""

import os

import numpy as np
import pytest

from sgdone import files
from sgdone.readers.table import DataError


@pytest.fixture
def folder(tmp_path):
    for day in range(3):
        rows = "".join(f"{day}.5,{k},{k % 2}\n" for k in range(10))
        (tmp_path / f"day-{day}.csv").write_text("a,w,y\n" + rows)
    return tmp_path


def test_all_files_are_one_table_that_can_be_read_again(folder):
    source = files(folder / "*.csv", label="y", weight="w")
    for _ in range(2):
        tables = list(source.tables())
        assert (
            np.concatenate([table.X.column("a").to_numpy() for table in tables]).tolist()
            == [0.5] * 10 + [1.5] * 10 + [2.5] * 10
        )
        assert np.concatenate([table.weights for table in tables]).tolist() == [*range(10)] * 3
    assert source.rereadable
    assert source.bytes_read == source.total_bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert repr(source).startswith(f"<files {folder / 'day-0.csv'}, ")


def test_labels_need_not_be_there_for_predictions(folder):
    (folder / "new.csv").write_text("a,w\n1,2\n")
    source = files(folder / "new.csv", label="y")
    (table,) = source.tables(labelled=False)
    assert table.y is None
    with pytest.raises(DataError, match=r"new\.csv"):
        list(source.tables())


def test_rows_without_labels_are_not_trained_on(folder):
    (folder / "day-1.csv").write_text("a,w,y\n1,1,\n2,1,1\n")
    tables = list(files(folder / "*.csv", label="y").tables())
    assert sum(table.X.shape[0] for table in tables) == 21


def test_the_identity_names_files_and_options(folder):
    one, same, other = (files(folder, label="y", drop=drop).identity() for drop in ([], [], ["a"]))
    assert one == same != other
    assert [file["name"] for file in one["files"]] == [str(folder / f"day-{day}.csv") for day in range(3)]
    os.utime(folder / "day-0.csv", ns=(1, 1))
    assert files(folder, label="y").identity() != one


@pytest.mark.parametrize("change", ["longer", "newer", "gone"])
def test_a_file_that_changes_is_an_error_before_and_after_reading(folder, change):
    source = files(folder, label="y")
    tables = source.tables()
    next(tables)
    path = folder / "day-0.csv"
    if change == "longer":
        path.write_text(path.read_text() + "1,1,1\n")
    elif change == "newer":
        os.utime(path, ns=(1, 1))
    else:
        path.unlink()
    message = r"day-0.csv: has (changed|gone) since reading began .*start again"
    with pytest.raises(DataError, match=message):
        list(tables)
    with pytest.raises(DataError, match=message):
        list(source.tables())


def test_arguments(folder):
    for name in ("columns", "drop", "as_strings"):
        with pytest.raises(TypeError, match="given as a string, 'a': give a list of names"):
            files(folder, **{name: "a"})
    for bad, message in (({"label": 3}, "name of a column; got 3"), ({"bits": 3.5}, "got 3.5"), ({"bits": "x"}, "'x'")):
        with pytest.raises((TypeError, ValueError), match=message):
            files(folder, **bad)
    with pytest.raises(ValueError, match="n_features must be a whole number, 0 or more; got -3"):
        files(folder, n_features=-3)
    assert files(folder, label="y", cache="there").cache.name == "there"
    assert not files("-", label="y").rereadable
