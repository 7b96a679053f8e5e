"""Reader for CSV and similar files. Arrow parses them; the slower csv module locates the line of an error."""

import csv
import io
from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from sgdone.data.arrow_table import assemble
from sgdone.data.column_choice import choose_columns
from sgdone.data.compressed_files import format_suffix, opened
from sgdone.data.csv_labels import typed
from sgdone.data.memory import MemoryBudget, size_text
from sgdone.data.reader import Reader
from sgdone.data.table import DataError, ReadOptions, Table
from sgdone.message_text import counted

#: Arrow needs blocks of at least one line. This many bytes per column leave room for values of up to 1 kB.
_BYTES_PER_COLUMN = 1024
_SMALLEST_BLOCK = 2**20
_LONGEST_HEADER = 2**26


class _Counted(io.RawIOBase):
    """A stream that raises before a table of its lines outgrows the memory.

    Arrow keeps the text, and the end of each field in 4 bytes, until all types are known; then come a column of 8 bytes
    and a matrix of 8 bytes for each field.
    """

    def __init__(self, stream: IO[bytes], n_columns: int, n_used: int, budget: MemoryBudget) -> None:
        self._stream, self._budget = stream, budget
        self._bytes_per_line = 4 * n_columns + 16 * n_used
        self._bytes = self._lines = 0

    def readable(self) -> bool:
        """True: Arrow asks."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read and count."""
        piece = self._stream.read(size)
        self._bytes += len(piece)
        self._lines += piece.count(b"\n")
        needed = self._bytes + self._bytes_per_line * self._lines
        self._budget.check(needed, f"{counted(self._lines, 'line')} so far")
        return piece


def read_delimited(options: ReadOptions) -> Table:
    """Read a file whose first line names the columns, separated by commas, tabs or semicolons.

    Empty fields and unquoted ``NA``, ``null``, ``NaN`` and similar are missing values; ``"NA"`` in quotes is text.
    """
    with opened(options.path) as stream:
        line, number = b"", 0
        while not line.strip():
            line, number = stream.readline(_LONGEST_HEADER), number + 1
            if not line:
                raise options.error("is empty")
            if len(line) == _LONGEST_HEADER:
                raise options.error(f"is longer than {size_text(_LONGEST_HEADER)}", place=f"line {number}")
        separator = _separator(line, options)
        names = _header(line, separator, number, options)
        features, label = choose_columns(names, options)
        try:
            table = arrow_csv.read_csv(
                _Counted(stream, len(names), 1 + len(features), options.budget()),
                read_options=arrow_csv.ReadOptions(
                    column_names=names, block_size=max(_SMALLEST_BLOCK, _BYTES_PER_COLUMN * len(names))
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=features if label is None else [*features, label],
                    column_types={} if label is None else {label: pa.binary()},
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            raise _broken_line(separator, len(names), options, str(error)) from error
    if label is not None:
        place = table.column_names.index(label)
        table = table.set_column(place, label, typed(table.column(label)))
    return assemble(table, features, label, options, lambda row: f"line {_line(row, separator, options):,}")


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
    if _is_data(names):
        raise options.error(
            f"contains numbers ({names[0]}{separator}…) instead of column names: add a header line",
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
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="backslashreplace", newline="")
        reader = csv.reader(text, delimiter=separator)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except csv.Error as error:
            raise options.error(f'{error}: is a quote (") not closed?', place=f"line {start:,}") from error


def _line(row: int, separator: str, options: ReadOptions) -> int:
    return next(line for i, (line, _) in enumerate(_records(separator, options)) if i == row + 1)


def _broken_line(separator: str, n_columns: int, options: ReadOptions, otherwise: str) -> DataError:
    rows = 0
    for line, fields in _records(separator, options):
        if len(fields) != n_columns:
            found = f"found {counted(len(fields), 'field')}, but the header has {counted(n_columns, 'column')}"
            return options.error(f"{found}: correct the line or remove it", place=f"line {line:,}")
        rows += 1
    return options.error(otherwise if rows > 1 else "has column names but no rows")


READER = Reader("csv", (".csv", ".tsv", ".tab"), read_delimited)
