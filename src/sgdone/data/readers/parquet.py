"""Reader for Apache Parquet files."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sgdone.data.arrow_table import assemble
from sgdone.data.column_choice import choose_columns, named_columns
from sgdone.data.compressed_files import is_compressed, opened
from sgdone.data.reader import Reader
from sgdone.data.table import ReadOptions, Table
from sgdone.message_text import counted

_PIECE = 1 << 20


def read_parquet(options: ReadOptions) -> Table:
    """Read a Parquet file. The index saved by pandas is not a feature unless ``features`` or ``label`` names it."""
    with _file(options) as file:
        names = _without_index(file.schema_arrow, options)
        columns = choose_columns(names, options)
        _check_size(file.metadata, len(columns.features), options)
        table = file.read(columns=columns.read())
    return assemble(table, columns, options, lambda row: f"row {row + 1:,}")


def read_as_written(options: ReadOptions) -> dict[str, list[str]]:
    """Read the columns that ``features`` names as strings; missing values are empty."""
    with _file(options) as file:
        columns = named_columns(options.features or (), file.schema_arrow.names, options)
        table = file.read(columns=columns)
    return {name: [_text(value) for value in table.column(name).to_pylist()] for name in columns}


def _text(value: Any) -> str:
    return "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


@contextmanager
def _file(options: ReadOptions) -> Iterator[Any]:
    with opened(options.path) as stream:
        if not stream.read(1):
            raise options.error("is empty")
    try:
        with pq.ParquetFile(_source(options), page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise options.error(f"cannot be read as Parquet ({reason}): write the file again") from error


def _source(options: ReadOptions) -> Any:
    if not is_compressed(options.path):
        return str(options.path)
    budget, pieces, size = options.budget(), list[bytes](), 0
    with opened(options.path) as stream:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            # The pieces and their concatenation.
            budget.check(2 * size, f"{size:,} decompressed bytes so far")
    return pa.BufferReader(b"".join(pieces))


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


READER = Reader("parquet", (".parquet", ".pq"), read_parquet, read_as_written)
