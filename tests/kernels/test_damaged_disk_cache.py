"""A cache that cannot be read or written costs a compilation, nothing more."""

import errno

import pytest
from numba.core import caching, config

from sgdone.kernels import disk_cache
from sgdone.kernels.jit import INTERPRETED, compiled

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


def halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def a_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    "cut short": halved,
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("something else"),
    "a folder": a_folder,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Compile a function, or load it from the cache, and call it; returns whether it was loaded."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def compile_and_call():
        @compiled("damaged")
        def add_one(x):
            return x + 1.0

        assert add_one(2.0) == 3.0
        return sum(add_one.stats.cache_hits.values()) == 1

    return compile_and_call


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
@pytest.mark.parametrize("kind", ["nbi", "nbc"], ids=["index", "code"])
def test_a_damaged_file_is_compiled_again(kind, damage, run, tmp_path):
    assert not run()
    assert run()
    (file,) = tmp_path.rglob(f"*.{kind}")
    damage(file)
    assert not run()
    assert run() or damage is a_folder  # which nothing can replace


def test_a_full_disk(run, monkeypatch):
    def no_space(self, filepath):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", no_space)
    assert not run()


def test_no_folder_that_can_be_written_to(run, monkeypatch):
    def read_only(self):
        raise PermissionError("read-only")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", read_only)
    disk_cache._warn_once.cache_clear()
    with pytest.warns(UserWarning, match=r"compiled code cannot be kept, .* Set NUMBA_CACHE_DIR to a folder"):
        assert not run()
    assert not run()  # without another warning
