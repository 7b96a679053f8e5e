"""Reader for Apache Parquet files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from sgdone.message_text import counted
from sgdone.readers.byte_streams import can_be_read_again, is_compressed, opened
from sgdone.readers.column_choice import FileSetColumns, choose_columns, common_types, named_columns
from sgdone.readers.locations import RemoteFile
from sgdone.readers.reader import FileLayout, Reader
from sgdone.readers.table import ReadOptions, Table
from sgdone.readers.table_from_arrow import assemble, damage_explained, part_rows, row_place, typed_parts

_PIECE = 1 << 20
#: Bytes that are read of a column at a time.
_BUFFER = 1 << 18


def read_parquet(options: ReadOptions) -> Table:
    """Read a Parquet file. The index saved by pandas is not a feature unless ``features`` or ``label`` names it."""
    with _file(options) as file:
        names = _without_index(file.schema_arrow, options)
        columns = choose_columns(names, options)
        _check_size(file.metadata, len(columns.features), options)
        table = file.read(columns=columns.read())
    return assemble(table, columns, options, row_place(0))


def parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Yield the rows of files in parts, from one row group after the other."""
    about = layout(files)
    for options in files:
        with _file(options) as file:
            size, told = 0 if options.on_bytes is None else _size(options), 0
            for first, batch in _batches(file, about.columns.read(), options):
                yield from typed_parts(batch, first, about.columns, about.types, options)
                if options.on_bytes is not None:  # as many of the bytes as the share of the rows
                    total = size * (first + batch.num_rows) // file.metadata.num_rows
                    options.on_bytes(total - told)
                    told = total


def layout(files: Sequence[ReadOptions]) -> FileLayout:
    """Read the names and types of the columns of files, and the numbers of their row groups."""
    schemas, n_groups = [], []
    for options in files:
        if not can_be_read_again(options.path):
            raise options.error("Parquet cannot be read from a pipe, as its index comes last: save it as a file first")
        with _file(options) as file:
            schemas.append((options, file.schema_arrow))
            n_groups.append(0 if is_compressed(options.path) else file.metadata.num_row_groups)
    chosen = FileSetColumns.choose([(options, _without_index(schema, options)) for options, schema in schemas])
    return FileLayout(chosen.columns, n_groups, common_types(schemas, chosen))


def read_groups(options: ReadOptions, groups: range, types: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the rows of some row groups in parts."""
    with _file(options) as file:
        columns = choose_columns(_without_index(file.schema_arrow, options), options)
        for first, batch in _batches(file, columns.read(), options, groups):
            yield from typed_parts(batch, first, columns, types, options)


def written_parts(files: Sequence[ReadOptions]) -> Iterator[dict[str, list[str]]]:
    """Yield the columns that ``features`` names as strings, from one row group after the other."""
    for options in files:
        with _file(options) as file:
            columns = named_columns(options.features or (), file.schema_arrow.names, options)
            for _, batch in _batches(file, columns, options):
                yield {name: [_text(value) for value in batch.column(name).to_pylist()] for name in columns}


def _batches(
    file: Any, names: list[str], options: ReadOptions, groups: range | None = None
) -> Iterator[tuple[int, Any]]:
    """Batches of rows, of some row groups or all, each with the number of rows before it in the file."""
    groups = range(file.metadata.num_row_groups) if groups is None else groups
    before = sum(file.metadata.row_group(group).num_rows for group in range(groups.start))
    for group in groups:
        about = file.metadata.row_group(group)
        size = part_rows(about.num_rows, about.total_byte_size)
        batches = file.iter_batches(size, row_groups=[group], columns=names)
        while True:
            with damage_explained("Parquet", options, f"row group {group + 1:,} of {file.metadata.num_row_groups:,}"):
                batch = next(batches, None)
            if batch is None:
                break
            yield before, batch
            before += batch.num_rows


def _size(options: ReadOptions) -> int:
    if isinstance(options.path, RemoteFile):
        system, path = options.path.file_system()
        return int(system.get_file_info(path).size or 0)
    return options.path.stat().st_size


def _text(value: Any) -> str:
    return "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


@contextmanager
def _file(options: ReadOptions) -> Iterator[Any]:
    import pyarrow.parquet as pq  # readers of other formats do not wait for it

    with opened(options.path) as stream:
        if not stream.read(1):
            raise options.error("is empty")
    with (
        damage_explained("Parquet", options),
        _source(options) as source,
        pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER) as file,
    ):
        yield file


@contextmanager
def _source(options: ReadOptions) -> Iterator[Any]:
    if is_compressed(options.path):
        budget, pieces, size = options.budget(), list[bytes](), 0
        with opened(options.path) as stream:
            while piece := stream.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                # The pieces and their concatenation.
                budget.check(2 * size, f"{size:,} decompressed bytes so far")
        yield pa.BufferReader(b"".join(pieces))
    elif isinstance(options.path, RemoteFile):
        system, path = options.path.file_system()
        with system.open_input_file(path) as file:
            yield file
    else:
        yield str(options.path)


def _check_size(metadata: Any, n_features: int, options: ReadOptions) -> None:
    """Raise if the columns, and a matrix of them, do not fit into memory."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    decoded = max(8 * metadata.num_rows * n_features, sum(group.total_byte_size for group in groups))
    needed = decoded + 8 * metadata.num_rows * n_features
    options.budget().check(needed, f"{counted(metadata.num_rows, 'row')} of {counted(n_features, 'feature')}")


def _without_index(schema: Any, options: ReadOptions) -> list[str]:
    try:
        index = set(json.loads(schema.metadata[b"pandas"])["index_columns"])
    except (KeyError, TypeError, ValueError, RecursionError):  # none, or not what pandas writes
        index = set()
    named = {options.label, options.weight, *(options.features or ())}
    return [name for name in schema.names if name not in index or name in named]


READER = Reader("parquet", (".parquet", ".pq"), read_parquet, parts, written_parts, layout, read_groups)
