"""What the beginning of a CSV file says, and its rows with their line numbers, which the csv module finds."""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import IO, final

from sgdone.machine.memory import size_text
from sgdone.message_text import counted
from sgdone.readers.byte_streams import format_suffix
from sgdone.readers.table import DataError, ReadOptions
from sgdone.readers.text_blocks import BYTE_ORDER_MARK, TextBlock

#: The first column has no name if a table was written with its index: pandas names it so when it reads the file.
_FIRST_NAME = "Unnamed: 0"
_LONGEST_HEADER = 2**26
_UNDECODED = re.compile("[\udc80-\udcff]")

#: Opens a text at its beginning.
Opener = Callable[[], AbstractContextManager[IO[bytes]]]


@final
@dataclass(frozen=True)
class FirstRecord:
    """What the beginning of a file says: its separator, the names of its columns, and where the rows begin.

    ``options`` are those of the reader, with numbers of columns as names if the file has no header. ``skipped`` are the
    bytes and the lines before the first row.
    """

    separator: str
    names: list[str]
    options: ReadOptions
    skipped: tuple[int, int] = (0, 0)

    def rows_of(self, block: TextBlock) -> TextBlock:
        """The rows of the first block of the file."""
        n_bytes, n_lines = self.skipped
        return TextBlock(block.text[n_bytes:], block.line + n_lines, block.n_lines - n_lines)


def first_record(open_text: Opener, options: ReadOptions) -> FirstRecord:
    """Read the header, or the first row of a file without one."""
    with open_text() as stream:
        line, number, size = b"", 0, 0
        while not line.removeprefix(BYTE_ORDER_MARK).strip():
            line, number = stream.readline(_LONGEST_HEADER), number + 1
            size += len(line)
            if not line:
                raise options.error("is empty")
            if len(line) == _LONGEST_HEADER:
                raise options.error(f"is longer than {size_text(_LONGEST_HEADER)}", place=f"line {number}")
    separator = separator_of(line, options)
    if options.header:
        return FirstRecord(separator, _header(line, separator, number, options), options, (size, number))
    with open_text() as stream:
        n_columns = len(next(fields for _, fields in records(stream, separator, options)))
    names = [f"x{column + 1}" for column in range(n_columns)]
    return FirstRecord(separator, names, _named_by_number(names, options))


def separator_of(line: bytes, options: ReadOptions) -> str:
    """What separates cells, by the options or else by the first line."""
    likely = "\t,;" if format_suffix(options.path) in {".tsv", ".tab"} else ",\t;"
    return options.separator or next((mark for mark in likely if mark.encode() in line), likely[0])


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


def records(stream: IO[bytes], separator: str, options: ReadOptions, line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row of a text that begins with a given line."""
    # Bytes that are not UTF-8 become characters that nothing else becomes: see _UNDECODED.
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, delimiter=separator)
    start = line
    try:
        for fields in reader:
            if fields:
                yield start, fields
            start = line + reader.line_num
    except csv.Error as error:
        raise options.error(f'{error}: is a quote (") not closed?', place=f"line {start:,}") from error


def line_of(row: int, stream: IO[bytes], record: FirstRecord, line: int = 1) -> int:
    """The line at which a row begins; rows are numbered from 0."""
    return next(at for i, (at, _) in enumerate(records(stream, record.separator, record.options, line)) if i == row)


def broken_line(
    stream: IO[bytes], record: FirstRecord, wanted: Collection[str], otherwise: str, line: int = 1
) -> DataError:
    """The error for the first line with another number of fields, or with bytes that are not UTF-8."""
    options, n_columns = record.options, len(record.names)
    for at, fields in records(stream, record.separator, options, line):
        if len(fields) != n_columns:
            where = "header" if options.header else "first line"
            found = f"found {counted(len(fields), 'field')}, but the {where} has {counted(n_columns, 'column')}"
            return options.error(f"{found}: correct the line or remove it", place=f"line {at:,}")
        for name, text in zip(record.names, fields, strict=True):
            if name in wanted and _UNDECODED.search(text):
                place = f"line {at:,}, column {name!r}"
                return options.error("is not UTF-8: convert the file (iconv -t utf-8)", place=place)
    return options.error(otherwise)
