"""Compiled loops of readers and tables with the bounds of arrays checked, and as plain Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

READERS = """
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from readers import test_svmlight_parts, test_vw
from kernels.test_decimal_number import HALFWAY, HARD, read
from sgdone.readers import numeric_lines
from sgdone.rows.blocks import ColumnNumbers
from sgdone.matrices.csr import with_unique_entries
from sgdone.matrices.stacking import ReusedArrays
from sgdone.readers.formats.csv.cells import number_columns
from sgdone.readers.formats.csv.cells import FirstRecord
from sgdone.readers.text_blocks import TextBlock
from sgdone.readers.formats.svmlight import read_svmlight_parts
from sgdone.readers.formats.vw import read_vw_parts
from sgdone.readers.table import ReadOptions

out = list(read(HARD + HALFWAY))
file = Path(sys.argv[1]).with_suffix(".txt")
options = ReadOptions(file)
for block in (1 << 6, 1 << 16):
    numeric_lines.BLOCK = block
    for reader, module in ((read_svmlight_parts, test_svmlight_parts), (read_vw_parts, test_vw)):
        for bits in (None, 3):
            file.write_bytes(module.random_text(5, 40))
            for table in reader([replace(options, bits=bits)]):
                out += [table.X.indptr, table.X.indices, table.X.data.view(np.uint64), table.y.view(np.uint64)]
                numbers = ColumnNumbers()
                out += [numbers.of(with_unique_entries(table.X)).indices, numbers.columns]
record = FirstRecord(",", ["a", "b", "c"], options)
for text in (b"1,2.5,3\\n\\n-4e-7,,5\\r\\n6,7,8", b"1,2\\n", b"12,x,3\\n", b"1,2,3", b"\\n"):
    block, types = TextBlock(text, 1, text.count(b"\\n")), {"c": pa.int64(), "a": pa.float64()}
    found = number_columns(block, record, types, ReusedArrays())
    for column in (found or {}).values():
        out.append(column.to_numpy().astype(np.float64).view(np.uint64))
np.save(sys.argv[1], np.concatenate(out).astype(np.uint64))
"""

TABLES = """
import sys

import numpy as np
import pyarrow as pa
from sgdone import TableEncoder
from tables.test_frames import TABLE

out = []
for n_buckets in (1, 16, 2**12):
    encoder = TableEncoder({"note": "text"}, max_levels=2, n_buckets=n_buckets)
    encoder.partial_fit(TABLE.slice(0, 2))
    for table in (TABLE, TABLE.slice(4), TABLE.slice(3, 0)):
        for found in (encoder.encode(table), encoder.partial_fit_encode(table)):
            out += [found.dense.ravel(), found.sparse.data, found.sparse.indices, found.sparse.indptr]
    texts = ["", "😀", "é", "word " * 40, "x" * 60, None]
    found = encoder.encode(TABLE.set_column(4, "note", pa.array(texts)))
    out += [found.sparse.data, found.sparse.indices, found.tocsr().data, found.tocsr().indices]
    out.append(np.frombuffer("\\n".join(encoder.get_feature_names_out()).encode(), dtype=np.uint8))
np.save(sys.argv[1], np.concatenate(out))
"""


def results_of(program, folder):
    """What a program writes to the file that it is given, as plain Python and with bounds checked."""
    found = []
    for number, environment in enumerate(({"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "0"})):
        file = folder / f"{number}.npy"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, str(file)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(folder / f"cache-{number}"), **environment},
            cwd=Path(__file__).parent,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found.append(np.load(file))
    return found


def test_readers_of_text(tmp_path):
    expected, found = results_of(READERS, tmp_path)
    assert expected.size > 2000
    np.testing.assert_array_equal(found, expected)


def test_tables(tmp_path):
    expected, found = results_of(TABLES, tmp_path)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
