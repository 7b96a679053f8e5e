"""Reader for CSV and similar files. Arrow parses them; the slower csv module locates the line of an error."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import IO, Any, final

import pyarrow as pa
import pyarrow.csv as arrow_csv

from sgdone.data.arrow_table import assemble
from sgdone.data.column_choice import choose_columns, named_columns
from sgdone.data.compressed_files import format_suffix, opened
from sgdone.data.csv_columns import typed_column
from sgdone.data.csv_labels import typed_labels
from sgdone.data.memory import MemoryBudget, size_text
from sgdone.data.reader import Reader
from sgdone.data.table import DataError, ReadOptions, Table
from sgdone.message_text import counted

#: Arrow needs blocks of at least one line. This many bytes per column leave room for values of up to 1 kB.
_BYTES_PER_COLUMN = 1024
_SMALLEST_BLOCK = 2**22
#: The first column has no name if a table was written with its index: pandas names it so when it reads the file.
_FIRST_NAME = "Unnamed: 0"
_LONGEST_HEADER = 2**26
_UNDECODED = re.compile("[\udc80-\udcff]")


class _Counted(io.RawIOBase):
    """A stream that raises before a table of its lines outgrows the memory.

    Arrow keeps the text, and the end of each field in 4 bytes; then come a column of strings, with the end of each in 8
    bytes, a column of numbers of 8 bytes, and a matrix of 8 bytes for each field.
    """

    def __init__(self, stream: IO[bytes], n_columns: int, n_used: int, budget: MemoryBudget) -> None:
        self._stream, self._budget = stream, budget
        self._bytes_per_line = 4 * n_columns + 24 * n_used
        self._bytes = self._lines = 0

    def readable(self) -> bool:
        """True: Arrow asks."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read and count."""
        piece = self._stream.read(size)
        self._bytes += len(piece)
        self._lines += piece.count(b"\n")
        needed = 2 * self._bytes + self._bytes_per_line * self._lines
        self._budget.check(needed, f"{counted(self._lines, 'line')} so far")
        return piece


def read_delimited(options: ReadOptions) -> Table:
    """Read a file of cells separated by commas, tabs, semicolons or another character, with or without a header.

    Empty cells and unquoted ``NA``, ``null``, ``NaN`` and similar are missing values; ``"NA"`` in quotes is text.
    """
    with opened(options.path) as stream:
        first = _first_record(stream, options)
        columns = choose_columns(first.names, first.options)
        if not options.header:
            stream.seek(0)
        types = dict.fromkeys(columns.read(), pa.large_string())
        if columns.label is not None:
            types[columns.label] = pa.binary()  # labels need not be UTF-8 to be located
        table = _strings(stream, first, types, nulls=True)
    strings = dict(zip(table.column_names, table.columns, strict=True))
    del table  # the strings of a column go when it has been typed

    def typed(name: str) -> Any:
        column = strings.pop(name)
        if name == columns.label:
            return typed_labels(column)
        return column if name in first.options.as_strings and name != columns.weight else typed_column(column)

    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        found = list(pool.map(typed, columns.read()))
    made = pa.table(found, names=columns.read())
    return assemble(made, columns, first.options, lambda row: f"line {_line(row, first):,}")


def read_as_written(options: ReadOptions) -> dict[str, list[str]]:
    """Read the columns that ``features`` names as strings, without a word for missing values."""
    with opened(options.path) as stream:
        first = _first_record(stream, options)
        columns = named_columns(first.options.features or (), first.names, first.options)
        if not options.header:
            stream.seek(0)
        table = _strings(stream, first, dict.fromkeys(columns, pa.large_string()), nulls=False)
    return {name: table.column(name).to_pylist() for name in columns}


@final
@dataclass(frozen=True)
class _FirstRecord:
    """What the beginning of a file says: its separator and the names of its columns.

    ``options`` are those of the reader, with numbers of columns as names if the file has no header.
    """

    separator: str
    names: list[str]
    options: ReadOptions


def _first_record(stream: IO[bytes], options: ReadOptions) -> _FirstRecord:
    line, number = b"", 0
    while not line.strip():
        line, number = stream.readline(_LONGEST_HEADER), number + 1
        if not line:
            raise options.error("is empty")
        if len(line) == _LONGEST_HEADER:
            raise options.error(f"is longer than {size_text(_LONGEST_HEADER)}", place=f"line {number}")
    separator = options.separator or _separator(line, options)
    if options.header:
        return _FirstRecord(separator, _header(line, separator, number, options), options)
    n_columns = len(next(fields for _, fields in _records(separator, options)))
    names = [f"x{column + 1}" for column in range(n_columns)]
    return _FirstRecord(separator, names, _named_by_number(names, options))


