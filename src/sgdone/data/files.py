"""Files of rows, by their format: svmlight, CSV and Parquet, also gzip-, bzip2- or xz-compressed."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from sgdone.data.compressed_files import format_suffix, opened
from sgdone.data.delimited import read_delimited
from sgdone.data.parquet import read_parquet
from sgdone.data.svmlight import read_svmlight
from sgdone.data.table import DataError, ReadOptions, Table

__all__ = ["DataError", "Format", "Table", "read"]

Format = Literal["csv", "parquet", "svmlight"]

_READERS: dict[Format, Callable[[ReadOptions], Table]] = {
    "csv": read_delimited,
    "parquet": read_parquet,
    "svmlight": read_svmlight,
}
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
}


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    require_label: bool = True,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    allow_missing: bool = False,
    format: Format | None = None,
) -> Table:
    r"""Read a file of numeric features and labels.

    Parameters
    ----------
    path : path
        A svmlight, CSV (commas, tabs or semicolons; with a header) or Parquet file.
    label : str, optional
        Name of the label column. By default the one called label, target, y or class.
    require_label : bool, default=True
        Whether a file without labels is an error; if not, its ``y`` is None.
    features : sequence of str, optional
        The feature columns to read, in this order; others are ignored. By default all but the label.
    n_features : int, optional
        How many features the file must have; for svmlight, the most it may have, and the number of
        columns of ``X``.
    zero_based : bool, default=False
        Whether the indices of a svmlight file count from 0. They are not guessed, since a training file and
        its test file must agree.
    allow_missing : bool, default=False
        Whether features may be missing (NaN in ``X``) or infinite; by default the first that is makes an error.
    format : {"csv", "parquet", "svmlight"}, optional
        By default told from the name's suffix, or else from the first line.

    Returns
    -------
    Table
        Features, labels and their names.

    Raises
    ------
    DataError
        If the file cannot be used; the message names the line and the column.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "grades.csv"
    >>> _ = file.write_text("hours,sleep,passed\n1.5,8,no\n3,7.5,yes\n")
    >>> table = read(file, label="passed")
    >>> table.X
    array([[1.5, 8. ],
           [3. , 7.5]])
    >>> table.y
    array(['no', 'yes'], dtype='<U3')
    >>> table.feature_names
    ['hours', 'sleep']
    """
    options = ReadOptions(Path(path), label, require_label, features, n_features, zero_based, allow_missing)
    if isinstance(features, str):
        raise TypeError(f"features={features!r} is one name: give a list of names")
    if format is not None and format not in _READERS:
        raise ValueError(f"format={format!r} is none of {', '.join(_READERS)}")
    return _READERS[format or _format(options)](options)


def _format(options: ReadOptions) -> Format:
    suffix = format_suffix(options.path)
    with opened(options.path) as stream:
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        head = stream.read(2**16)
    found = _sniff(head)
    if found is not None:
        return found
    if not head.strip():
        raise options.error("is empty")
    if suffix in {".txt", ".dat"}:
        return "svmlight"
    raise options.error("is neither svmlight, CSV nor Parquet by its looks: give format=, or a suffix like .csv")


def _sniff(head: bytes) -> Format | None:
    if head.startswith(b"PAR1"):
        return "parquet"
    # The longest of the first lines: a row of svmlight without features is a bare label.
    line = max((line.split(b"#", 1)[0] for line in head.splitlines()[:20]), key=len, default=b"")
    entries = line.split()[1:]
    if entries and b"," not in line and all(b":" in entry for entry in entries):
        return "svmlight"
    return "csv" if any(mark in line for mark in (b",", b"\t", b";")) else None
