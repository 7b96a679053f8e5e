"""Records and cells of a CSV file: its first record, the types that its beginning decides, and cells of these types."""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from sgdone.kernels.csv_numbers import NOT_NUMBERS, SKIPPED, read_rows
from sgdone.kernels.decimal_number import power_table
from sgdone.kernels.instructions import PADDING
from sgdone.machine.memory import size_text
from sgdone.matrices.stacking import ReusedArrays
from sgdone.message_text import counted
from sgdone.readers import text_blocks
from sgdone.readers.byte_streams import format_suffix
from sgdone.readers.column_choice import Columns
from sgdone.readers.formats.csv.columns import (
    BOOLEAN,
    FALSE,
    NUMBER,
    TIMESTAMP,
    TRUE,
    ColumnType,
    as_type,
    labels_as,
    typed_labels,
)
from sgdone.readers.locations import shown
from sgdone.readers.table import DataError, ReadOptions, shortened
from sgdone.readers.text_blocks import BYTE_ORDER_MARK, TextBlock
from sgdone.tables.cell_values import warn_of_misprints
from sgdone.tables.string_cells import CELLS_PER_MISPRINT, MISSING_WORDS, Misprints, numbers_and_misprints

#: The first column has no name if a table was written with its index: pandas names it so when it reads the file.
_FIRST_NAME = "Unnamed: 0"
_LONGEST_HEADER = 2**26
_UNDECODED = re.compile("[\udc80-\udcff]")

#: Opens a text at its beginning.
Opener = Callable[[], AbstractContextManager[IO[bytes]]]


