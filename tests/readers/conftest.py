import pytest

from sgdone.readers import numeric_lines
from sgdone.readers.formats import vw


@pytest.fixture
def file(tmp_path, request):
    """Writes a text, or bytes, to a file; its suffix is that of the module."""

    usual = f"t.{getattr(request.module, 'SUFFIX', 'csv')}"

    def write(text, name=usual):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


@pytest.fixture
def in_pieces(monkeypatch):
    """Sets the size of blocks and the number of threads."""

    def change(block, threads):
        monkeypatch.setattr(numeric_lines, "BLOCK", block)
        monkeypatch.setattr(numeric_lines, "n_threads", lambda: threads)
        monkeypatch.setattr(vw, "_FIRST_SIZE", 2)

    return change
