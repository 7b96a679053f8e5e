"""Reader for data files: svmlight, CSV and Parquet, optionally compressed with gzip, bzip2 or xz."""

import os
from collections.abc import Collection, Sequence
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
    skip_unlabelled: bool = False,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    allow_missing: bool = False,
    drop: Sequence[str] = (),
    weight: str | None = None,
    as_strings: Collection[str] = (),
    separator: str | None = None,
    header: bool = True,
    format: str | None = None,
) -> Table:
    r"""Read a file of features and labels.

    The types of the columns of a CSV file follow from all of their cells: see :mod:`sgdone.data.csv_columns`.

    Parameters
    ----------
    path : path
        A svmlight, CSV or Parquet file.
    label : str, optional
        Name of the label column, or a condition on a column of numbers, such as ``"delay > 15"``, whose labels are True
        and False. By default the column named label, target, y or class.
    require_label : bool, default=True
        Whether to raise an error for a file without labels. If False, ``y`` of a file in which labels are missing is
        None.
    skip_unlabelled : bool, default=False
        Whether rows without a label are skipped, if others have one; ``labelled`` of the table then has the numbers of
        the others. If False, a missing label raises an error.
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
        Whether features may be infinite, and those of a svmlight file NaN. If False, such a value raises an error.
        Gaps in the columns of CSV and Parquet files are always allowed.
    drop : sequence of str, optional
        Columns to leave out. Each is a name, or several names with commas between them.
    weight : str, optional
        Name of the column with the weights of the rows, which is not a feature. It may be absent from a file that
        needs no labels.
    as_strings : collection of str, optional
        Columns of a CSV file that stay strings, whatever their cells are.
    separator : str, optional
        What separates the cells of a CSV file. By default a comma, tab or semicolon, whichever is in the first line.
    header : bool, default=True
        Whether the first line of a CSV file names the columns. If not, they are named x1, x2, …, and their numbers
        are names too.
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
    >>> table.X.to_pydict()
    {'hours': [1.5, 3.0], 'sleep': [8.0, 7.5]}
    >>> table.y
    array(['no', 'yes'], dtype='<U3')
    >>> table.feature_names
    ['hours', 'sleep']
    """
    options = ReadOptions(
        path=Path(path),
        label=label,
        require_label=require_label,
        skip_unlabelled=skip_unlabelled,
        features=features,
        n_features=n_features,
        zero_based=zero_based,
        allow_missing=allow_missing,
        drop=drop,
        weight=weight,
        as_strings=as_strings,
        separator=separator,
        header=header,
    )
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


def read_as_written(
    path: str | os.PathLike[str], columns: Sequence[str], *, separator: str | None = None, header: bool = True
) -> dict[str, list[str]]:
    r"""Read columns of a CSV or Parquet file as strings, as they are written; missing values are empty strings.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = file.write_text("id,a\nNA,1\n007,2\n")
    >>> read_as_written(file, ["id"])
    {'id': ['NA', '007']}
    """
    options = ReadOptions(Path(path), features=columns, require_label=False, separator=separator, header=header)
    reader = readers()[_format(options)]
    if reader.read_as_written is None:
        raise options.error("has no names of columns: use a CSV or Parquet file")
    return reader.read_as_written(options)


def _format(options: ReadOptions) -> str:
    suffix = format_suffix(options.path)
    with opened(options.path) as stream:
        for reader in readers().values():
            if suffix in reader.suffixes:
                return reader.name
        head = stream.read(2**16)
    found = "csv" if options.separator is not None or not options.header else _sniff(head)
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
