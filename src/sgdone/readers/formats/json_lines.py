"""Reader for JSON lines: an object a line, whose keys are the columns. Missing keys are missing values."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, count, islice
from typing import Any, NamedTuple

import pyarrow as pa

from sgdone.machine.memory import size_text
from sgdone.message_text import counted
from sgdone.readers import text_blocks
from sgdone.readers.arrow_table import assemble
from sgdone.readers.column_choice import Columns, choose_columns
from sgdone.readers.compressed_files import opened
from sgdone.readers.file_set_columns import FileSetColumns
from sgdone.readers.json_cells import CELLS, RecordParser, kinds_of
from sgdone.readers.label_condition import LabelCondition
from sgdone.readers.part_sizes import parts_of
from sgdone.readers.reader import FileLayout, Reader
from sgdone.readers.row_places import Numbers, joined_places, numbered
from sgdone.readers.table import ReadOptions, Table, listed
from sgdone.readers.text_blocks import TextBlock, pieces_of, row_lines, whole_rows

#: Lines of the first piece of a file, whose keys are not known.
_FIRST_LINES = 256


def read_json_lines(options: ReadOptions) -> Table:
    """Read a file. All lines decide the types of the columns."""
    budget, head, size = options.budget(), list[_Lines](), 0
    for lines in _blocks([options]):
        head.append(lines)
        size += len(lines.block.text)
        budget.check(4 * size, f"{size:,} bytes so far")
    parser, columns = _parser(head, options)
    n_lines = sum(lines.block.n_lines for lines in head)
    n_cells = n_lines * len(columns.read())
    budget.check(4 * size + 16 * n_cells, f"{n_lines:,} lines of {counted(len(columns.read()), 'column')}")
    tables, numbers = zip(*(made for lines in head for made in _tables(parser, lines)), strict=True)
    place = joined_places([numbered("line", own) for own in numbers], [table.num_rows for table in tables])
    assert place is not None
    return assemble(pa.concat_tables(tables), columns, options, place)


def parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Yield the rows of files in parts. Types are those of the first 64 MB; a value that does not fit is an error."""
    with closing(_blocks(files)) as blocks:
        head, size = list[_Lines](), 0
        for lines in blocks:
            head.append(lines)
            size += len(lines.block.text)
            if size >= text_blocks.HEAD:
                break
        if not head and files[0].part_of_table:
            return
        parser, columns = _parser(head, files[0])
        head.reverse()
        for lines in chain((head.pop() for _ in range(len(head))), blocks):
            for table, numbers in _tables(parser, lines):
                for first, part in parts_of(table):
                    yield assemble(part, columns, lines.options, numbered("line", numbers[first:]), whole=False)


def layout(files: Sequence[ReadOptions]) -> FileLayout:
    """Find the keys in the first block of each file: a file need not have those of the others."""
    names: dict[str, None] = {}
    for options in files:
        with closing(_blocks([options])) as blocks:
            names |= dict.fromkeys(_kinds(islice(blocks, 1)))
    if not names:
        raise files[0].error("is empty")
    chosen = FileSetColumns.choose([(files[0], list(names))])
    return FileLayout(chosen.columns, [0] * len(files))


class _Lines(NamedTuple):
    """Lines of one of the files."""

    block: TextBlock
    options: ReadOptions


def _blocks(files: Sequence[ReadOptions]) -> Generator[_Lines, None, None]:
    for options in files:
        with opened(options.path, options.on_bytes) as stream:
            start = stream.read(text_blocks.BLOCK)
            for block in whole_rows(stream, start, None, options, size=text_blocks.BLOCK):
                if block.text.strip():
                    yield _Lines(block, options)


def _tables(parser: RecordParser, lines: _Lines) -> Iterator[tuple[Any, Numbers]]:
    """The columns of the rows of a block, some rows at a time if the columns are many, and the lines of the rows."""
    for block in pieces_of(lines.block, lambda: CELLS // parser.n_columns):
        if block.text.strip():
            table = parser.table(block, lines.options)
            numbers = row_lines(block, table.num_rows, None)
            assert numbers is not None  # the parser has checked that each line is a row
            yield table, numbers


def _kinds(head: Iterable[_Lines]) -> dict[str, set[str]]:
    """The keys of lines, each with the kinds of its values.

    Arrow makes a table of all keys: of many lines with keys of their own it would be large.
    """
    kinds: dict[str, set[str]] = {}
    doublings = count()
    for lines in head:
        for block in pieces_of(lines.block, lambda: min(_FIRST_LINES << next(doublings), CELLS // max(1, len(kinds)))):
            if block.text.strip():
                for name, found in kinds_of(block, lines.options).items():
                    kinds.setdefault(name, set()).update(found)
    return kinds


def _parser(head: Sequence[_Lines], options: ReadOptions) -> tuple[RecordParser, Columns]:
    if not head:
        raise options.error("is empty")
    kinds = _kinds(head)
    if options.part_of_table:
        _complete(kinds, options)
    columns = choose_columns(list(kinds), options)
    return RecordParser(kinds, columns, head), columns


def _complete(kinds: dict[str, set[str]], options: ReadOptions) -> None:
    """Add the columns of other files; raise for a key that none of them has at its beginning."""
    for name in [*(options.features or ()), *options.drop]:
        kinds.setdefault(name, set())
    condition = None if options.label is None else LabelCondition.parse(options.label, list(kinds))
    label = options.label if condition is None else condition.column
    known = {*(options.features or ()), *options.drop, label, options.weight}
    others = [name for name in kinds if name not in known]
    if others:
        raise options.error(
            f"has the key {listed(others)}, which is in no line of the first {size_text(text_blocks.BLOCK)} of each "
            "file: leave it out with drop="
        )


READER = Reader("jsonl", (".jsonl", ".ndjson"), read_json_lines, parts=parts, layout=layout)
