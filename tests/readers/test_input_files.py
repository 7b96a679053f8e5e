"""Files from paths, patterns, folders and addresses, in an order that does not change."""

import gzip
import os
import re
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from sgdone.readers.byte_streams import opened
from sgdone.readers.input_files import InputFile, input_files, natural_order, total_bytes
from sgdone.readers.locations import RemoteFile
from sgdone.readers.reading import read, read_parts
from sgdone.readers.table import DataError, ReadOptions


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b/day-10.csv",
        "b/day-9.csv",
        "a/x.csv.gz",
        "c.tsv",
        "README.md",
        "_SUCCESS",
        ".c.csv.crc",
        "_x/t.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        content = f"a,y\n{len(name)},0\n".encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return tmp_path


def names(given, folder):
    return [os.path.relpath(file.path, folder) for file in input_files(given)]


def test_a_folder(folder):
    assert names(folder, folder) == ["a/x.csv.gz", "b/day-9.csv", "b/day-10.csv", "c.tsv"]
    assert names(str(folder), folder) == names(folder, folder)
    assert names(f"file://{folder}", folder) == names(folder, folder)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*/*.csv", ["b/day-9.csv", "b/day-10.csv"]),
        ("**/*.csv*", ["a/x.csv.gz", "b/day-9.csv", "b/day-10.csv"]),
        ("b/day-?.csv", ["b/day-9.csv"]),
        ("[ab]", ["a/x.csv.gz", "b/day-9.csv", "b/day-10.csv"]),
        ("_S*", ["_SUCCESS"]),
        ("_x/*.csv", ["_x/t.csv"]),
        ("*", ["README.md", "c.tsv"]),
    ],
)
def test_patterns(folder, pattern, expected):
    assert names(folder / pattern, folder) == expected


def test_a_name_that_looks_like_a_pattern(tmp_path):
    (tmp_path / "t[1].csv").write_text("a,y\n1,0\n")
    assert names(tmp_path / "t[1].csv", tmp_path) == names(f"file://{tmp_path}/t%5B1%5D.csv", tmp_path) == ["t[1].csv"]


def test_several(folder):
    given = [folder / "c.tsv", folder / "b", "-"]
    assert names(given, folder)[:-1] == ["c.tsv", "b/day-9.csv", "b/day-10.csv"]
    assert input_files(given)[-1] == InputFile(Path("-"))
    assert total_bytes(input_files(given)) is None
    assert total_bytes(input_files(given[:2])) == (folder / "c.tsv").stat().st_size + 2 * len("a,y\n10,0\n")


@pytest.mark.parametrize(
    ("given", "again"),
    [
        (["c.tsv", "c.tsv"], "c.tsv: is given several times"),
        (["c.tsv", "b/../c.tsv"], "b/../c.tsv: is the same file as .*c.tsv"),
        (["c.tsv", "link.tsv"], "link.tsv: is the same file as .*c.tsv"),
        (["c.tsv", "*.tsv"], "c.tsv: is given several times; so are 1 more"),
        (["c.tsv", "-", "-"], "standard input: is given several times"),
    ],
)
def test_a_file_is_read_once(folder, monkeypatch, given, again):
    (folder / "link.tsv").symlink_to("c.tsv")
    monkeypatch.chdir(folder)
    with pytest.warns(UserWarning, match=f"{again}: its rows are read once. To count rows several times, use weights"):
        found = input_files(given)
    assert [str(file.path) for file in found] == list(dict.fromkeys(["c.tsv", *given[2:]]))
    with pytest.warns(UserWarning, match="is the same file as c.tsv"):
        assert len(input_files(["c.tsv", folder / "c.tsv"])) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ["a/x.csv", "b/day-9.csv", "b/day-10.csv", "c.tsv"]),
        ("**/*.csv", ["a/x.csv", "b/day-9.csv", "b/day-10.csv"]),
        ("[ab]/**/**/day-*", ["a/up/b/day-9.csv", "a/up/b/day-10.csv"]),
    ],
)
def test_links_to_a_folder_above(folder, given, expected):
    """Four links, each of which could be followed after each other."""
    for link in ("a/up", "a/upper", "b/up", "b/upper"):
        (folder / link).symlink_to(folder, target_is_directory=True)
    (folder / "a" / "x.csv.gz").rename(folder / "a" / "x.csv")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert names(folder / given, folder) == expected
    assert re.search("a/up.*: is the same folder as .*: its files are read once", str(caught[0].message))
    assert len(caught) <= 2


def test_sizes_and_times(folder):
    (file,) = input_files(folder / "c.tsv")
    status = (folder / "c.tsv").stat()
    assert (file.size, file.modified) == (status.st_size, status.st_mtime_ns)


