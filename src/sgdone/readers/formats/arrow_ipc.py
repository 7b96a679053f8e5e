"""Reader for Arrow IPC files and streams. A file is a stream between two marks, and is read as one: pipes work too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa

from sgdone.readers.byte_streams import can_be_read_again, is_compressed, opened
from sgdone.readers.column_choice import FileSetColumns, choose_columns, common_types
from sgdone.readers.locations import RemoteFile
from sgdone.readers.reader import FileLayout, Reader
from sgdone.readers.table import ReadOptions, Table
from sgdone.readers.table_from_arrow import assemble, damage_explained, row_place, typed_parts

_MARK = b"ARROW1"
#: The mark at the beginning of a file, filled up to a multiple of eight bytes.
_START = _MARK + b"\0\0"
_PIECE = 1 << 22


def read_arrow(options: ReadOptions) -> Table:
    """Read a file."""
    budget, batches, size = options.budget(), list[Any](), 0
    with _opened(options) as (stream, is_file):
        reader = _Batches(stream, is_file, options)
        columns = choose_columns(reader.schema.names, options)
        for batch in reader:
            chosen = batch.select(columns.read())
            batches.append(chosen)
            size += chosen.nbytes
            budget.check(2 * size, f"{sum(map(len, batches)):,} rows so far")
    schema = pa.schema([reader.schema.field(name) for name in columns.read()])
    table = pa.Table.from_batches(batches, schema)
    return assemble(table, columns, options, row_place(0))


def parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Yield the rows of files in parts."""
    pipes = [options for options in files if not can_be_read_again(options.path)]
    if pipes and len(files) > 1:
        raise pipes[0].error("a pipe must be the only input, as the types of all files are compared first")
    schemas = [] if pipes else [_schema(options) for options in files]
    types: dict[str, Any] = {}
    for options in files:
        with _opened(options, options.on_bytes) as (stream, is_file):
            reader, before = _Batches(stream, is_file, options), 0
            if not types:
                schemas = schemas or [(options, reader.schema)]
                chosen = FileSetColumns.choose([(each, schema.names) for each, schema in schemas])
                types = common_types(schemas, chosen)
            for batch in reader:
                yield from typed_parts(batch, before, chosen.columns, types, options)
                before += batch.num_rows


def layout(files: Sequence[ReadOptions]) -> FileLayout:
    """Read the names and types of the columns of files, and the numbers of their record batches."""
    schemas = [_schema(options) for options in files]
    chosen = FileSetColumns.choose([(options, schema.names) for options, schema in schemas])
    return FileLayout(chosen.columns, [_n_batches(options) for options in files], common_types(schemas, chosen))


def read_groups(options: ReadOptions, groups: range, types: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the rows of some record batches in parts."""
    with _indexed(options) as file:
        columns = choose_columns(file.schema.names, options)
        before = sum(_batch(file, number, options).num_rows for number in range(groups.start))
        for number in groups:
            batch = _batch(file, number, options)
            yield from typed_parts(batch, before, columns, types, options)
            before += batch.num_rows


def _n_batches(options: ReadOptions) -> int:
    """Number of record batches that can be read apart: 0 of streams, and of files that are compressed."""
    with opened(options.path) as stream:
        is_file = stream.read(len(_START)) == _START
    if not is_file or is_compressed(options.path):
        return 0
    with _indexed(options) as file:
        return int(file.num_record_batches)


@contextmanager
def _indexed(options: ReadOptions) -> Iterator[Any]:
    """A file with its index of record batches."""
    with damage_explained("Arrow", options):
        if isinstance(options.path, RemoteFile):
            system, path = options.path.file_system()
            source = system.open_input_file(path)
        else:
            source = pa.memory_map(str(options.path))
        with source, pa.ipc.open_file(source) as file:
            yield file


def _batch(file: Any, number: int, options: ReadOptions) -> Any:
    with damage_explained("Arrow", options, f"record batch {number + 1:,}"):
        batch = file.get_batch(number)
        batch.validate(full=True)
        return batch


def _schema(options: ReadOptions) -> tuple[ReadOptions, Any]:
    with _opened(options) as (stream, is_file):
        return options, _Batches(stream, is_file, options).schema


@contextmanager
def _opened(options: ReadOptions, on_bytes: Callable[[int], None] | None = None) -> Iterator[tuple[IO[bytes], bool]]:
    """The stream in a file, and whether the file has the marks around it."""
    with opened(options.path, on_bytes) as stream:
        start = stream.read(len(_START))
        if start == _START:
            yield _Bytes(b"", stream), True  # type: ignore[misc]  # what Arrow needs of a file
        elif not start:
            raise options.error("is empty")
        elif start.startswith(b"FEA1"):
            raise options.error("is of version 1 of Feather: write it again with pyarrow.feather.write_feather")
        else:
            yield _Bytes(start, stream), False  # type: ignore[misc]  # what Arrow needs of a file


class _Bytes:
    """A stream with bytes before it, which have been read from it.

    Damaged files ask for more bytes than there are: memory is taken for those that come.
    """

    closed = False

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self._start, self._stream = start, stream

    def read(self, size: int) -> bytes:
        """Read."""
        pieces, self._start = [self._start[:size]], self._start[size:]
        size -= len(pieces[0])
        while size > 0 and (piece := self._stream.read(min(size, _PIECE))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


class _Batches:
    """The record batches of a stream; damage is an error that names the file and the batch."""

    def __init__(self, stream: IO[bytes], is_file: bool, options: ReadOptions) -> None:
        self._stream, self._is_file, self._options, self._number = stream, is_file, options, 0
        self._reader = self._checked(lambda: pa.ipc.open_stream(pa.PythonFile(stream, mode="r")))
        self._checked(lambda: self._reader.schema.names)  # names need not be UTF-8
        self.schema = self._reader.schema

    def __iter__(self) -> Iterator[Any]:
        while (batch := self._checked(lambda: next(self._reader, None))) is not None:
            self._number += 1
            yield batch
        last = b""
        while self._is_file and (piece := self._stream.read(_PIECE)):
            last = (last + piece)[-len(_MARK) :]
        if self._is_file and last != _MARK:
            raise self._options.error("ends too early: write or download the file again")

    def _checked(self, read: Any) -> Any:
        place = f"record batch {self._number + 1:,}" if hasattr(self, "schema") else ""
        with damage_explained("Arrow", self._options, place):
            batch = read()
            if isinstance(batch, pa.RecordBatch):
                batch.validate(full=True)
            return batch


READER = Reader(
    "arrow", (".arrow", ".feather", ".ipc", ".arrows"), read_arrow, parts=parts, layout=layout, read_groups=read_groups
)
