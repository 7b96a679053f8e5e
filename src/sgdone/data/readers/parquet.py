"""Reader for Apache Parquet files."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sgdone.data.arrow_table import assemble
from sgdone.data.column_choice import choose_columns
from sgdone.data.compressed_files import is_compressed, opened
from sgdone.data.reader import Reader
from sgdone.data.table import ReadOptions, Table


def read_parquet(options: ReadOptions) -> Table:
    """Read a Parquet file. The index saved by pandas is not a feature unless ``features`` or ``label`` names it."""
    with opened(options.path) as stream:
        if not stream.read(1):
            raise options.error("is empty")
    try:
        with pq.ParquetFile(_source(options.path), page_checksum_verification=True) as file:
            names = _without_index(file.schema_arrow, options)
            features, label = choose_columns(names, options)
            table = file.read(columns=features if label is None else [*features, label])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise options.error(f"cannot be read as Parquet ({reason}): write the file again") from error
    return assemble(table, features, label, options, lambda row: f"row {row + 1:,}")


def _source(path: Path) -> Any:
    if not is_compressed(path):
        return str(path)
    with opened(path) as stream:
        return pa.BufferReader(stream.read())


def _without_index(schema: Any, options: ReadOptions) -> list[str]:
    pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    index = {name for name in pandas.get("index_columns", []) if isinstance(name, str)}
    named = {options.label, *(options.features or ())}
    return [name for name in schema.names if name not in index or name in named]


READER = Reader("parquet", (".parquet", ".pq"), read_parquet)
