"""The cache of blocks: what is written comes back, and nothing is left of what is not complete."""

import errno
import gc
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from full_disk import files_of_at_most
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows import block_cache
from sgdone.rows.block_cache import BlockCache, CacheError, cache_folder, check_space
from sgdone.rows.blocks import PIECES, EncodedRows


def block(X, first=0, weights=None, roles=None):
    numbers = np.arange(first, first + X.shape[0])
    hashes = numbers.astype(np.uint64) * np.uint64(2**60 + 1)
    return EncodedRows(X, np.sin(numbers), weights, hashes, numbers, roles)


def values(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def assert_same_block(found, expected):
    assert type(found.X) is type(expected.X)
    assert found.X.dtype == expected.X.dtype
    np.testing.assert_array_equal(values(found.X), values(expected.X))
    for name in ("labels", "weights", "hashes", "numbers"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.fixture
def without_unnamed_files(monkeypatch):
    """A system that has no files without a name."""
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    monkeypatch.setattr(tempfile, "_O_TMPFILE_WORKS", False, raising=False)


FORMS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr, float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "mixed": lambda X: MixedMatrix(np.ascontiguousarray(X[:, :2]), sparse.csr_array(X[:, 2:])),
    "one column": lambda X: np.ascontiguousarray(X[:, :1]),
    "no entries": lambda X: sparse.csr_array(X.shape),
}


@pytest.mark.parametrize("form", FORMS)
def test_blocks_come_back_in_any_order(form, tmp_path, rng):
    X = rng.standard_normal((30, 5)) * (rng.random((30, 5)) < 0.6)
    X[4, 1] = np.nan
    written = [block(FORMS[form](X[first : first + 12]), first) for first in (0, 12, 24)]
    cache = BlockCache(tmp_path)
    for part in written:
        cache.write(part)
    assert len(cache) == 3
    for number in (2, 0, 1, 0):
        assert_same_block(cache.read(number), written[number])
    cache.close()


@pytest.mark.parametrize("form", FORMS)
def test_pieces_are_put_together_to_their_blocks(form, tmp_path, rng):
    X = rng.standard_normal((50, 5)) * (rng.random((50, 5)) < 0.6)
    blocks = [block(FORMS[form](X[first:last]), first) for first, last in ((0, 20), (20, 40), (40, 50))]
    cache = BlockCache(tmp_path)
    for part in blocks:
        for piece in part.pieces():
            cache.write(piece)
    assert len(cache) == PIECES + PIECES + 10
    for found, expected in zip(cache.in_order(), blocks, strict=True):
        assert_same_block(found, expected)
        assert found.n_bytes == expected.n_bytes
    cache.close()


def test_columns_and_weights_may_come_later(tmp_path):
    roles = np.array([0, 0, 1], np.int32)
    narrow = block(sparse.csr_array(np.eye(2)), roles=roles[:2])
    wide = block(sparse.csr_array(np.ones((1, 3))), 2, np.array([2.0]), roles)
    cache = BlockCache(tmp_path)
    cache.write(narrow)
    cache.write(wide)
    assert (cache.read(0).n_features, cache.read(1).n_features) == (2, 3)
    assert cache.read(0).weights is None
    np.testing.assert_array_equal(cache.read(1).weights, [2.0])
    np.testing.assert_array_equal(cache.read(0).roles, roles[:2])
    cache.close()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("unnamed_files", [False, True])
def test_nothing_is_left_of_a_cache_that_is_not_kept(named, unnamed_files, tmp_path, request):
    if not unnamed_files:
        request.getfixturevalue("without_unnamed_files")
    cache = BlockCache(tmp_path, "rows" if named else None)
    cache.write(block(np.eye(3)))
    assert not [file for file in tmp_path.iterdir() if file.name == "rows"]
    cache.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unnamed_files", [False, True])
def test_a_complete_cache_can_be_kept(unnamed_files, tmp_path, request):
    if not unnamed_files:
        request.getfixturevalue("without_unnamed_files")
    (tmp_path / ".rows.partial").write_text("what a killed process left")
    cache = BlockCache(tmp_path, "rows")
    cache.write(block(np.eye(3)))
    assert cache.keep() == tmp_path / "rows"
    cache.close()
    assert [file.name for file in tmp_path.iterdir()] == ["rows"]
    again = BlockCache.of_file(tmp_path / "rows", cache.places, cache.roles)
    assert_same_block(again.read(0), block(np.eye(3)))
    again.close()


def test_a_kept_cache_that_is_cut_short_is_an_error(tmp_path):
    cache = BlockCache(tmp_path, "rows")
    cache.write(block(np.eye(3)))
    path = cache.keep()
    cache.close()
    os.truncate(path, path.stat().st_size - 70)
    with pytest.raises(CacheError, match=r"rows is cut short: delete the folder"):
        BlockCache.of_file(path, cache.places, None)
    os.truncate(path, 2**14)
    again = BlockCache.of_file(path, cache.places, None)
    os.truncate(path, 10)
    with pytest.raises(CacheError, match="cut short: it was changed by another program"):
        again.read(0)
    again.close()
    gc.collect()


def test_a_full_disk_is_named(tmp_path):
    cache = BlockCache(tmp_path)
    cache.write(block(np.eye(3)))
    failure = pytest.raises(CacheError, match=r"cannot be written .* free some space")
    with files_of_at_most(cache.places[-1].offset + 100), failure:
        cache.write(block(np.ones((100, 3)), 3))
    assert len(cache) == 1
    cache.write(block(np.ones((2, 3)), 3))  # there is space again
    np.testing.assert_array_equal(cache.read(0).X, np.eye(3))
    np.testing.assert_array_equal(cache.read(1).X, np.ones((2, 3)))
    cache.close()


def test_a_disk_that_is_full_when_the_cache_is_named_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "rows").write_text("the cache of an earlier run")

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = BlockCache(tmp_path, "rows")
    cache.write(block(np.eye(3)))
    monkeypatch.setattr(block_cache.os, "fsync", full)
    with pytest.raises(CacheError, match=r"rows cannot be written \(No space left on device\): free some space"):
        cache.keep()
    cache.close()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("rows", "the cache of an earlier run")]


def test_space_is_checked_before_anything_is_written(tmp_path):
    check_space(tmp_path, 1000)
    with pytest.raises(CacheError, match=r"needs about 1e\+09 GB in .* free: give another folder with cache="):
        check_space(tmp_path, 10**18)


def test_the_folder_is_the_given_one_or_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-user"))
    assert cache_folder(None) == tmp_path / "of-user" / "sgdone"
    assert cache_folder(tmp_path / "new" / "one").is_dir()


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "of-user"))
    with pytest.warns(UserWarning, match=r"of-user/sgdone cannot be written to \(Not a directory\): .* is used"):
        assert cache_folder(None) == tmp_path
    with pytest.raises(CacheError, match=r"file/own cannot be written to \(Not a directory\): give another one with"):
        cache_folder(tmp_path / "file" / "own")


def test_a_file_system_in_memory_is_refused(tmp_path, monkeypatch):
    mounts = f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {tmp_path.resolve()} rw shared:1 - tmpfs none rw\n"
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(mounts)
    monkeypatch.setattr(block_cache, "Path", lambda name: mountinfo if "proc" in str(name) else Path(name))
    with pytest.raises(CacheError, match=r"in memory \(tmpfs\): give a folder on a disk with cache="):
        cache_folder(tmp_path / "folder")
