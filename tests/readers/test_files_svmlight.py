"""svmlight: values, first index, and errors that name the line."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from sgdone.machine import memory
from sgdone.readers.reading import read
from sgdone.readers.table import DataError


@pytest.fixture
def file(tmp_path):
    def write(text, name="t.svm"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("zero_based", [False, True])
def test_round_trip_is_exact(tmp_path, zero_based):
    X = sparse.random(50, 20, density=0.2, random_state=0, format="csr")
    y = np.random.default_rng(0).normal(size=50)
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=zero_based)
    table = read(tmp_path / "t.svm", n_features=20, zero_based=zero_based)
    assert isinstance(table.X, sparse.csr_array)
    assert table.X.indices.dtype == table.X.indptr.dtype == np.int32
    assert table.X.data.dtype == np.float64
    np.testing.assert_allclose(table.X.toarray(), X.toarray(), rtol=1e-15)
    np.testing.assert_allclose(table.y, y, rtol=1e-15)
    assert table.zero_based is zero_based


def test_everything_the_format_allows(file):
    text = "# a comment\n\n+1 qid:3 1:.5 3:1e1 # query 3\r\n-1\n   \n0.5\t2:-1\t3:+2\n1 2:7 #\n"
    table = read(file(text))
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 0, 10], [0, 0, 0], [0, -1, 2], [0, 7, 0]])
    np.testing.assert_array_equal(table.y, [1, -1, 0.5, 1])


@pytest.mark.parametrize(("zero_based", "last"), [(False, 2**31 - 1), (True, 2**31 - 1)])
def test_columns_that_never_occur_are_left_out(file, zero_based, last):
    train = read(file(f"1 7:2 {last}:3\n-1 7:1\n"), zero_based=zero_based)
    np.testing.assert_array_equal(train.X.toarray(), [[2, 3], [1, 0]])
    assert train.X.indices.dtype == np.int32
    assert train.feature_names == ["feature 7", f"feature {last}"]
    test = file(f"1 5:1 {last - 1}:4 {last}:5\n-1 7:6 1000:1\n", "test.svm")
    same = read(test, zero_based=zero_based, features=train.feature_names, n_features=2)
    np.testing.assert_array_equal(same.X.toarray(), [[0, 5], [6, 0]])
    swapped = read(test, zero_based=zero_based, features=train.feature_names[::-1])
    np.testing.assert_array_equal(swapped.X.toarray(), [[5, 0], [0, 6]])
    assert read(test, zero_based=zero_based, n_features=2**31).X.shape == (2, 2**31)


def test_columns_stay_if_many_of_them_occur(file):
    lines = "".join(f"1 {k}:1\n" for k in range(4, 80_000, 4))
    table = read(file(lines))
    assert table.X.shape == (19_999, 79_996)
    assert table.feature_names is None
    assert read(file(lines + "1 90000:1\n")).X.shape == (20_000, 20_000)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1 1:1 2:3\n" * 200_000, r"[\d,]+ rows? and [\d,]+ values so far"),
        ("1 " + "1" * 3_000_000, "the 3,000,002 bytes of a line"),
    ],
    ids=["rows", "one line"],
)
def test_a_small_file_of_many_rows_stops_in_time(tmp_path, monkeypatch, text, what):
    path = tmp_path / "t.svm.gz"
    path.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000_000)
    message = rf"is too large: {what} need about [\d.]+ MB of memory, but 10 MB are"
    with pytest.raises(DataError, match=message):
        read(path)


@pytest.mark.parametrize("label", ["9007199254740993", "18446744073709551617", "-36893488147419103233", "9" * 5000])
def test_labels_of_too_many_digits(file, label):
    with pytest.raises(DataError, match=r"line 2: the label .* has too many digits for a float"):
        read(file(f"1 1:1\n{label} 1:1\n"))


def test_long_labels_that_floats_can_tell_apart(file):
    large = [2**53, -(2**60), 10**20, 2**64]
    table = read(file("".join(f"{label} 1:1\n" for label in large)))
    assert [int(label) for label in table.y] == large


def test_the_base_is_never_guessed(file):
    train, test = file("1 0:1 2:1\n", "train.svm"), file("1 1:1 2:1\n", "test.svm")
    with pytest.raises(DataError, match=r"line 1: index 0: indices start at 0 in this file; .* zero_based=True"):
        read(train)
    n_features = read(train, zero_based=True).X.shape[1]
    np.testing.assert_array_equal(read(test, zero_based=True, n_features=n_features).X.toarray(), [[0, 1, 1]])
    np.testing.assert_array_equal(read(test, n_features=n_features).X.toarray(), [[1, 1, 0]])


def test_more_features_than_the_model(file):
    path = file("1 1:1\n1 3:1\n")
    assert read(path, n_features=3).X.shape == (2, 3)
    assert read(path, n_features=5).X.shape == (2, 5)
    message = "line 2: index 3 is too large: the last of 2 features, starting at 1, is 2. Read training and test files"
    with pytest.raises(DataError, match=message):
        read(path, n_features=2)
    with pytest.raises(DataError, match="line 2: index 3 is too large: the last of 3 features, starting at 0, is 2"):
        read(path, n_features=3, zero_based=True)


def test_names_given_by_the_model(file):
    table = read(file("1 1:1\n"), features=["a", "b"])
    assert table.X.shape == (1, 2)
    assert table.feature_names == ["a", "b"]


def test_no_label_by_name(file):
    path = file("1 1:1\n")
    with pytest.raises(DataError, match="svmlight files have no column names"):
        read(path, label="HG")
    with pytest.raises(DataError, match="such as the label 'HG': use a file with the columns of the training data"):
        read(path, label="HG", features=["a"])
    assert read(path, label="HG", require_label=False).y == [1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cat 1:2", "the label 'cat' is not a number: encode the classes as numbers"),
        ("1:2 2:3", "starts with '1:2' instead of a label: put a number first"),
        ("1,2 1:3", r"has several labels \(1,2\)"),
        ("nan 1:2", "the label is 'nan': drop the row"),
        ("1 3:1 2:1", "index 2 comes after 3: sort the indices of each line"),
        ("1 2:1 2:3", "index 2 appears twice: keep one value per feature"),
        ("1 2:x", "index 2: 'x' is not a number"),
        ("1 2:1 7", "'7' does not have the form index:value"),
        ("1 2: 7", "'2:' does not have the form index:value"),
        ("1 a:7", "'a:7' does not have the form index:value"),
        ("1 --1:7", "'--1:7' does not have the form index:value"),
        ("1 1.5:7", "'1.5:7' does not have the form index:value"),
        ("1 1:1 qid:7", "'qid:7' does not have the form index:value"),
        ("1 -1:2", "index -1 is negative"),
        ("007 1:2", "the label '007' has leading zeros: write 7, or keep it as text in a CSV file"),
        ("-00 1:2", "the label '-00' has leading zeros: write 0"),
        ("1 2147483648:2", "index 2147483648 is too large: indices up to 2,147,483,647 are supported"),
        (f"1 {'1' * 5000}:2", r"index 1{60}… \(5,000 characters\) is too large"),
        (f"1 1:{'x' * 5000}", r"index 1: 'x{60}… \(5,000 characters\)' is not a number"),
        ("1 99999999999999999999:2", "index 99999999999999999999 is too large"),
        ("1 1:nan", r"index 1: missing value \(nan\): impute or drop it"),
        ("1 1:2 3:-inf", r"index 3: infinite value \(-inf\): clip or drop it"),
        (b"\xff 1:2", r"the label '\\\\xff' is not a number"),
    ],
)
def test_errors_say_where(file, line, message):
    line = line if isinstance(line, bytes) else line.encode()
    path = file(b"1 1:1\n\n# 1 1:x\n" + line + b"\n1 1:1\n")
    with pytest.raises(DataError, match=f"line 4: {message}") as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_only_comments(file):
    with pytest.raises(DataError, match="contains no rows"):
        read(file("# nothing\n\n"))


def test_a_fault_we_cannot_find_still_is_a_data_error(file, monkeypatch):
    monkeypatch.setattr("sgdone.readers.formats.svmlight.rewritten", lambda line, options, last: line.strip())
    with pytest.raises(DataError, match=r"t\.svm, line 2: cannot be read"):
        read(file("1 1:1\n1 x:1\n"))
