"""Vowpal Wabbit's text format: its hashes, names, weights and tags, in parts, and errors that name the line."""

import gzip
import random
from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from sgdone.readers import numeric_lines
from sgdone.readers.formats import vw
from sgdone.readers.formats.vw import read_vw_parts
from sgdone.readers.reading import read
from sgdone.readers.table import DataError, ReadOptions
from tiers import slow

#: `vw --audit -b 18 --noconstant` (9.11) on this line printed these columns and values.
AUDITED = "1 |f abc:2 12 :3 :4 |7:0.5 x y:2 | z 5"
COLUMNS = {1403: 2, 34887: 1, 34875: 3, 34876: 4, 13408: 0.5, 132948: 1, 170519: 1, 5: 1}


@pytest.fixture
def file(tmp_path):
    def write(text, name="t.vw"):
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


def row(table, i):
    """The entries of a row, by name or column."""
    X = table.X[[i]].tocoo()
    columns = X.coords[1].tolist()
    keys = columns if table.feature_names is None else [table.feature_names[j] for j in columns]
    return dict(zip(keys, X.data.tolist(), strict=True))


def test_hashes_are_those_of_vowpal_wabbit(file):
    table = read(file(AUDITED), bits=18)
    assert table.X.shape == (1, 2**18)
    assert table.feature_names is None
    assert row(table, 0) == COLUMNS
    assert row(read(file(AUDITED), bits=10), 0) == {column % 2**10: value for column, value in COLUMNS.items()}


def test_names_of_any_length_have_the_hashes_of_murmur(file):
    names = [f"é{'abcdefghijklmnopqrstuvwxyz'[:k]}" for k in range(27)]
    seed = murmurhash3_32("space", positive=True)
    table = read(file(f"1 |space {' '.join(names)}"), bits=31)
    assert table.X.indices.tolist() == sorted(murmurhash3_32(name, seed, positive=True) % 2**31 for name in names)


def test_everything_the_format_allows(file):
    text = "1 2.5 0 tag|f a:2 b\r\n\n-1\t|f:0.5 a b:-4 a:1e1 | c  d:.5|g  a\n 0.5 1 'x |\n+1 'tag |é ü:1 a:b\n"
    with pytest.raises(DataError, match="line 5: feature 'a': 'b' is not a number"):
        read(file(text))
    table = read(file(text.replace("a:b", "a")))
    assert table.feature_names == ["f^a", "f^b", "c", "d", "g^a", "é^ü", "é^a"]
    expected = [{"f^a": 2, "f^b": 1}, {"f^a": 5.5, "f^b": -2, "c": 1, "d": 0.5, "g^a": 1}, {}, {"é^ü": 1, "é^a": 1}]
    assert [row(table, i) for i in range(4)] == expected
    np.testing.assert_array_equal(table.y, [1, -1, 0.5, 1])
    np.testing.assert_array_equal(table.weights, [2.5, 1, 1, 1])
    assert read(file("1 | a\n")).weights is None


def test_columns_of_a_model(file):
    train = read(file(b"1 |f caf\xe9 b |g c\n"))
    assert train.feature_names == [r"f^caf\xe9", "f^b", "g^c"]
    test = read(file(b"1 |g d c:3 |f:2 b caf\xe9:5 b\n1 | x\n"), features=train.feature_names[::-1])
    np.testing.assert_array_equal(test.X.toarray(), [[3, 4, 10], [0, 0, 0]])
    assert test.feature_names == train.feature_names[::-1]
    with pytest.raises(DataError, match="has at least 2 features instead of 1"):
        read(file("1 | a b"), n_features=1)


