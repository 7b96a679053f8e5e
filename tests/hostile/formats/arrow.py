"""Arrow's files and streams with columns of any type."""

import io
from random import Random

import pyarrow as pa

from .parquet import table

SUFFIXES = (".arrow", ".feather", ".arrows", "")


def content(random: Random) -> bytes:
    """A table, as a file or as a stream."""
    made, stream = table(random), io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=random.choice([None, None, "lz4", "zstd"]))
    new = random.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with new(stream, made.schema, options=options) as writer:
        writer.write_table(made, max_chunksize=random.choice([3, 20]))
    return stream.getvalue()
