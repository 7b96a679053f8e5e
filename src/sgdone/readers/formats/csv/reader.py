"""Reader for CSV and similar files. Arrow parses them; the slower csv module locates the line of an error."""

import io
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from itertools import chain
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from sgdone.machine.memory import MemoryBudget
from sgdone.machine.threads import mapped, n_threads
from sgdone.message_text import counted
from sgdone.readers import text_blocks
from sgdone.readers.byte_streams import can_be_read_again, opened
from sgdone.readers.column_choice import Columns, FileSetColumns, choose_columns, named_columns
from sgdone.readers.formats.csv.cells import (
    CellParser,
    FirstRecord,
    broken_line,
    decide_types,
    first_record,
    line_of,
    records,
    separator_of,
    strings_of,
)
from sgdone.readers.formats.csv.columns import typed_column, typed_feature, typed_labels
from sgdone.readers.locations import numbered, shown
from sgdone.readers.reader import FileLayout, Reader
from sgdone.readers.table import DataError, ReadOptions, Table
from sgdone.readers.table_from_arrow import assemble, parts_of
from sgdone.readers.text_blocks import TextBlock, drained, first_blocks, row_lines, whole_rows
from sgdone.tables.cell_values import warn_of_misprints
from sgdone.tables.string_cells import Misprints

#: Arrow needs blocks of at least one line. This many bytes per column leave room for values of up to 1 kB.
_BYTES_PER_COLUMN = 1024
_SMALLEST_BLOCK = 2**22
#: Rows as long as the header that a block has at least, up to some bytes: columns are converted one by one.
_ROWS_OF_WIDE_FILES, _LARGEST_BLOCK = 64, 2**25


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
    first = _first_record(options)
    columns = choose_columns(first.names, first.options)
    types = dict.fromkeys(columns.read(), pa.large_string())
    if columns.label is not None:
        types[columns.label] = pa.binary()  # labels need not be UTF-8 to be located
    table = _strings(first, types)
    strings = dict(zip(table.column_names, table.columns, strict=True))
    del table  # the strings of a column go when it has been typed

    def typed(name: str) -> tuple[Any, Misprints | None]:
        column = strings.pop(name)
        if name == columns.label:
            return typed_labels(column), None
        if name == columns.weight:
            return typed_column(column), None
        return (column, None) if name in first.options.as_strings else typed_feature(column)

    names = columns.read()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        found = list(pool.map(typed, names))
    made = pa.table([column for column, _ in found], names=names)
    bad = [(name, own) for name, (_, own) in zip(names, found, strict=True) if own is not None]
    warn_of_misprints([(name, f"{_line(int(own.rows[0]), first)} of {shown(options.path)}", own) for name, own in bad])
    return assemble(made, columns, first.options, lambda row: _line(row, first))


def parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Yield the rows of files in parts. Types are those of the first 64 MB; a cell that does not fit is an error."""
    headers = [_first_record(options) if can_be_read_again(options.path) else None for options in files]
    known = [(header.options, header.names) for header in headers if header is not None]
    chosen = FileSetColumns.choose(known) if headers[0] is not None else None
    with closing(_blocks(files, chosen)) as blocks:
        head: list[_Rows] = first_blocks(blocks)
        if not head and files[0].part_of_table:
            return
        if not head:
            raise files[0].error("has column names but no rows")
        columns = head[0].columns.columns
        types, misprints = decide_types([(rows.block, rows.record) for rows in head], columns)
        cells = CellParser(types, columns, misprints)
        empty = True
        with closing(_with_numbers(chain(drained(head), blocks), cells)) as with_numbers:
            for rows, numbers in with_numbers:
                for table in _tables(rows, cells, numbers):
                    empty = False
                    yield table
        if empty and not files[0].part_of_table:
            raise files[0].error("has column names but no rows")


def layout(files: Sequence[ReadOptions]) -> FileLayout:
    """Read the names of the columns of files."""
    headers = [_first_record(options) for options in files]
    chosen = FileSetColumns.choose([(header.options, header.names) for header in headers])
    return FileLayout(chosen.columns, [0] * len(files))


def written_parts(files: Sequence[ReadOptions]) -> Iterator[dict[str, list[str]]]:
    """Yield the columns that ``features`` names as strings, block by block."""
    first = _first_record(files[0])
    names = named_columns(first.options.features or (), first.names, first.options)
    chosen = FileSetColumns(Columns(names, None, None, []), frozenset(first.names), files[0].path)
    for rows in _blocks(files, chosen):
        table = strings_of(rows.block, rows.record, names, nulls=False)
        yield {name: table.column(name).to_pylist() for name in names}


class _Rows(NamedTuple):
    """Rows of one of the files."""

    block: TextBlock
    record: FirstRecord
    columns: FileSetColumns


def _blocks(files: Sequence[ReadOptions], chosen: FileSetColumns | None) -> Generator[_Rows, None, None]:
    for options in files:
        with opened(options.path, options.on_bytes) as stream:
            start = stream.read(text_blocks.BLOCK)
            line = start.removeprefix(text_blocks.BYTE_ORDER_MARK).lstrip().partition(b"\n")[0]
            size = max(text_blocks.BLOCK, min(_LARGEST_BLOCK, _ROWS_OF_WIDE_FILES * len(line)))
            record = None
            for block in whole_rows(stream, start, separator_of(line, options), options, size=size):
                if record is None:
                    text = block.text
                    record = first_record(lambda text=text: nullcontext(io.BytesIO(text)), options)  # type: ignore[misc]  # mypy does not infer the lambda
                    chosen = chosen or FileSetColumns.choose([(record.options, record.names)])
                    chosen.check(record.names, record.options)
                    block = record.rows_of(block)
                yield _Rows(block, record, chosen)  # type: ignore[arg-type]  # it was chosen with the record
            if record is None:
                raise options.error("is empty")


def _with_numbers(blocks: Iterable[_Rows], cells: CellParser) -> Generator[tuple[_Rows, dict[str, Any]], None, None]:
    """Blocks of rows with their columns of numbers, which are read in several threads."""
    yield from mapped(lambda rows: (rows, cells.numbers(rows.block, rows.record)), blocks, n_threads())


def _tables(rows: _Rows, cells: CellParser, numbers: dict[str, Any]) -> Iterator[Table]:
    block, record, columns = rows.block, rows.record, rows.columns.columns
    table = cells.table(block, record, numbers)
    lines = row_lines(block, table.num_rows, record.separator)
    if lines is None:  # text that Arrow divides in another way
        found = (line for line, _ in records(io.BytesIO(block.text), record.separator, record.options, block.line))
        lines = np.fromiter(found, dtype=np.int64)
    for first, part in parts_of(table):
        yield assemble(part, columns, record.options, numbered("line", lines[first:]), whole=False)


def _first_record(options: ReadOptions) -> FirstRecord:
    return first_record(lambda: opened(options.path), options)


def _strings(first: FirstRecord, types: dict[str, Any]) -> Any:
    """The columns that have a type; unquoted ``NA``, ``null`` and similar are nulls."""
    options, names = first.options, first.names
    with opened(options.path) as stream:
        stream.read(first.skipped[0])
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
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            raise _broken_line(first, types, str(error)) from error


def _broken_line(first: FirstRecord, types: dict[str, Any], otherwise: str) -> DataError:
    n_bytes, n_lines = first.skipped
    with opened(first.options.path) as stream:
        stream.read(n_bytes)
        if not any(line.strip() for line in stream):
            return first.options.error("has column names but no rows")
    with opened(first.options.path) as stream:
        stream.read(n_bytes)
        return broken_line(stream, first, types, otherwise, n_lines + 1)


def _line(row: int, first: FirstRecord) -> str:
    n_bytes, n_lines = first.skipped
    with opened(first.options.path) as stream:
        stream.read(n_bytes)
        return f"line {line_of(row, stream, first, n_lines + 1):,}"


READER = Reader("csv", (".csv", ".tsv", ".tab"), read_delimited, parts, written_parts, layout)
