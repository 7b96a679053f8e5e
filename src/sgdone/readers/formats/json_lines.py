"""Reader for JSON lines: one object per line, whose keys are the columns. Missing keys are missing values."""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, count, islice
from typing import Any, NamedTuple, final

import pyarrow as pa
import pyarrow.json as arrow_json

from sgdone.machine.memory import size_text
from sgdone.message_text import counted, listed
from sgdone.readers import text_blocks
from sgdone.readers.byte_streams import opened
from sgdone.readers.column_choice import Columns, FileSetColumns, LabelCondition, choose_columns
from sgdone.readers.formats.csv.columns import TIMESTAMP, as_type, timestamps
from sgdone.readers.locations import Numbers, joined_places, numbered
from sgdone.readers.reader import FileLayout, Reader
from sgdone.readers.table import DataError, ReadOptions, Table, shortened
from sgdone.readers.table_from_arrow import assemble, parts_of
from sgdone.readers.text_blocks import TextBlock, drained, first_blocks, pieces_of, row_lines, whole_rows

#: Bytes of the pieces of a block that Arrow parses at the same time.
_PIECE = 2**20
#: Cells of a table of a piece of a file.
CELLS = 2**24
_WHOLE, _NUMBER, _BOOLEAN, _STRING, _NESTED = (
    "whole numbers",
    "numbers",
    "true and false",
    "strings",
    "lists or objects",
)
_TYPES = {_WHOLE: pa.float64(), _NUMBER: pa.float64(), _BOOLEAN: pa.bool_(), _STRING: pa.large_string()}
_KINDS_OF_VALUES = {bool: _BOOLEAN, int: _WHOLE, float: _NUMBER, str: _STRING}
#: Kinds of the types of Arrow; others are strings.
_KINDS_OF_TYPES: tuple[tuple[Callable[[Any], bool], Any], ...] = (
    (pa.types.is_null, None),
    (pa.types.is_integer, _WHOLE),
    (pa.types.is_floating, _NUMBER),
    (pa.types.is_boolean, _BOOLEAN),
    (pa.types.is_nested, _NESTED),
)
_BLANK = re.compile(rb"\n[ \t\r]*\n")
_NULL_LINE = re.compile(rb"(?:\A|\n)[ \t\r\n]*null")
#: What to do with other JSON.
ONE_OBJECT_A_LINE = "write one object a line (pandas: to_json(orient='records', lines=True))"


