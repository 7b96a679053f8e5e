"""Format inference, opening of files, and behaviour common to all formats."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdone import TableEncoder
from sgdone.readers.reading import read
from sgdone.readers.table import DataError

CSV = "a,b,label\n1,2.5,0\n-3,1e3,1\n"
SVM = "0 1:1 2:2.5\n1 1:-3 2:1e3\n"
X = np.array([[1, 2.5], [-3, 1000]])


def dense(table):
    return np.asarray(table.X) if isinstance(table.X, pa.Table) else table.X.toarray()


def parquet_bytes():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1, -3], "b": [2.5, 1e3], "label": [0, 1]}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.tab", "T.CSV", "t.txt", "t.data", "t"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_csv_by_suffix_or_by_looks(tmp_path, name, separator):
    (tmp_path / name).write_text(CSV.replace(",", separator))
    table = read(tmp_path / name)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, [0, 1])
    assert (table.feature_names, table.label_name, table.zero_based) == (["a", "b"], "label", None)


@pytest.mark.parametrize("name", ["t.svm", "t.libsvm", "t.svmlight", "t.txt", "t.dat", "t.trn", "t"])
def test_svmlight_by_suffix_or_by_looks(tmp_path, name):
    (tmp_path / name).write_text(SVM)
    table = read(tmp_path / name)
    np.testing.assert_array_equal(dense(table), X)
    assert (table.feature_names, table.label_name, table.zero_based) == (None, None, False)


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.bin", "t"])
def test_parquet_by_suffix_or_by_looks(tmp_path, name):
    (tmp_path / name).write_bytes(parquet_bytes())
    np.testing.assert_array_equal(read(tmp_path / name).X, X)


class Zstd:
    @staticmethod
    def compress(content):
        return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma), ("zst", Zstd)])
@pytest.mark.parametrize(
    ("name", "content"), [("t.csv", CSV.encode()), ("t.svm", SVM.encode()), ("t.parquet", parquet_bytes())]
)
@pytest.mark.parametrize("telling", [True, False], ids=["suffix", "no suffix"])
def test_compressed(tmp_path, suffix, pack, name, content, telling):
    path = tmp_path / (f"{name}.{suffix}" if telling else name)
    path.write_bytes(pack.compress(content))
    np.testing.assert_array_equal(dense(read(path)), X)


def test_format_overrules_the_suffix(tmp_path):
    (tmp_path / "t.csv").write_text(SVM)
    np.testing.assert_array_equal(dense(read(tmp_path / "t.csv", format="svmlight")), X)
    known = "'arrow', 'csv', 'jsonl', 'parquet', 'svmlight', 'vw'"
    with pytest.raises(ValueError, match=f"format='xls' is none of {known}"):
        read(tmp_path / "t.csv", format="xls")


@pytest.mark.parametrize("name", ["t.vw", "t.txt", "t.dat", "t", "T.VW"])
@pytest.mark.parametrize("text", ["0 |f a:1 b:2.5\n1 |f a:-3 b:1e3\n", "0 |a:1 a\n\n1 2 'tag| b\n", "'tag|a b,c\n"])
def test_vowpal_wabbit_by_suffix_or_by_looks(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    table = read(tmp_path / name, require_label=False)
    assert table.feature_names == (["f^a", "f^b"] if "f" in text else ["a^a", "b"] if "0" in text else ["a^b,c"])


def test_bars_between_cells_do_not_look_like_vowpal_wabbit(tmp_path):
    for text in ("a|b\n1|2\n", "1|2|3\n4|5|6\n"):
        (tmp_path / "t.txt").write_text(text)
        with pytest.raises(DataError, match="line 1: "):
            read(tmp_path / "t.txt")
    (tmp_path / "t").write_text("a,b,label\n1 | 2,3,0\n2 | 3,4,1\n")
    assert read(tmp_path / "t").feature_names == ["a", "b"]


def test_bits_must_be_sensible(tmp_path):
    (tmp_path / "t.vw").write_text("1 | a\n")
    assert read(tmp_path / "t.vw", bits=31).X.shape == (1, 2**31)
    with pytest.raises(ValueError, match="bits must be between 1 and 31; got 32"):
        read(tmp_path / "t.vw", bits=32)


def test_a_bare_label_first_still_looks_like_svmlight(tmp_path):
    (tmp_path / "t").write_text("1\n-1 2:3\n")
    np.testing.assert_array_equal(dense(read(tmp_path / "t")), [[0, 0], [0, 3]])


@pytest.mark.parametrize("name", ["t.csv", "t.svm", "t.parquet", "t.txt", "t", "t.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_empty(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=r"t.*: (is empty|contains no rows|cannot be read as Parquet)"):
        read(tmp_path / name)


def test_no_such_file(tmp_path):
    (tmp_path / "train.csv").write_text(CSV)
    with pytest.raises(DataError, match=r"trian\.csv: no such file; did you mean train\.csv\?"):
        read(tmp_path / "trian.csv")
    with pytest.raises(DataError, match=r"no such file \(the folder .*nowhere does not exist\)"):
        read(tmp_path / "nowhere" / "train.csv")


def test_not_a_file(tmp_path):
    with pytest.raises(DataError, match="is a folder; give a regular file"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="a pipe or device, which cannot be read twice"):
        read(tmp_path / "pipe.csv")


@pytest.mark.parametrize("pack", [gzip, bz2, lzma, Zstd])
@pytest.mark.parametrize("name", ["t.csv", "t.svm", "t.parquet"])
def test_cut_off(tmp_path, pack, name):
    rng = np.random.default_rng(0)
    form, header = ("1 1:{} 2:{}\n", "") if name == "t.svm" else ("{},{},1\n", "a,b,label\n")
    lines = "".join(form.format(a, b) for a, b in rng.normal(size=(2000, 2)))
    packed = pack.compress((header + lines).encode())
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=rf"{name}: cannot be decompressed .*truncated or damaged"):
        read(tmp_path / name)


def test_damaged(tmp_path):
    packed = bytearray(bz2.compress(CSV.encode() * 1000))
    packed[40:60] = bytes(20)
    (tmp_path / "t.csv").write_bytes(packed)
    with pytest.raises(DataError, match=r"t\.csv: cannot be (read|decompressed)"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("pack", [gzip, bz2, lzma, Zstd])
def test_several_members(tmp_path, pack):
    """Of a second member that begins with a damaged byte, no row may be dropped without an error."""
    first, second = pack.compress(CSV.encode()), pack.compress(b"5,6,1\n")
    path = tmp_path / "t.csv"
    path.write_bytes(first + second)
    assert read(path).X.num_rows == 3
    for changed in range(4):
        damaged = bytearray(second)
        damaged[changed] ^= 0x55
        path.write_bytes(first + damaged)
        if (pack, changed) != (gzip, 3):  # flags
            with pytest.raises(DataError, match=r"t\.csv.*: cannot be decompressed"):
                read(path)
    path.write_bytes(first + second[: len(second) // 2])
    with pytest.raises(DataError, match=r"t\.csv.*: cannot be decompressed .*truncated or damaged"):
        read(path)


@pytest.mark.parametrize("pack", [bz2, lzma])
def test_the_place_of_a_damaged_member(tmp_path, pack):
    first = pack.compress(CSV.encode())
    (tmp_path / "t.csv").write_bytes(first + bytes(8) + first + b"what is this?")
    place = rf"t\.csv, member 3 \(from byte {2 * len(first) + 9:,}\): cannot be decompressed"
    with pytest.raises(DataError, match=place):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_zeros_between_members_and_at_the_end(tmp_path, pack):
    content = [CSV.encode(), b"5,6,1\n", b"7,8,0\n"]
    (tmp_path / "t.csv").write_bytes(b"".join(pack.compress(text) + bytes(2**19) for text in content))
    assert read(tmp_path / "t.csv").X["a"].to_pylist() == [1, -3, 5, 7]


def test_a_zip_archive(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04" + bytes(10))
    with pytest.raises(DataError, match="is a zip archive: decompress it first"):
        read(tmp_path / "t.csv")


def test_neither_format(tmp_path):
    (tmp_path / "t").write_text("Dear Sir or Madam\n")
    with pytest.raises(DataError, match="the format cannot be inferred from the content: give format="):
        read(tmp_path / "t")


def test_an_error_is_a_value_error_and_names_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"t\.csv: no column is named label, target, y or class"):
        read(tmp_path / "t.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_permission(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.csv").chmod(0)
    with pytest.raises(DataError, match="Permission denied"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_dates_in_utc_keep_their_zone(suffix, tmp_path):
    times = pd.date_range("2024-01-01", periods=9, freq="7h", tz="UTC")
    frame = pd.DataFrame({"t": times.strftime("%Y-%m-%dT%H:%M:%SZ"), "y": range(9)})
    path = tmp_path / f"t{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_json(path, orient="records", lines=True)
    encoder = TableEncoder()
    expected = encoder.fit_transform(read(path).X)
    found = encoder.transform(pd.DataFrame({"t": times.tz_convert("Asia/Tokyo")}))
    assert (found != expected).nnz == 0
