"""Reader for CSV and similar files. Arrow parses them; the slower csv module locates the line of an error."""

import io
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sgdone.machine.threads import mapped, n_threads
from sgdone.message_text import counted
from sgdone.readers import text_blocks
from sgdone.readers.byte_streams import can_be_read_again, opened
from sgdone.readers.column_choice import Columns, FileSetColumns, named_columns
from sgdone.readers.formats.csv.cells import (
    CellParser,
    FirstRecord,
    decide_types,
    first_record,
    records,
    separator_of,
    strings_of,
)
from sgdone.readers.formats.csv.columns import typed_column, typed_feature, typed_labels
from sgdone.readers.locations import Numbers, joined_places, numbered, shown
from sgdone.readers.reader import FileLayout, Reader
from sgdone.readers.table import ReadOptions, Table
from sgdone.readers.table_from_arrow import assemble, parts_of
from sgdone.readers.text_blocks import TextBlock, drained, first_blocks, row_lines, whole_rows
from sgdone.tables.cell_values import warn_of_misprints
from sgdone.tables.string_cells import Misprints

#: Rows as long as the header that a block has at least, up to some bytes: columns are converted one by one.
_ROWS_OF_WIDE_FILES, _LARGEST_BLOCK = 64, 2**25
#: Bytes of memory for each byte of text, and for each field of the file and of the columns to read. Arrow has the end
#: of each field in 4 bytes; a column of strings (8 bytes a cell), one of numbers and a matrix come on top.
_BYTE, _FIELD, _CELL = 2, 4, 24


def read_delimited(options: ReadOptions) -> Table:
    """Read a file of cells separated by commas, tabs, semicolons or another character, with or without a header.

    Empty cells and unquoted ``NA``, ``null``, ``NaN`` and similar are missing values; ``"NA"`` in quotes is text.
    """
    budget, tables, lines = options.budget(), list[Any](), list[Numbers]()
    size = n_lines = 0
    for rows in _blocks([options], None):
        record, columns = rows.record, rows.columns.columns
        names = columns.read()
        size, n_lines = size + len(rows.block.text), n_lines + rows.block.n_lines
        needed = _BYTE * size + (_FIELD * len(record.names) + _CELL * len(names)) * n_lines
        budget.check(needed, f"{counted(n_lines, 'line')} so far")
        tables.append(strings_of(rows.block, record, names))
        lines.append(_lines_of(rows, tables[-1].num_rows))
    place = joined_places([numbered("line", own) for own in lines], [table.num_rows for table in tables])
    assert place is not None
    table = pa.concat_tables(tables)
    strings = dict(zip(names, table.columns, strict=True))
    del table, tables  # the strings of a column go when it has been typed

    def typed(name: str) -> tuple[Any, Misprints | None]:
        column = strings.pop(name)
        if name == columns.label:
            return typed_labels(column), None
        if name == columns.weight:
            return typed_column(column), None
        return (column, None) if name in record.options.as_strings else typed_feature(column)

    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        found = list(pool.map(typed, names))
    made = pa.table([column for column, _ in found], names=names)
    bad = [(name, own) for name, (_, own) in zip(names, found, strict=True) if own is not None]
    warn_of_misprints([(name, f"{place(int(own.rows[0]))} of {shown(options.path)}", own) for name, own in bad])
    return assemble(made, columns, record.options, place)


def parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Yield the rows of files in parts. Types are those of the first 64 MB; a cell that does not fit is an error."""
    headers = [_first_record(options) if can_be_read_again(options.path) else None for options in files]
    known = [(header.options, header.names) for header in headers if header is not None]
    chosen = FileSetColumns.choose(known) if headers[0] is not None else None
    with closing(_blocks(files, chosen)) as blocks:
        head: list[_Rows] = first_blocks(blocks)
        if not head:
            return
        columns = head[0].columns.columns
        types, misprints = decide_types([(rows.block, rows.record) for rows in head], columns)
        cells = CellParser(types, columns, misprints)
        with closing(_with_numbers(chain(drained(head), blocks), cells)) as with_numbers:
            for rows, numbers in with_numbers:
                table = cells.table(rows.block, rows.record, numbers)
                lines = _lines_of(rows, table.num_rows)
                for first, part in parts_of(table):
                    place = numbered("line", lines[first:])
                    yield assemble(part, columns, rows.record.options, place, whole=False)


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


def _lines_of(rows: _Rows, n_rows: int) -> Numbers:
    """The lines of the rows of a block."""
    block, record = rows.block, rows.record
    lines = row_lines(block, n_rows, record.separator)
    if lines is None:  # text that Arrow divides in another way
        found = (line for line, _ in records(io.BytesIO(block.text), record.separator, record.options, block.line))
        lines = np.fromiter(found, dtype=np.int64)
    return lines


def _first_record(options: ReadOptions) -> FirstRecord:
    return first_record(lambda: opened(options.path), options)


READER = Reader("csv", (".csv", ".tsv", ".tab"), read_delimited, parts, written_parts, layout)
