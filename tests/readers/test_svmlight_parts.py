"""svmlight files in parts: the same rows whatever the blocks and threads, and errors that name the line."""

import gzip
import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from sgdone.readers import numeric_lines
from sgdone.readers.formats.svmlight import read_svmlight_parts
from sgdone.readers.reading import read
from sgdone.readers.table import DataError, ReadOptions
from tiers import slow

BLANKS = [" ", " ", " ", "  ", "\t", " \t ", "\v", "\f"]
NUMBERS = ["1", "0", "-0", "+2", ".5", "5.", "1e3", "-2.5E-3", "0.1234567890123456", "1e-320", "123456789012345678901"]


def random_text(seed, n_lines=200):
    """Lines in every form that the format allows."""
    source = random.Random(seed)
    lines = []
    for _ in range(n_lines):
        indices = sorted(source.sample(range(1, 40), source.randrange(6)))
        number = lambda: source.choice([*NUMBERS, repr(source.gauss(0, 1)), f"{source.random():.25f}"])  # noqa: E731
        entries = [f"{source.choice(['', '', '', '+', '0'])}{index}:{number()}" for index in indices]
        label = source.choice(["1", "-1", "+1", "0.5", "3e0", "2", "9007199254740992"])
        query = [f"qid:{source.randrange(9)}"] if source.random() < 0.2 else []
        line = source.choice(BLANKS).join([label, *query, *entries])
        line = source.choice(["", "", "", " ", "\t"]) + line + source.choice(["", "", " ", "\t"])
        line += source.choice(["", "", "", " # a comment: 7:8", "#", "#é\xff"])
        lines.append(source.choice([line] * 8 + ["", "   ", "# a comment"]))
    ends = source.choice([["\n"], ["\r\n"], ["\n", "\r\n", " \n"]])
    text = "".join(line + source.choice(ends) for line in lines)
    return (text if source.random() < 0.5 else text.rstrip("\r\n \t")).encode()


def reference(content):
    """Labels, and a dict of values for each row: the format in a few lines of Python."""
    labels, rows = [], []
    for line in content.split(b"\n"):
        tokens = line.split(b"#")[0].split()
        if not tokens:
            continue
        labels.append(float(tokens[0]))
        pairs = [token.split(b":") for token in tokens[1:] if not token.startswith(b"qid")]
        rows.append({int(index): float(value) for index, value in pairs})
    return labels, rows


def rows_of(tables):
    """Labels and rows of tables of one-based files, as `reference` has them."""
    labels, rows = [], []
    for table in tables:
        labels += table.y.tolist()
        X = table.X
        assert isinstance(X, sparse.csr_array)
        assert (X.data.dtype, X.indices.dtype, table.y.dtype) == (np.float64, np.int32, np.float64)
        for i in range(X.shape[0]):
            row = slice(X.indptr[i], X.indptr[i + 1])
            rows.append(dict(zip((X.indices[row] + 1).tolist(), X.data[row].tolist(), strict=True)))
    return labels, rows


@pytest.fixture
def in_pieces(monkeypatch):
    """Sets the size of blocks and the number of threads."""

    def change(block, threads):
        monkeypatch.setattr(numeric_lines, "BLOCK", block)
        monkeypatch.setattr(numeric_lines, "n_threads", lambda: threads)

    return change


def written(folder, content, name="t.svm"):
    (folder / name).write_bytes(content)
    return ReadOptions(folder / name)


@pytest.mark.parametrize(
    ("block", "threads"),
    [(7, 4), (1 << 20, 2), *(pytest.param(*case, marks=slow) for case in [(1, 1), (100, 1), (100, 4)])],
)
def test_the_same_rows_whatever_the_blocks_and_threads(tmp_path, in_pieces, block, threads):
    in_pieces(block, threads)
    for seed in range(8):
        content = random_text(seed)
        tables = list(read_svmlight_parts([written(tmp_path, content)]))
        assert rows_of(tables) == reference(content)
        assert (len(tables) > 20) == (block <= 100)
        widths = [table.X.shape[1] for table in tables]
        assert widths == sorted(widths)
        assert widths[-1] == max(max(row, default=0) for row in reference(content)[1])