def test_files_without_extensions(tmp_path):
    for number in (10, 2):
        (tmp_path / f"part-{number:05}").write_text(f"a,y\n{number},0\n")
    tables = read_parts(input_files(tmp_path), ReadOptions(tmp_path))
    assert [table.X["a"].to_pylist() for table in tables] == [[2.0], [10.0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("b/*.parquet", r"b/\*\.parquet: no file matches: the folder .*b has day-9\.csv"),
        ("bb/*.csv", r"no file matches: the folder .*bb does not exist; did you mean b\?"),
        ("_x/empty", "empty: is a folder without data files; names that begin with"),
    ],
)
def test_nothing_found(folder, given, message):
    (folder / "_x" / "empty").mkdir()
    with pytest.raises(DataError, match=message):
        input_files(folder / given)
    with pytest.raises(DataError, match="no data files were given"):
        input_files([])


def test_a_name_that_is_too_long(tmp_path):
    for function in (input_files, read):
        with pytest.raises(DataError, match=r"x: cannot be read \(File name too long\)"):
            function(tmp_path / ("x" * 300))


def test_two_formats_in_a_folder(folder):
    (folder / "b" / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        DataError, match=r"several formats: .*x\.csv\.gz is csv, and .*t\.parquet is parquet. Give a pat"
    ):
        input_files(folder)


def test_natural_order():
    assert sorted(["p-10", "p-9", "p-09", "p", "p/1", "q"], key=natural_order) == [
        "p",
        "p/1",
        "p-09",
        "p-9",
        "p-10",
        "q",
    ]


@pytest.mark.parametrize("address", ["https://example.org/t.csv", "http://example.org/t.csv", "ftp://a/t.csv"])
def test_addresses_that_cannot_be_read(address):
    for function in (input_files, read):
        with pytest.raises(
            DataError, match=rf"{address}: addresses with \w+: cannot be read: download the file first\."
        ):
            function(address)


@pytest.fixture
def remote(folder, monkeypatch):
    """A file system at s3://bucket/ whose files are in a folder."""

    class FileSystem:
        @staticmethod
        def from_uri(address):
            plain = address.partition("?")[0]
            if not plain.startswith("s3://bucket"):
                raise pa.ArrowInvalid("no such bucket")
            return fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()), plain.removeprefix("s3://bucket").strip("/")

    monkeypatch.setattr(fs, "FileSystem", FileSystem)
    return folder


def addresses(given):
    return [str(file.path) for file in input_files(given)]


@pytest.mark.parametrize("options", ["", "?region=eu-west-1"])
def test_remote_files(remote, options):
    days = [f"s3://bucket/b/day-{day}.csv{options}" for day in (9, 10)]
    everything = [f"s3://bucket/a/x.csv.gz{options}", *days, f"s3://bucket/c.tsv{options}"]
    assert addresses(f"s3://bucket/{options}") == everything
    assert addresses(f"s3://bucket/b{options}") == addresses(f"s3://bucket/b/{options}") == days
    assert addresses(f"s3://bucket/*/*.csv{options}") == addresses(f"s3://bucket/**/day*{options}") == days
    assert addresses(f"s3://bucket/b/day-?.csv{options}") == days[:1]
    assert addresses([f"s3://bucket/c.tsv{options}"]) == everything[-1:]
    (file,) = input_files(f"s3://bucket/c.tsv{options}")
    assert (file.size, file.modified) == (len("a,y\n5,0\n"), (remote / "c.tsv").stat().st_mtime_ns)
    files = input_files(f"s3://bucket/{options}")
    tables = list(read_parts(files, ReadOptions(files[0].path)))
    assert [table.X["a"].to_pylist() for table in tables] == [[10.0], [11.0], [12.0], [5.0]]
    assert [table.name for table in tables] == everything


def test_remote_files_read_whole(remote):
    assert read("s3://bucket/a/x.csv.gz").X.to_pydict() == {"a": [10.0]}
    with (remote / "t.parquet").open("wb") as file:
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), file)
    assert read("s3://bucket/t.parquet").X.to_pydict() == {"a": [1.0, 2.0]}
    counted = []
    files = input_files("s3://bucket/t.parquet")
    (table,) = read_parts(files, ReadOptions(files[0].path, on_bytes=counted.append))
    assert (table.y.tolist(), sum(counted)) == ([0, 1], files[0].size)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://bucket/nothing.csv", r"s3://bucket/nothing\.csv: no such file or folder"),
        ("s3://bucket/d/*.csv", r"s3://bucket/d/\*\.csv: the folder of the pattern does not exist"),
        ("s3://bucket/b/*.tsv", r"s3://bucket/b/\*\.tsv: no file matches; s3://bucket/b/ has 2 files"),
        ("s3://other/t.csv", r"s3://other/t\.csv: cannot be listed \(no such bucket\)"),
    ],
)
@pytest.mark.usefixtures("remote")
def test_remote_files_that_are_not_there(address, message):
    with pytest.raises(DataError, match=message):
        input_files(address)


@pytest.mark.usefixtures("remote")
def test_a_remote_file_that_cannot_be_opened():
    with pytest.raises(DataError, match=r"s3://other/t\.csv: cannot be read \(no such bucket\)"):
        read("s3://other/t.csv")
    with pytest.raises(DataError, match=r"s3://bucket/t\.csv: no such file"), opened(RemoteFile("s3://bucket/t.csv")):
        pass
