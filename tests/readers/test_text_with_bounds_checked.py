"""The compiled readers of text with bounds checked, and as plain Python."""

import numpy as np
import pytest

from bounds_checked import results_of

pytestmark = pytest.mark.slow

PROGRAM = """
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


def test_with_bounds_checked_and_as_plain_python(tmp_path):
    expected, found = results_of(PROGRAM, tmp_path)
    assert expected.size > 2000
    np.testing.assert_array_equal(found, expected)
