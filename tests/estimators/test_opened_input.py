"""How many rows of files are read before a fit begins."""

import numpy as np
import pytest

from sgdone import LinearClassifier, files
from sgdone.fit.streamed_rows import OpenedInput

MEMORY = 2_000_000


@pytest.fixture
def large(tmp_path):
    """A function that writes a file of eight times the rows that are kept in memory."""

    def write(labels):
        path = tmp_path / "rows.svm"
        n_rows = 40_000
        chosen = np.resize(labels, n_rows)
        lines = [f"{label:g} 1:{k % 97}.5 2:{k % 89}.25 3:0.123456789012345678901\n" for k, label in enumerate(chosen)]
        path.write_text("".join(lines) * 2)
        return files(path, max_memory=MEMORY)

    return write


def rows_in(head):
    return sum(table.X.shape[0] for table in head)


def test_little_is_read_of_large_files(large, monkeypatch):
    monkeypatch.setattr("sgdone.readers.numeric_lines.BLOCK", 1 << 16)
    source = large([0, 1])
    assert source.total_bytes > 4 * 0.25 * MEMORY
    few, more = OpenedInput.of(source, quickly=True), OpenedInput.of(source)
    assert not few.complete
    assert not more.complete
    assert 4 * rows_in(few.head) < rows_in(more.head)
    assert few.labels().tolist() == [0, 1]
    for opened in (few, more):
        assert sum(table.X.shape[0] for table in opened.tables()) == 80_000


def test_of_many_classes_more_rows_are_read(large, monkeypatch):
    monkeypatch.setattr("sgdone.readers.numeric_lines.BLOCK", 1 << 16)
    opened = OpenedInput.of(large([0, 1, 2]), quickly=True)
    before = rows_in(opened.head)
    assert opened.labels().tolist() == [0, 1, 2]
    assert rows_in(opened.head) > before
    assert sum(table.X.shape[0] for table in opened.tables()) == 80_000


@pytest.mark.slow
def test_a_rare_class_is_found(large):
    labels = np.arange(40_000) % 2
    labels[35_000:35_500] = 7
    model = LinearClassifier(random_state=0).fit(large(labels))
    assert model.classes_.tolist() == [0, 1, 7]
