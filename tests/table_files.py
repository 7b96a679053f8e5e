"""Tables as files of every format."""

import json
from datetime import datetime

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq


def content(table, form, n_rows=None, **options):
    """The bytes of a file, with this number of rows in a row group or record batch; further options are Parquet's."""
    sink = pa.BufferOutputStream()
    if form in ("csv", "tsv"):
        arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(delimiter="," if form == "csv" else "\t"))
    elif form == "parquet":
        pq.write_table(table, sink, row_group_size=n_rows, **options)
    elif form in ("arrow", "arrows"):
        with (pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream)(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=n_rows)
    else:
        lines = (json.dumps(row, default=datetime.isoformat, ensure_ascii=False) for row in table.to_pylist())
        return "".join(f"{line}\n" for line in lines).encode()
    return sink.getvalue().to_pybytes()