@final
@dataclass(frozen=True)
class FirstRecord:
    """Beginning of a file: its separator, the names of its columns, and where the rows begin.

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
    """Separator of cells, by the options or else by the first line."""
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


def line_of(row: int, block: TextBlock, record: FirstRecord) -> int:
    """The line at which a row of a block begins; rows are numbered from 0."""
    found = records(io.BytesIO(block.text), record.separator, record.options, block.line)
    return next(line for line, _ in islice(found, row, None))


def broken_line(block: TextBlock, record: FirstRecord, wanted: Collection[str], otherwise: str) -> DataError:
    """The error for the first line with another number of fields, or with bytes that are not UTF-8."""
    options, n_columns = record.options, len(record.names)
    for at, fields in records(io.BytesIO(block.text), record.separator, options, block.line):
        if len(fields) != n_columns:
            where = "header" if options.header else "first line"
            found = f"found {counted(len(fields), 'field')}, but the {where} has {counted(n_columns, 'column')}"
            return options.error(f"{found}: correct the line or remove it", place=f"line {at:,}")
        for name, text in zip(record.names, fields, strict=True):
            if name in wanted and _UNDECODED.search(text):
                place = f"line {at:,}, column {name!r}"
                return options.error("is not UTF-8: convert the file (iconv -t utf-8)", place=place)
    return options.error(otherwise)


#: Blocks that have cells of numbers which are not written plainly, before no other is expected to have none.
_MOST_FAILURES = 4
#: Bytes of the pieces of a block that Arrow parses at the same time, and those for each column at least.
_PIECE, _BYTES_PER_COLUMN = 2**20, 1024
_TEXT = pa.large_string()
_FOUND = {NUMBER: "numbers", BOOLEAN: "true and false", TIMESTAMP: "dates", pa.int64(): "whole numbers"}


@final
class CellParser:
    """Parses blocks of rows to columns of fixed types.

    ``misprints`` are the numbers of cells of the beginning that are no numbers, by column of numbers.
    """

    def __init__(self, types: dict[str, Any], columns: Columns, misprints: Mapping[str, int]) -> None:
        self._types, self._columns = types, columns
        self._expected, self._misprints = misprints, dict.fromkeys(types, 0)
        self._cells = dict.fromkeys(types, 0)
        self._as_text: set[str] = set()  # columns with cells that Arrow does not read as their type
        self._arrays = ReusedArrays()
        self._failures = 0
        self._nulls = arrow_csv.ConvertOptions().null_values
        if _TEXT not in types.values():  # among strings these words are values
            self._nulls = [*self._nulls, *MISSING_WORDS]

    def numbers(self, block: TextBlock, record: FirstRecord) -> dict[str, Any]:
        """Columns of numbers of a block that are written plainly; it can be called in several threads."""
        types = {name: kind for name, kind in self._types.items() if kind in NUMBERS and name not in self._as_text}
        if self._failures >= _MOST_FAILURES:
            return {}
        found = number_columns(block, record, types, self._arrays)
        self._failures += found is None
        return found or {}

    def table(self, block: TextBlock, record: FirstRecord, numbers: dict[str, Any] | None = None) -> Any:
        """The columns of the rows of a block, of which some may be known."""
        known = numbers or {}
        others = {name: kind for name, kind in self._types.items() if name not in known}
        for name, column in known.items():
            self._cells[name] += len(column) - column.null_count
        made = dict(zip(others, self._parsed_by_arrow(block, record, others), strict=True)) if others else {}
        columns = known | made
        return pa.table([columns[name] for name in self._types], names=list(self._types))

    def _parsed_by_arrow(self, block: TextBlock, record: FirstRecord, wanted: dict[str, Any]) -> list[Any]:
        types = {name: _TEXT if name in self._as_text else kind for name, kind in wanted.items()}
        try:
            found = _read(block, record, types, self._nulls)
        except pa.ArrowInvalid:
            strings = strings_of(block, record, list(wanted))
            self._as_text |= {name for name, kind in wanted.items() if not _is_plain(strings.column(name), kind)}
            found = strings
        made, misprints = [], list[tuple[str, str, Misprints]]()
        for column, (name, kind) in zip(found.columns, wanted.items(), strict=True):
            if column.type != kind:
                column, bad = self._converted(column, name, block, record)
                if bad is not None:
                    line = line_of(int(bad.rows[0]), block, record)
                    misprints.append((name, f"line {line:,} of {shown(record.options.path)}", bad))
            self._cells[name] += len(column) - column.null_count
            made.append(column)
        warn_of_misprints(misprints)
        return made

    def _converted(
        self, strings: Any, name: str, block: TextBlock, record: FirstRecord
    ) -> tuple[Any, Misprints | None]:
        """The column as its type, and cells that are no numbers if they are the first of few in the files."""
        made = self._parsed(strings, name)
        if made is not None:
            return made, None
        numbers, bad = None, None
        if self._types[name] == NUMBER and name in self._columns.features:
            numbers, bad = numbers_and_misprints(strings, most=1.0) or (None, None)
        if bad is None:
            raise self._contradiction(strings, name, block, record)
        first, cells = not self._misprints[name], self._cells[name] + bad.cells
        self._misprints[name] += bad.rows.size
        if self._misprints[name] > max(self._expected.get(name, 0), cells // CELLS_PER_MISPRINT):
            raise self._contradiction(strings, name, block, record)
        return numbers, replace(bad, cells=cells) if first else None

    def _parsed(self, strings: Any, name: str) -> Any | None:
        return (labels_as if name == self._columns.label else as_type)(strings, self._types[name])

    def _contradiction(self, strings: Any, name: str, block: TextBlock, record: FirstRecord) -> DataError:
        fitting, rest = 0, len(strings)  # rows that fit for certain, and rows of which the first that does not is one
        while rest > 1:
            half = rest // 2
            if self._parsed(strings.slice(fitting, half), name) is None:
                rest = half
            else:
                fitting, rest = fitting + half, rest - half
        line = line_of(fitting, block, record)
        what, head = _FOUND[self._types[name]], size_text(text_blocks.HEAD)
        if name == self._columns.label:
            problem = f"is not among {what}, and the labels of the first {head} are {what} only"
            advice = "write all labels alike, or shuffle the rows"
        elif name == self._columns.weight:
            problem, advice = "is not a number: weights must be numbers", "correct the cell"
        else:
            only = "almost only" if self._expected.get(name) else "only"
            problem = f"does not fit: the column has {only} {what} in the first {head}"
            advice = f"correct the cell, or pass columns={{{name!r}: 'category'}}"
        cell = shortened(strings[fitting].as_py())
        return record.options.error(f"{cell!r} {problem}: {advice}", place=f"line {line:,}, column {name!r}")


def decide_types(
    head: Sequence[tuple[TextBlock, FirstRecord]], columns: Columns
) -> tuple[dict[str, Any], dict[str, int]]:
    """The types of the columns to read, by the cells of the first blocks of rows; and numbers of misprints there."""
    as_strings = head[0][1].options.as_strings if head else ()
    fixed = {name for name in columns.features if name in as_strings}
    found = {name: ColumnType() for name in columns.read() if name != columns.label}
    labels, arrays = [], ReusedArrays()
    for block, record in head:
        # Columns that were numbers so far probably still are. One with two types is of strings, and not parsed further.
        likely = {name: NUMBER for name, own in found.items() if own.is_number and name not in fixed}
        known = number_columns(block, record, likely, arrays) or {}
        settled = fixed | known.keys()
        open_columns = [name for name, own in found.items() if name not in settled and not own.is_text]
        label = [] if columns.label is None else [columns.label]
        strings = strings_of(block, record, [*open_columns, *label])
        for name in open_columns:
            found[name].add(strings.column(name))
        for name, numbers in known.items():
            found[name].add_numbers(numbers)
        labels += [strings.column(name).unique() for name in label]
    types = {name: _TEXT if name in fixed else own.type or _TEXT for name, own in found.items()}
    if columns.label is not None:
        types[columns.label] = _label_type(labels, columns)
    return {name: types[name] for name in columns.read()}, {name: own.misprints for name, own in found.items()}


def _label_type(labels: list[Any], columns: Columns) -> Any:
    kind = typed_labels(pa.chunked_array(labels, _TEXT)).type if labels else _TEXT
    if kind == pa.int64() and columns.condition is not None:
        return pa.float64()  # compared with a number, and not shown
    return kind if kind in _FOUND else _TEXT


def strings_of(block: TextBlock, record: FirstRecord, names: Sequence[str], *, nulls: bool = True) -> Any:
    """Columns of a block as strings; a row that cannot be read is an error that names its line."""
    try:
        words = arrow_csv.ConvertOptions().null_values if nulls else []
        return _read(block, record, dict.fromkeys(names, _TEXT), words)
    except pa.ArrowInvalid as error:
        raise broken_line(block, record, names, str(error)) from error


def _read(block: TextBlock, record: FirstRecord, types: dict[str, Any], null_values: list[str]) -> Any:
    if not block.text.strip():
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    return arrow_csv.read_csv(
        pa.BufferReader(block.text),
        read_options=arrow_csv.ReadOptions(
            column_names=record.names, block_size=max(_PIECE, _BYTES_PER_COLUMN * len(record.names))
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=record.separator, newlines_in_values=b'"' in block.text),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(types),
            column_types=types,
            null_values=null_values,
            true_values=TRUE,
            false_values=FALSE,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _is_plain(strings: Any, kind: Any) -> bool:
    """Whether Arrow reads all cells of a column of strings as the type."""
    if kind == BOOLEAN:
        known = pc.is_in(strings, value_set=pa.array([*TRUE, *FALSE], strings.type))
        return bool(pc.all(pc.or_(known, pc.is_null(strings)), min_count=0).as_py())
    try:
        strings.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


#: Types that the loop reads.
NUMBERS = frozenset({pa.float64(), pa.int64()})


def number_columns(
    block: TextBlock, record: FirstRecord, types: Mapping[str, Any], arrays: ReusedArrays
) -> dict[str, Any] | None:
    """Columns of numbers of a block, those of ``types``; None if a cell is not a number that is written plainly."""
    if not types or not record.separator.isascii() or len(record.separator) != 1:
        return None
    capacity = block.n_lines + 1
    order = {name: place for place, name in enumerate(types)}
    places = np.array([order.get(name, SKIPPED) for name in record.names], dtype=np.int64)
    whole = np.array([kind == pa.int64() for kind in types.values()])
    values = arrays.empty(len(types) * capacity, np.uint64).reshape(len(types), capacity)
    text = block.text
    end = len(text) + (not text.endswith(b"\n"))
    data = arrays.empty(end + PADDING, np.uint8)
    data[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    data[len(text) : end] = ord("\n")
    data[end:] = 0
    separator = np.uint8(ord(record.separator))
    n_rows = read_rows(data, np.uint64(end), separator, places, whole, power_table(), values)
    if n_rows == NOT_NUMBERS:
        return None
    rows = values.view(np.float64)[:, :n_rows]
    return {name: _column(own, kind) for own, (name, kind) in zip(rows, types.items(), strict=True)}


def _column(values: Any, kind: Any) -> Any:
    missing = np.isnan(values)
    mask = missing if missing.any() else None
    if kind == pa.int64():
        values = np.where(missing, 0.0, values).astype(np.int64)
    return pa.chunked_array([pa.array(values, kind, mask=mask)])
