"""Reader for data files, whole or in parts, optionally compressed with gzip, bzip2, xz or zstd."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sgdone.machine.memory import available_memory, size_text
from sgdone.readers.byte_streams import can_be_read_again, format_suffix, head_of
from sgdone.readers.formats.json_lines import ONE_OBJECT_A_LINE
from sgdone.readers.input_files import Given, InputFile, location
from sgdone.readers.locations import Location, shown
from sgdone.readers.reader import readers
from sgdone.readers.table import ReadOptions, Table, reads_as_number

#: Bytes in which the format is looked for.
_HEAD = 2**16


def read(path: Given, options: ReadOptions | None = None, **changes: Any) -> Table:
    r"""Read a file of features and labels; ``changes`` are options in place of those of ``options``.

    All cells of a column of a CSV file decide its type: see :mod:`sgdone.readers.formats.csv.columns`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
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
    options = replace(options or ReadOptions(), path=location(path), **changes)
    _check_can_be_read_again(options)
    try:
        return readers()[format_of(options)].read(options)
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        raise options.error(
            f"does not fit into the {size_text(available_memory() or 0)} of memory that are available{reason}: use "
            "fewer rows or columns, or a machine with more memory"
        ) from error


def read_parts(files: Sequence[InputFile], options: ReadOptions) -> Iterator[Table]:
    """Read the rows of several files as one table, a few megabytes at a time.

    All tables have the same columns, of the same types; ``labelled`` counts from the first row of each part. If rows
    without labels are skipped, a table may have no rows. Standard input and pipes can be read once.
    """
    each = [replace(options, path=file.path) for file in files]
    name = same_format(each)
    return _with_rows(readers()[name].parts(each), each[0])


def same_format(files: Sequence[ReadOptions]) -> str:
    """The format of several files: that of the first one; raise if the name of another says otherwise."""
    name = format_of(files[0])
    for other in files[1:]:
        found = _by_suffix(other.path)
        if other.format is None and found not in (name, None):
            raise other.error(f"is {found}, but {shown(files[0].path)} is {name}: read files of one format at a time")
    return name


def _with_rows(tables: Iterator[Table], options: ReadOptions) -> Iterator[Table]:
    """The tables, and an error at their end if there are no rows, or all have been skipped."""
    sizes = []
    for table in tables:
        sizes.append(table.n_rows)
        yield table
    if not any(sizes):
        raise options.error("no row has a label: give files with labels" if sizes else "has column names but no rows")


def read_as_written(path: Given, columns: Sequence[str], **options: Any) -> dict[str, list[str]]:
    r"""Read columns of a CSV or Parquet file as strings, as they are written; missing values are empty strings."""
    how = ReadOptions(location(path), features=columns, require_label=False, **options)
    found: dict[str, list[str]] = {}
    for part in written_parts([InputFile(how.path)], how):
        for name, cells in part.items():
            found.setdefault(name, []).extend(cells)
    return found


def written_parts(files: Sequence[InputFile], options: ReadOptions) -> Iterator[dict[str, list[str]]]:
    """Read the columns that ``options.features`` names as `read_as_written` does, some rows at a time."""
    for file in files:
        _check_can_be_read_again(replace(options, path=file.path))
    reader = readers()[format_of(options)]
    if reader.written_parts is None:
        raise options.error("has no names of columns: use a CSV or Parquet file")
    return reader.written_parts([replace(options, path=file.path) for file in files])


def format_of(options: ReadOptions) -> str:
    """The name of the format of a file: the given one, or by its extension, or by its content."""
    known, format = readers(), options.format
    if format is not None:
        if format not in known:
            raise ValueError(f"format={format!r} is none of {', '.join(map(repr, sorted(known)))}")
        return format
    named = _by_suffix(options.path)
    head = head_of(options.path, _HEAD if named is None else 1)  # also an error for a file that cannot be opened
    if named is not None:
        return named
    found = "csv" if options.separator is not None or not options.header else _sniff(head)
    if found is not None:
        return found
    if not head.strip():
        raise options.error("is empty")
    suffix = format_suffix(options.path)
    if suffix in {".txt", ".dat"}:
        return "svmlight"
    if suffix == ".json":
        raise options.error(f"is not JSON lines: {ONE_OBJECT_A_LINE}")
    raise options.error("the format cannot be inferred from the content: give format=, or a file extension like .csv")


def _by_suffix(path: Location) -> str | None:
    suffix = format_suffix(path)
    return next((reader.name for reader in readers().values() if suffix in reader.suffixes), None)


def _check_can_be_read_again(options: ReadOptions) -> None:
    if not can_be_read_again(options.path):
        raise options.error("is a pipe or device, which cannot be read twice; give a regular file")


def _sniff(head: bytes) -> str | None:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):  # a file or a stream
        return "arrow"
    if head.lstrip().startswith(b"{"):
        return "jsonl"
    lines = head.splitlines()[:20]
    if _looks_like_vw([line for line in lines if line.strip()]):
        return "vw"
    # Use the longest of the first lines: a svmlight row without features is a label alone.
    line = max((line.split(b"#", 1)[0] for line in lines), key=len, default=b"")
    entries = line.split()[1:]
    if entries and b"," not in line and all(b":" in entry for entry in entries):
        return "svmlight"
    return "csv" if any(mark in line for mark in (b",", b"\t", b";")) else None


def _looks_like_vw(lines: Sequence[bytes]) -> bool:
    """Whether each line has a ``|``, after nothing, or a number and a blank, or a tag.

    Examples
    --------
    >>> _looks_like_vw([b"1 |f a:2", b"| b"]), _looks_like_vw([b"1|2|3"]), _looks_like_vw([b"a | b,c"])
    (True, False, False)
    """
    for line in lines:
        label, bar, _ = line.partition(b"|")
        words = label.split()
        if not bar or (len(words) == 1 and label == label.rstrip() and not words[0].startswith(b"'")):
            return False
        if words and not (words[0].startswith(b"'") or reads_as_number(words[0].decode("latin-1"))):
            return False
    return bool(lines)
