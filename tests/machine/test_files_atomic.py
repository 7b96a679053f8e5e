"""Atomic writes: a file is written completely or not at all."""

import os
import stat

import pytest

from full_disk import files_of_at_most
from sgdone.machine.atomic import remove_partial, write_atomically


def test_success(tmp_path):
    path = tmp_path / "model.json"
    with write_atomically(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".json"
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("exception", [RuntimeError, KeyboardInterrupt])
def test_failure_leaves_the_old_file(tmp_path, exception):
    path = tmp_path / "model.json"
    path.write_text("old")

    def stop(temporary):
        temporary.write_text("half")
        raise exception

    with pytest.raises(exception), write_atomically(path) as temporary:
        stop(temporary)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_ordinary_permissions(tmp_path):
    (tmp_path / "ordinary").touch()
    with write_atomically(str(tmp_path / "t")) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "t"
    path.write_text("old")
    path.chmod(0o640)
    with write_atomically(path) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    with write_atomically(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "new"


def test_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with write_atomically("t.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "t.csv").read_text() == "new"


def test_a_device_is_written_directly():
    with write_atomically(os.devnull) as temporary:
        assert str(temporary) == os.devnull


def test_nowhere_to_write(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"), write_atomically(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist; create it"):
        write_atomically(tmp_path / "nowhere" / "t").__enter__()


@pytest.mark.parametrize("name", ["state", "n" * 255])
def test_a_fixed_name_is_replaced_and_removed(tmp_path, name):
    path = tmp_path / name
    with write_atomically(path, fixed_name=True) as first:
        first.write_text("killed while it was written")
        first.rename(tmp_path / "left")
        first.touch()
    (tmp_path / "left").rename(first)
    with write_atomically(path, fixed_name=True) as second:
        assert second == first
        assert second.read_bytes() == b""
        second.write_text("new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "new"
    first.touch()
    remove_partial(path)
    remove_partial(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_fixed_name_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("of somebody else")
    (tmp_path / ".state.partial").symlink_to(tmp_path / "other")
    with write_atomically(tmp_path / "state", fixed_name=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "other").read_text() == "of somebody else"
    assert (tmp_path / "state").read_text() == "new"


@pytest.mark.parametrize("fixed_name", [False, True])
def test_a_full_disk(tmp_path, fixed_name):
    path = tmp_path / "state"
    path.write_text("old")
    full = pytest.raises(OSError, match=r"File too large: .*state'")
    with full, files_of_at_most(10), write_atomically(path, fixed_name=fixed_name) as temporary:
        temporary.write_bytes(bytes(1000))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_flushed(tmp_path, monkeypatch):
    flush = os.fsync

    def of_files_only(number):
        if stat.S_ISDIR(os.fstat(number).st_mode):
            raise OSError(22, "Invalid argument")
        flush(number)

    monkeypatch.setattr("os.fsync", of_files_only)
    with write_atomically(tmp_path / "state") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "state").read_text() == "new"
