"""Files that are damaged, change or cannot be kept: one error that names file and place, and nothing is left behind."""

import errno
import gzip
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_problems import bits, fitted, from_batches, from_files, numbers, table_of, write

import sgdone
from full_disk import files_of_at_most
from sgdone import LinearClassifier
from sgdone.machine.memory import NotEnoughMemoryError
from sgdone.readers import table_from_arrow
from sgdone.readers.row_input import FileInput
from sgdone.readers.table import DataError
from sgdone.rows import block_cache
from sgdone.stopping import MaxPasses
from tiers import fast_first, slow

pytestmark = pytest.mark.usefixtures("own_cache_folder")


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before


@pytest.fixture
def paths(tmp_path):
    return write(table_of(*numbers()), tmp_path / "rows.parquet", (8000,))


def fit_with_checkpoint(source, folder, **options):
    return fitted(source, fit={"checkpoint": folder / "state", "every": 0, **options})


def test_a_damaged_row_group_of_a_parquet_file(tmp_path):
    (path,) = write(table_of(*numbers()), tmp_path / "rows.parquet", n_rows=1000, compression="zstd")
    expected = fitted(from_files(path))
    content = path.read_bytes()
    group = pq.read_metadata(path).row_group(17)
    place = group.column(0).data_page_offset
    path.write_bytes(content[:place] + bytes(200) + content[place + 200 :])
    with pytest.raises(DataError, match=r"rows-0\.parquet.*(row group 1[678]|rows? 1[678],\d{3})"):
        fit_with_checkpoint(from_files(path), tmp_path)
    assert (tmp_path / "state").exists()
    assert not list(tmp_path.glob(".*"))
    path.write_bytes(content)
    assert bits(fit_with_checkpoint(from_files(path), tmp_path)) == bits(expected)


def test_a_csv_file_that_ends_in_the_middle_of_a_row(tmp_path):
    paths = write(table_of(*numbers()), tmp_path / "rows.csv", (8000,))
    content = paths[1].read_bytes()
    paths[1].write_bytes(content[: content.rindex(b",", 0, -20) - 3])
    with pytest.raises(DataError, match=r"rows-1\.csv.*line 12,?00\d"):
        fitted(from_files(paths))


