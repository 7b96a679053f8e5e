"""The compiled loops of tables with bounds checked, and as plain Python."""

import numpy as np
import pytest

from bounds_checked import results_of

pytestmark = pytest.mark.slow

PROGRAM = """
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


def test_with_bounds_checked_and_as_plain_python(tmp_path):
    expected, found = results_of(PROGRAM, tmp_path)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
