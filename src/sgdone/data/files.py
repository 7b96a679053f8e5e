"""Reader for data files: svmlight, CSV and Parquet, optionally compressed with gzip, bzip2 or xz."""

import os
from collections.abc import Sequence
from pathlib import Path

from sgdone.data.compressed_files import format_suffix, opened
from sgdone.data.memory import available_memory, size_text
from sgdone.data.reader import readers
from sgdone.data.table import DataError, ReadOptions, Table

__all__ = ["DataError", "Table", "read"]


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    require_label: bool = True,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    allow_missing: bool = False,
    format: str | None = None,
) -> Table:
    r"""Read a file of numeric features and labels.

    Parameters
    ----------
    path : path
        A svmlight, CSV (commas, tabs or semicolons; with a header) or Parquet file.
    label : str, optional
        Name of the label column. By default the column named label, target, y or class.
    require_label : bool, default=True
        Whether to raise an error for a file without labels. If False, ``y`` of such a file is None.
    features : sequence of str, optional
        The feature columns to read, in this order; others are ignored. By default all but the label. For svmlight,
        ``feature 7`` is the column of index 7.
    n_features : int, optional
        Expected number of features. For svmlight, the largest number of features allowed and the number of
        columns of ``X``.
    zero_based : bool, default=False
        Whether the indices of a svmlight file start at 0. This is not inferred, because a training file and
        its test file must agree.
    allow_missing : bool, default=False
        Whether features may be missing (NaN in ``X``) or infinite. If False, such a value raises an error.
    format : {"csv", "parquet", "svmlight"}, optional
        By default inferred from the file extension or, failing that, from the first lines.

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
        raise TypeError(f"features={features!r} is a string: give a list of column names")
    known = readers()
    if format is not None and format not in known:
        raise ValueError(f"format={format!r} is none of {', '.join(map(repr, sorted(known)))}")
    try:
        return known[format or _format(options)].read(options)
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        raise options.error(
            f"does not fit into the {size_text(available_memory() or 0)} of memory that are available{reason}: use "
            "fewer rows or columns, or a machine with more memory"
        ) from error


def _format(options: ReadOptions) -> str:
    suffix = format_suffix(options.path)
    with opened(options.path) as stream:
        for reader in readers().values():
            if suffix in reader.suffixes:
                return reader.name
        head = stream.read(2**16)
    found = _sniff(head)
    if found is not None:
        return found
    if not head.strip():
        raise options.error("is empty")
    if suffix in {".txt", ".dat"}:
        return "svmlight"
    raise options.error("the format cannot be inferred from the content: give format=, or a file extension like .csv")


def _sniff(head: bytes) -> str | None:
    if head.startswith(b"PAR1"):
        return "parquet"
    # Use the longest of the first lines: a svmlight row without features is a label alone.
    line = max((line.split(b"#", 1)[0] for line in head.splitlines()[:20]), key=len, default=b"")
    entries = line.split()[1:]
    if entries and b"," not in line and all(b":" in entry for entry in entries):
        return "svmlight"
    return "csv" if any(mark in line for mark in (b",", b"\t", b";")) else None