def test_missing_labels(file):
    text = "1 | a\n| b\n'tag | c\n-1 | a\n"
    with pytest.raises(DataError, match=r"t\.vw, line 2: has no label: write a number before the first"):
        read(file(text))
    with pytest.raises(DataError, match=r"line 1: has no label: '1' directly before '\|' is a tag. Write '1 \|'"):
        read(file("1|f a\n"))
    assert read(file(text), require_label=False).y is None
    table = read(file(text), skip_unlabelled=True)
    np.testing.assert_array_equal(table.X.toarray(), [[1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(table.labelled, [0, 3])
    assert (table.unlabelled, table.y.tolist()) == (2, [1, -1])
    with pytest.raises(DataError, match="has no labels"):
        read(file("| a\n"), skip_unlabelled=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 a:2", r"has no '\|' between the label and the features \('1 a:2'\)"),
        ("cat | a", "the label 'cat' is not a number"),
        ("nan | a", "the label is 'nan': drop the row"),
        ("1 x | a", "the weight 'x' is not a number"),
        ("1 -2 | a", "the weight -2 is negative: weights are at least 0"),
        ("1 1 0.5 | a", r"has an initial prediction \(0.5\), which is not supported: remove the third number"),
        ("1 1 0 0 | a", r"has 4 words before the first '\|'"),
        ("1 |:2 a", r"'\|:2' has no name of a namespace before ':'"),
        ("1 |f:x a", "the value 'x' of the namespace 'f' is not a number"),
        ("1 |f:inf a", "the value of the namespace 'f' is 'inf'"),
        ("1 |f a:", "feature 'a': '' is not a number"),
        ("1 |f a:1:2", "feature 'a': '1:2' is not a number"),
        ("1 |f a:nan", r"feature 'a': missing value \(nan\): impute or drop it"),
        ("1 |f a:-inf", r"feature 'a': infinite value \(-inf\): clip or drop it"),
        ("1 |f:1e300 a:1e300", r"feature 'a': infinite value \(1e300\)"),
        ("1 |f a:1_0", "feature 'a': '1_0' is not a number"),
    ],
)
def test_errors_say_where(file, line, message):
    path = file("1 | a\n\n \t\n" + line + "\n1 | a\n")
    with pytest.raises(DataError, match=f"line 4: {message}") as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_arguments_for_columns_are_refused(file):
    path = file("1 | a\n")
    with pytest.raises(DataError, match="have no column names, and the label is the first number of a line: remove la"):
        read(path, label="y")
    with pytest.raises(DataError, match="the weight is the second number of a line: remove weight="):
        read(path, weight="w")


def random_text(seed, n_lines=150):
    source = random.Random(seed)
    blank = lambda: source.choice([" ", " ", " ", "  ", "\t"])  # noqa: E731
    number = lambda: source.choice(["1", "-2", "0.25", "1e2", f"{source.random():.25f}", repr(source.random())])  # noqa: E731
    lines = []
    for _ in range(n_lines):
        line = source.choice(["1", "-1", "0.5"]) + blank()
        line += source.choice(["", "", f"2.5{blank()}", f"1{blank()}0{blank()}"])
        line += source.choice(["", "", "", "'tag ", "'tag", "tag"])
        for _ in range(source.randrange(1, 4)):
            line += "|" + source.choice(["", "", "f", "g", "12", "name", "f:2", "name:0.5"])
            for _ in range(source.randrange(6)):
                name = source.choice(["", "a", "b", "word", "7", "x^y", f"w{source.randrange(200)}", "a_long_name_é"])
                line += blank() + (f"{name}:{number()}" if source.random() < 0.5 or not name else name)
            line += source.choice(["", blank()])
        lines.append(source.choice([line] * 9 + ["", "  "]))
    return source.choice(["\n", "\r\n"]).join(lines).encode()


def reference(content):
    """Labels, weights and a dict of values for each row: the format in a few lines of Python."""
    labels, weights, rows = [], [], []
    for line in content.decode().replace("\t", " ").replace("\r", " ").split("\n"):
        if not line.strip():
            continue
        head, *spaces = line.split("|")
        numbers = [float(word) for word in head.split() if "tag" not in word]
        labels.append(numbers[0])
        weights.append(numbers[1] if len(numbers) > 1 else 1.0)
        found = {}
        for space in spaces:
            name, *features = space.split(" ")
            name, _, scale = name.partition(":")
            unnamed = 0
            for feature in filter(None, features):
                key, _, value = feature.partition(":")
                if not key:
                    key, unnamed = str(unnamed), unnamed + 1
                key = f"{name}^{key}" if name else key
                value = float(scale or 1) * float(value or 1)
                found[key] = found[key] + value if key in found else value
        rows.append(found)
    return labels, weights, rows


@pytest.mark.parametrize(
    ("block", "threads"), [(9, 4), (1 << 20, 2), *(pytest.param(*case, marks=slow) for case in [(1, 1), (300, 4)])]
)
def test_the_same_rows_and_numbers_whatever_the_blocks_and_threads(file, in_pieces, block, threads):
    in_pieces(block, threads)
    for seed in range(6):
        content = random_text(seed)
        options = ReadOptions(file(content))
        tables = list(read_vw_parts([options]))
        labels, weights, rows = reference(content)
        names = list(dict.fromkeys(name for row in rows for name in row))
        assert tables[-1].feature_names == names
        assert all(table.feature_names is tables[0].feature_names for table in tables)
        assert [row(table, i) for table in tables for i in range(table.X.shape[0])] == rows
        assert np.concatenate([table.y for table in tables]).tolist() == labels
        assert np.concatenate([table.weights for table in tables]).tolist() == weights
        hashed = list(read_vw_parts([replace(options, bits=12)]))
        assert all(table.X.shape[1] == 2**12 for table in hashed)
        found = np.concatenate([table.X.sum(axis=1) for table in hashed])
        np.testing.assert_allclose(found, [sum(values.values()) for values in rows], rtol=1e-12, atol=1e-9)


def test_names_are_hashed_as_in_a_file_of_one_line(file, in_pieces):
    content = random_text(3, 40)
    expected = [read(file(line + b"\n", "one.vw"), bits=14) for line in content.split(b"\n") if line.strip()]
    in_pieces(64, 4)
    whole = read(file(content), bits=14)
    assert [row(whole, i) for i in range(whole.X.shape[0])] == [row(table, 0) for table in expected]


def test_several_files_share_their_columns(file, in_pieces):
    in_pieces(8, 2)
    files = [file("1 | a b\n" * 3, "1.vw"), file(gzip.compress(b"1 | b c\n |    d\n1 | e f\n"), "2.vw.gz")]
    tables = list(read_vw_parts([ReadOptions(path, skip_unlabelled=True) for path in files]))
    assert tables[-1].feature_names == ["a", "b", "c", "d", "e", "f"]
    assert [table.X.shape for table in tables] == [(1, 2), (1, 2), (1, 2), (1, 3), (0, 4), (1, 6)]
    assert [table.unlabelled for table in tables] == [0, 0, 0, 0, 1, 0]
    with pytest.raises(DataError, match=r"2\.vw\.gz, line 2: has no label"):
        list(read_vw_parts([ReadOptions(path) for path in files]))
    with pytest.raises(DataError, match="has no labels"):
        list(read_vw_parts([ReadOptions(file("| a\n" * 9), skip_unlabelled=True)]))


def test_many_names(file):
    lines = [" ".join(["1 |w", *(f"n{k}" for k in range(i, i + 50))]) for i in range(0, 20_000, 7)]
    table = read(file("\n".join(lines)))
    assert table.feature_names == [f"w^n{k}" for k in range(7 * len(lines) + 43)]
    np.testing.assert_array_equal(table.X[[100]].indices, np.arange(700, 750))