class _Lines(NamedTuple):
    """Lines of one of the files."""

    block: TextBlock
    options: ReadOptions

    def pieces(self, most_lines: Callable[[], int]) -> "Iterator[_Lines]":
        """Pieces of at most ``most_lines()`` lines, without blank ones."""
        pieces = pieces_of(self.block, most_lines)
        return (_Lines(piece, self.options) for piece in pieces if piece.text.strip())

    def kinds(self) -> dict[str, set[str]]:
        """The keys of the objects, each with the kinds of its values; nulls are of no kind."""
        try:
            schema = arrow_read(self.block, arrow_json.ParseOptions()).schema
            return {
                field.name: {next((kind for fits, kind in _KINDS_OF_TYPES if fits(field.type)), _STRING)} - {None}
                for field in schema
            }
        except (pa.ArrowInvalid, UnicodeDecodeError):  # the second is for keys that are not UTF-8
            found: dict[str, set[str]] = {}
            for _, record in self.records():
                for name, value in record.items():
                    found.setdefault(name, set()).update(() if value is None else [_kind_of(value)])
            return found

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the line number and the object of each line."""
        for number, line in enumerate(self.block.text.split(b"\n"), start=self.block.line):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except UnicodeDecodeError as error:
                raise self.error("is not UTF-8: convert the file (iconv -t utf-8)", number) from error
            except (ValueError, RecursionError) as error:
                raise self.error(f"is not JSON ({error}): {ONE_OBJECT_A_LINE}", number) from error
            if not isinstance(record, dict):
                raise self.error(f"is not an object: {ONE_OBJECT_A_LINE}", number)
            yield number, record

    def error(self, problem: str, line: int, column: str | None = None) -> DataError:
        """An error about a line, or a value in it."""
        where = "" if column is None else f", column {column!r}"
        return self.options.error(problem, place=f"line {line:,}{where}")


def _kind_of(value: Any) -> str:
    return _KINDS_OF_VALUES.get(type(value), _NESTED)


@final
class RecordParser:
    """Parses blocks of lines to columns of fixed types: those of the values in the first blocks, the ``head``.

    An error names a column to read that has nested values, or values of several kinds.
    """

    def __init__(self, kinds: dict[str, set[str]], columns: Columns, head: Sequence[_Lines]) -> None:
        self._names, self._columns = set(kinds), columns
        self._kinds = {name: _settled(kinds[name]) for name in columns.read()}
        self._strict = self._names == set(columns.read())  # else other keys are ignored
        self._dates: set[str] = set()
        for name, kind in self._kinds.items():
            if kind is None or kind == _NESTED:
                raise self._mixed(name, kinds[name], head)
        self._schema = pa.schema([(name, self._type_of(name)) for name in columns.read()])
        texts = [name for name in columns.features if self._kinds[name] == _STRING]
        texts = [name for name in texts if name not in head[0].options.as_strings]
        self._dates = self._dates_among(texts, head) if texts else set()

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._kinds)

    def table(self, lines: _Lines) -> Any:
        """The columns of the rows of a block."""
        behaviour = "error" if self._strict else "ignore"
        options = arrow_json.ParseOptions(explicit_schema=self._schema, unexpected_field_behavior=behaviour)
        try:
            found = arrow_read(lines.block, options)
            found.validate(full=True)  # strings are UTF-8
            self._check_lines(found, lines)
        except pa.ArrowInvalid as error:
            raise self._fault(lines, str(error)) from error
        for name in self._dates:
            dates = as_type(found.column(name), TIMESTAMP)
            if dates is None:
                raise self._not_a_date(name, lines)
            found = found.set_column(found.column_names.index(name), name, dates)
        return found

    def _type_of(self, name: str) -> Any:
        kind = str(self._kinds[name])
        is_label = name == self._columns.label and self._columns.condition is None
        return pa.int64() if kind == _WHOLE and is_label else _TYPES[kind]

    def _dates_among(self, names: list[str], head: Sequence[_Lines]) -> set[str]:
        possible, with_values = set(names), set[str]()
        for lines in head:
            for piece in lines.pieces(lambda: CELLS // self.n_columns):
                strings = self.table(piece)
                for name in list(possible):
                    dates = timestamps(strings.column(name), some_in_utc=False)
                    if dates is None:
                        possible.discard(name)
                    elif dates.null_count < len(dates):
                        with_values.add(name)
        return possible & with_values

    def _check_lines(self, table: Any, lines: _Lines) -> None:
        # Most blocks have no blank lines: the others are split.
        text = lines.block.text
        has_blank = _BLANK.search(text) or not text.partition(b"\n")[0].strip()
        if not has_blank and table.num_rows == text.count(b"\n"):
            return
        if table.num_rows != sum(1 for line in text.split(b"\n") if line.strip()):
            raise self._fault(lines, f"has several objects in a line: {ONE_OBJECT_A_LINE}")

    def _mixed(self, name: str, kinds: set[str], head: Sequence[_Lines]) -> DataError:
        first: str | None = None
        for lines in head:
            for number, record in lines.records():
                kind = None if record.get(name) is None else _kind_of(record[name])
                first = first or kind
                problem = ""
                if kind == _NESTED:
                    problem = "is a list or object, which is no value of a column"
                elif kind is not None and _settled({kind, str(first)}) is None:
                    problem = f"is not among {first}, as the values before it are"
                if problem:
                    value = shortened(json.dumps(record[name]))
                    advice = "leave the column out with drop=, or convert its values"
                    return lines.error(f"{value} {problem}: {advice}", number, name)
        options = head[0].options
        return options.error(f"has values of several kinds ({', '.join(sorted(kinds))})", place=f"column {name!r}")

    def _fault(self, lines: _Lines, otherwise: str) -> DataError:
        """The error for the first line that cannot be read, or does not fit the columns."""
        head = f"the first {size_text(text_blocks.HEAD)}"
        for number, record in lines.records():
            new = next((name for name in record if name not in self._names), None)
            if self._strict and new is not None:
                advice = "leave it out with drop=, or name the columns to use with features="
                return lines.error(f"the key {new!r} is in no line of {head}: {advice}", number)
            for name, kind in self._kinds.items():
                value = record.get(name)
                fits = value is None or _kind_of(value) == kind or {kind, _kind_of(value)} == {_NUMBER, _WHOLE}
                if not fits or (self._schema.field(name).type == pa.int64() and isinstance(value, float)):
                    problem = f"{shortened(json.dumps(value))} does not fit: the column has only {kind} in {head}"
                    advice = "write all of its values alike, or leave it out with drop="
                    return lines.error(f"{problem}: {advice}", number, name)
        return lines.options.error(otherwise)

    def _not_a_date(self, name: str, lines: _Lines) -> DataError:
        for number, record in lines.records():
            value = record.get(name)
            cell = pa.chunked_array([pa.array([value], pa.large_string())])
            if as_type(cell, TIMESTAMP) is None:
                problem = f"{shortened(str(value))!r} does not fit: the column has only dates in the first"
                advice = f"correct it, or pass columns={{{name!r}: 'category'}}"
                return lines.error(f"{problem} {size_text(text_blocks.HEAD)}: {advice}", number, name)
        return lines.options.error("dates with and without time zones", place=f"column {name!r}")


def arrow_read(block: TextBlock, parse_options: Any) -> Any:
    """Parse a block with Arrow: in pieces, or at once if a line is longer than a piece."""
    if _NULL_LINE.search(block.text):
        raise pa.ArrowInvalid("a line is null, not an object")  # Arrow crashes if it is the first of a piece
    for size in (_PIECE, len(block.text) + 1):
        try:
            read_options = arrow_json.ReadOptions(block_size=size)
            return arrow_json.read_json(pa.BufferReader(block.text), read_options, parse_options)
        except pa.ArrowInvalid:
            if size > len(block.text):
                raise
    raise AssertionError("unreachable")


def _settled(kinds: set[str]) -> str | None:
    """The kind of a column; None if its values are of several."""
    if kinds <= {_WHOLE, _NUMBER} and len(kinds) == 2:
        return _NUMBER
    return next(iter(kinds), _STRING) if len(kinds) < 2 else None


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
        head: list[_Lines] = first_blocks(blocks)
        if not head and files[0].part_of_table:
            return
        parser, columns = _parser(head, files[0])
        for lines in chain(drained(head), blocks):
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


def _blocks(files: Sequence[ReadOptions]) -> Generator[_Lines, None, None]:
    for options in files:
        with opened(options.path, options.on_bytes) as stream:
            start = stream.read(text_blocks.BLOCK)
            for block in whole_rows(stream, start, None, options, size=text_blocks.BLOCK):
                if block.text.strip():
                    yield _Lines(block, options)


def _tables(parser: RecordParser, lines: _Lines) -> Iterator[tuple[Any, Numbers]]:
    """The columns of the rows of a block, some rows at a time if the columns are many, and the lines of the rows."""
    for piece in lines.pieces(lambda: CELLS // parser.n_columns):
        table = parser.table(piece)
        numbers = row_lines(piece.block, table.num_rows, None)
        assert numbers is not None  # the parser has checked that each line is a row
        yield table, numbers


def _kinds(head: Iterable[_Lines]) -> dict[str, set[str]]:
    """The keys of lines, each with the kinds of its values.

    Arrow makes a table of all keys: of many lines with keys of their own it would be large.
    """
    kinds: dict[str, set[str]] = {}
    doublings = count()
    for lines in head:
        for piece in lines.pieces(lambda: min(_FIRST_LINES << next(doublings), CELLS // max(1, len(kinds)))):
            for name, found in piece.kinds().items():
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