def _named_by_number(names: list[str], options: ReadOptions) -> ReadOptions:
    """The options with columns given as 1, 2, … by their names."""
    numbers = {name[1:]: name for name in names}

    def name_of(text: str) -> str:
        return numbers.get(text, text)

    return replace(
        options,
        label=None if options.label is None else name_of(options.label),
        weight=None if options.weight is None else name_of(options.weight),
        features=None if options.features is None else [name_of(name) for name in options.features],
        drop=[name_of(part.strip()) for text in options.drop for part in text.split(",")],
        as_strings=[name_of(text) for text in options.as_strings],
    )


def _strings(stream: IO[bytes], first: _FirstRecord, types: dict[str, Any], *, nulls: bool) -> Any:
    """The columns that have a type; unquoted ``NA``, ``null`` and similar are nulls, if there are to be any."""
    options, names = first.options, first.names
    try:
        return arrow_csv.read_csv(
            _Counted(stream, len(names), len(types), options.budget()),
            read_options=arrow_csv.ReadOptions(
                column_names=names, block_size=max(_SMALLEST_BLOCK, _BYTES_PER_COLUMN * len(names))
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=first.separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                strings_can_be_null=nulls,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _broken_line(first, types, str(error)) from error


def _separator(line: bytes, options: ReadOptions) -> str:
    likely = "\t,;" if format_suffix(options.path) in {".tsv", ".tab"} else ",\t;"
    return next((mark for mark in likely if mark.encode() in line), likely[0])


def _header(line: bytes, separator: str, number: int, options: ReadOptions) -> list[str]:
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
        names = [name.strip() for name in next(csv.reader([text], delimiter=separator, strict=True))]
    except UnicodeDecodeError as error:
        raise options.error("is not UTF-8: convert it (iconv -t utf-8)", place=f"line {number}") from error
    except csv.Error as error:
        if "\r" in text:
            raise options.error("lines end in a carriage return alone: end them in a line feed") from error
        raise options.error(f"the header cannot be read: {error}", place=f"line {number}") from error
    if names[0] == "" and len(names) > 1 and _FIRST_NAME not in names:
        names[0] = _FIRST_NAME
    if _is_data(names):
        raise options.error(
            f"contains numbers ({names[0]}{separator}…) instead of column names: add a header line, or read it with "
            "header=False",
            place=f"line {number}",
        )
    return names


def _is_data(names: list[str]) -> bool:
    """Whether a header is all numbers. 0, 1, 2, … are accepted: the default column names of data frames."""
    try:
        values = [float(name) for name in names]
    except ValueError:
        return False
    return values not in ([float(i) for i in range(len(names))], [i + 1.0 for i in range(len(names))])


def _records(separator: str, options: ReadOptions) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of the header and of each row."""
    with opened(options.path) as stream:
        # Bytes that are not UTF-8 become characters that nothing else becomes: see _UNDECODED.
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, delimiter=separator)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except csv.Error as error:
            raise options.error(f'{error}: is a quote (") not closed?', place=f"line {start:,}") from error


def _line(row: int, first: _FirstRecord) -> int:
    records = _records(first.separator, first.options)
    return next(line for i, (line, _) in enumerate(records) if i == row + first.options.header)


def _broken_line(first: _FirstRecord, wanted: Collection[str], otherwise: str) -> DataError:
    """The error for the first line with another number of fields, or with bytes that are not UTF-8."""
    options, n_columns, rows = first.options, len(first.names), 0
    for line, fields in _records(first.separator, options):
        if len(fields) != n_columns:
            where = "header" if options.header else "first line"
            found = f"found {counted(len(fields), 'field')}, but the {where} has {counted(n_columns, 'column')}"
            return options.error(f"{found}: correct the line or remove it", place=f"line {line:,}")
        for name, text in zip(first.names, fields, strict=True):
            if name in wanted and _UNDECODED.search(text):
                place = f"line {line:,}, column {name!r}"
                return options.error("is not UTF-8: convert the file (iconv -t utf-8)", place=place)
        rows += 1
    return options.error(otherwise if rows > options.header else "has column names but no rows")


READER = Reader("csv", (".csv", ".tsv", ".tab"), read_delimited, read_as_written)