def test_a_compressed_file_that_is_cut_short(tmp_path):
    (path,) = write(table_of(*numbers()), tmp_path / "rows.csv")
    content = gzip.compress(path.read_bytes())
    short = tmp_path / "rows.csv.gz"
    short.write_bytes(content[: len(content) * 9 // 10])
    with pytest.raises(DataError, match=r"rows\.csv\.gz.*(cut short|incomplete|truncated)"):
        fitted(from_files(short))


def change_after(monkeypatch, path, n_tables, change):
    """Change a file while it is read, after some tables."""
    tables = FileInput.tables

    def changing(self, **options):
        for number, table in enumerate(tables(self, **options)):
            if number == n_tables:
                change(path)
            yield table

    monkeypatch.setattr(FileInput, "tables", changing)


def appended(path):
    with path.open("ab") as stream:
        stream.write(b"1,2,3,4,1\n")


def touched(path):
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("change", [appended, touched, os.remove])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, change):
    paths = write(table_of(*numbers(40_000)), tmp_path / "rows.csv", (20_000,))
    change_after(monkeypatch, paths[0], 1, change)
    with pytest.raises(DataError, match=r"rows-0\.csv: has (changed|gone) since reading began"):
        fitted(from_files(paths))


def test_a_file_that_changes_between_two_fits_is_an_error(paths):
    source = from_files(paths)
    fitted(source)
    appended(paths[1])
    with pytest.raises(DataError, match=r"rows-1\.parquet: has changed since reading began .*start again"):
        fitted(source)


@pytest.mark.parametrize(
    "error", fast_first(1, [MemoryError(), OSError(errno.EIO, "Input/output error"), RuntimeError("a bug")])
)
@pytest.mark.parametrize("at", fast_first(1, [19, 0, 5]))
def test_a_reader_that_fails(paths, tmp_path, monkeypatch, error, at):
    """In the thread that reads ahead, or before there is one."""
    expected = fitted(from_files(paths))
    tables = FileInput.tables

    def failing(self, **options):
        for number, table in enumerate(tables(self, **options)):
            if number == at:
                raise error
            yield table

    monkeypatch.setattr(table_from_arrow, "PART_ROWS", 1000)
    with monkeypatch.context() as broken:
        broken.setattr(FileInput, "tables", failing)
        with pytest.raises(type(error)) as caught:
            fit_with_checkpoint(from_files(paths), tmp_path)
    if isinstance(error, MemoryError):
        assert isinstance(caught.value, NotEnoughMemoryError)
        assert "reduce max_memory, which is 2,000,000 bytes" in str(caught.value)
        assert "parquet" not in str(caught.value)
    else:
        assert caught.value is error
    if (tmp_path / "state").exists():
        assert bits(fit_with_checkpoint(from_files(paths), tmp_path, resume=True)) == bits(expected)
    else:
        assert at < 19


@pytest.mark.parametrize("method", ["partial_fit", "predict"])
def test_memory_that_does_not_suffice_elsewhere(paths, monkeypatch, method):
    model = fitted(from_files(paths))

    def failing(self, **options):
        raise MemoryError

    monkeypatch.setattr(FileInput, "tables", failing)
    with pytest.raises(NotEnoughMemoryError, match="reduce max_memory, which is 2,000,000 bytes"):
        list(getattr(model, method)(from_files(paths)))


def test_a_disk_that_is_full_while_the_cache_is_written(paths, tmp_path, own_cache_folder):
    with (
        files_of_at_most(300_000),
        pytest.raises(OSError, match=r"the cache in .* cannot be written \(File too large\)"),
    ):
        fitted(from_files(paths))
    cache = tmp_path / "cache"
    with files_of_at_most(300_000), pytest.raises(OSError, match="free some space, or give another folder with cache="):
        fitted(from_files(paths, cache=cache))
    assert not list(cache.iterdir())
    fitted(from_files(paths, cache=cache))
    content = (cache / "rows.arrow").read_bytes()
    appended(paths[1])
    with pytest.raises(OSError, match="cannot be used"):
        fitted(from_files(paths, cache=cache))
    assert (cache / "rows.arrow").read_bytes() == content


def test_no_space_for_the_cache_is_found_before_it_is_written(paths, monkeypatch):
    usage = block_cache.shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(block_cache.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"the cache of the rows needs about .* MB in .*stop=MaxPasses\(1\)"):
        fitted(from_files(paths))
    assert fitted(from_files(paths), stop=MaxPasses(1)).verdict_.passes == 1


def test_a_fit_that_fails_leaves_the_model_as_it_was(paths, tmp_path):
    model = fitted(from_files(paths))
    before, names = model.coef_.copy(), list(model.feature_names_in_)
    broken = write(table_of(*numbers()), tmp_path / "broken.csv")[0]
    broken.write_bytes(broken.read_bytes()[:-3])
    for call in (model.fit, model.partial_fit):
        with pytest.raises(DataError, match="broken-0"):
            call(from_files(broken))
        np.testing.assert_array_equal(model.coef_, before)
        assert list(model.feature_names_in_) == names


@slow
def test_an_error_of_the_program_that_makes_batches_is_its_own(tmp_path):
    X, y = numbers()

    def rows(fails_at):
        for k in range(0, len(y), 500):
            if k == fails_at:
                raise KeyError("no such day")
            yield X[k : k + 500], y[k : k + 500]

    for fails_at in (0, 5000, 19_500):
        with pytest.raises(KeyError, match="no such day"):
            fitted(from_batches(rows(fails_at)))
        with pytest.raises(KeyError, match="no such day"):
            LinearClassifier().partial_fit(from_batches(rows(fails_at)))


def test_no_label_in_any_row(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": pa.nulls(2)}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet: no row has a label: give files with labels"):
        LinearClassifier().fit(sgdone.files(tmp_path / "t.parquet", label="y"))
