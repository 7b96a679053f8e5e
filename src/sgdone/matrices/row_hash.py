"""Keyed hashes of rows, to choose validation rows: copies of a row have the same hash in every pass and format."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.kernels.row_hash import add_csr, add_dense, add_texts
from sgdone.matrices.mixed_matrix import MixedMatrix

Hashes = NDArray[np.uint64]


def row_hashes(X: Any, key: int = 0) -> Hashes:
    """Hash of each row of an array, a CSR matrix, a `MixedMatrix` or an Arrow table.

    Numbers are hashed as float64, texts as UTF-8, and zeros not at all, so that rows of different storage or type that
    have the same values have the same hash. A missing value in a column of numbers is NaN.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = np.array([[0.0, 2.0], [1.0, -0.0], [0.0, 2.0]])
    >>> hashes = row_hashes(X, key=7)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    >>> np.array_equal(hashes, row_hashes(sparse.csr_array(X), key=7))
    True
    >>> np.array_equal(hashes, row_hashes(pa.table({"a": [0, 1, 0], "b": [2.0, 0.0, 2.0]}), key=7))
    True
    """
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    keyed = np.uint64(key)
    if isinstance(X, pa.Table):
        for j, column in enumerate(X.columns):
            _add_column(column, j, keyed, hashes)
    elif isinstance(X, MixedMatrix):
        _add_matrix(X.dense, 0, keyed, hashes)
        _add_matrix(X.sparse, X.n_dense, keyed, hashes)
    else:
        _add_matrix(X, 0, keyed, hashes)
    return hashes


def _add_matrix(X: Any, first_column: int, key: np.uint64, hashes: Hashes) -> None:
    first = np.uint64(first_column)
    if isinstance(X, np.ndarray):
        values = np.ascontiguousarray(X, dtype=np.float64)
        add_dense(values, values.view(np.uint64), first, key, hashes)
        return
    data = np.ascontiguousarray(X.data, dtype=np.float64)
    add = add_csr(f"{X.indices.dtype.name} {X.indptr.dtype.name}")
    add(data, data.view(np.uint64), X.indices, X.indptr, first, key, hashes)


def _add_column(column: Any, number: int, key: np.uint64, hashes: Hashes) -> None:
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if str(kind) in {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}:
        texts = pa.concat_arrays(column.cast(pa.large_binary()).chunks or [pa.array([], pa.large_binary())])
        _, offsets, data = texts.fill_null(b"\x00").buffers()
        starts = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
        chars = np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.zeros(1, dtype=np.uint8)
        add_texts(chars, starts, np.uint64(number), key, hashes)
        return
    if types.is_temporal(kind):
        width = 32 if kind.bit_width == 32 else 64
        column = column.cast(pa.int32() if width == 32 else pa.int64())
    if types.is_null(kind):
        column = pa.chunked_array([pa.nulls(len(column), pa.float64())])
    floats = pc.cast(column, pa.float64(), safe=False)
    if floats.null_count:
        floats = floats.fill_null(float("nan"))
    # `to_numpy` would import pandas.
    chunks = [chunk for chunk in floats.chunks if len(chunk)]
    parts = [np.frombuffer(chunk.buffers()[1], np.float64, len(chunk), 8 * chunk.offset) for chunk in chunks]
    values = np.concatenate([np.zeros(0), *parts])[:, None]
    add_dense(values, values.view(np.uint64), np.uint64(number), key, hashes)