def test_a_whole_file_as_scikit_learn_reads_it(tmp_path):
    content = random_text(11, 500)
    options = written(tmp_path, content)
    X, y = load_svmlight_file(str(options.path), zero_based=False)
    table = read(options.path)
    assert table.X.shape == X.shape
    for found, expected in [(table.X.data, X.data), (table.X.indices, X.indices), (table.X.indptr, X.indptr)]:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(table.y, y)


def test_several_files_one_after_the_other(tmp_path, in_pieces):
    in_pieces(50, 2)
    contents = [random_text(1), b"# nothing\n\n", random_text(2)]
    files = [written(tmp_path, content, f"{k}.svm") for k, content in enumerate(contents)]
    assert rows_of(read_svmlight_parts(files)) == reference(b"\n".join(contents))
    with pytest.raises(DataError, match=r"1\.svm: contains no rows"):
        list(read_svmlight_parts(files[1:2]))


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_names_the_first_wrong_line_of_its_file(tmp_path, in_pieces, threads):
    in_pieces(64, threads)
    good, bad = b"1 1:1\n\n# x\n" * 1000, b"1 1:1\n" * 1100 + b"1 2:1 1:1\n" + b"x\n" * 50
    files = [written(tmp_path, good, "good.svm"), written(tmp_path, bad, "bad.svm")]
    with pytest.raises(DataError, match=r"bad\.svm, line 1,101: index 1 comes after 2: sort the indices"):
        list(read_svmlight_parts(files))


def test_a_wrong_line_comes_before_the_damage_after_it(tmp_path, in_pieces):
    in_pieces(1 << 10, 4)
    source = random.Random(0)
    content = b"".join(b"1 1:%r\n" % source.random() for _ in range(50_000))
    packed = gzip.compress(b"1 x\n" + content)
    options = written(tmp_path, packed[: len(packed) // 2], "t.svm.gz")
    with pytest.raises(DataError, match="line 1: 'x' does not have the form index:value"):
        list(read_svmlight_parts([options]))


def test_options(tmp_path):
    options = written(tmp_path, b"1 1:1 5:2 9:3\n-1 2:nan\n")
    with pytest.raises(DataError, match="line 1: index 5 is too large: the last of 3 features"):
        list(read_svmlight_parts([replace(options, n_features=3)]))
    with pytest.raises(DataError, match=r"line 2: index 2: missing value \(nan\)"):
        list(read_svmlight_parts([options]))
    (table,) = read_svmlight_parts([replace(options, n_features=9, allow_missing=True)])
    np.testing.assert_array_equal(table.X.toarray(), [[1, 0, 0, 0, 2, 0, 0, 0, 3], [0, np.nan, 0, 0, 0, 0, 0, 0, 0]])
    (table,) = read_svmlight_parts([replace(options, bits=2, allow_missing=True)])
    assert table.X.shape == (2, 4)
    np.testing.assert_array_equal(table.X.indices, [0, 0, 0, 1])
    (table,) = read_svmlight_parts([replace(options, zero_based=True, allow_missing=True)])
    assert table.X.shape == (2, 10)
    names = ["feature 9", "feature 1"]
    (table,) = read_svmlight_parts([replace(options, features=names, allow_missing=True)])
    np.testing.assert_array_equal(table.X.toarray(), [[3, 1], [0, 0]])
    assert table.feature_names == names


def test_closed_early(tmp_path, in_pieces):
    in_pieces(64, 4)
    before = threading.active_count()
    parts = read_svmlight_parts([written(tmp_path, b"1 1:1\n" * 10_000)])
    assert next(parts).X.shape[0] == 10
    parts.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("compressed", [False, True])
def test_bytes_are_counted(tmp_path, in_pieces, compressed):
    in_pieces(64, 2)
    content = random_text(5)
    content = gzip.compress(content) if compressed else content
    counts = []
    list(read_svmlight_parts([replace(written(tmp_path, content), on_bytes=counts.append)]))
    assert sum(counts) == len(content)


def test_a_line_longer_than_a_block(tmp_path, in_pieces):
    in_pieces(1 << 10, 2)
    line = b"1 " + b" ".join(b"%d:%d" % (k, k) for k in range(1, 5000))
    tables = list(read_svmlight_parts([written(tmp_path, b"1 1:1\n" * 100 + line + b"\n1 1:1" * 5000)]))
    labels, rows = rows_of(tables)
    assert len(labels) == 5101
    assert rows[100] == {k: k for k in range(1, 5000)}
    assert sum(len(row) for row in rows) == 5100 + 4999
    assert len(tables) > 2
