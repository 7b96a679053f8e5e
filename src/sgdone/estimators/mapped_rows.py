"""Rows of a source as arrays that lie on disk: for sums over all rows that read them several times."""

import os
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.estimators.input_validation import check_rows_to_predict
from sgdone.estimators.opened_input import row_input
from sgdone.estimators.source_labels import labels_of
from sgdone.machine.background import in_background
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.table import errors_located
from sgdone.rows.block_cache import CacheError, cache_folder, unnamed_file

_AHEAD = 2
#: Entries from which positions in sparse rows need 64 bits.
_MANY_ENTRIES = 2**31 - 1


class MappedRows(NamedTuple):
    """Encoded rows on disk, their labels and weights in memory."""

    X: Any
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None


def mapped_rows(model: Any, source: Any) -> MappedRows:
    """The rows of a source, encoded as the model encodes them.

    The arrays are views of files without names, which vanish when nothing refers to the arrays: pages are read as they
    are needed. Labels, weights and the lengths of sparse rows are in memory.
    """
    rows = row_input(source)
    folder = cache_folder(rows.cache)
    with ExitStack() as stack:
        files = {name: stack.enter_context(unnamed_file(folder)) for name in ("dense", "indices", "values")}
        labels, weights, lengths, n_rows = [], [], [np.zeros(1, dtype=np.int64)], 0
        n_dense = n_sparse = 0
        tables: Any = stack.enter_context(closing(in_background(rows.tables(), _AHEAD)))
        for table in tables:
            with errors_located(table.place):
                X = check_rows_to_predict(model, table.X)
            dense, entries = _parts(X)
            n_dense, n_sparse = dense.shape[1], entries.shape[1]
            _append(files["dense"], dense)
            _append(files["indices"], entries.indices.astype(np.int32, copy=False))
            _append(files["values"], entries.data.astype(np.float64, copy=False))
            lengths.append(np.diff(entries.indptr).astype(np.int64))
            labels.append(labels_of(table, n_rows))
            if table.weights is not None:
                weights.append(table.weights)
            n_rows += X.shape[0]
        if not n_rows:
            raise ValueError("the source has no rows")
        dense = _mapped(files["dense"], np.float64).reshape(n_rows, n_dense)
        indptr = np.cumsum(np.concatenate(lengths))
        index = np.int32 if indptr[-1] <= _MANY_ENTRIES else np.int64
        entries = _csr(files, indptr.astype(index), (n_rows, n_sparse))
    X = dense if not n_sparse else entries if not n_dense else MixedMatrix(dense, entries)
    return MappedRows(X, np.concatenate(labels), np.concatenate(weights) if weights else None)


def _parts(X: Any) -> tuple[NDArray[np.float64], Any]:
    if isinstance(X, MixedMatrix):
        return np.ascontiguousarray(X.dense, dtype=np.float64), X.sparse
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64), sparse.csr_array((X.shape[0], 0))
    return np.empty((X.shape[0], 0)), X


def _csr(files: dict[str, Any], indptr: NDArray[Any], shape: tuple[int, int]) -> Any:
    indices = _mapped(files["indices"], np.int32)
    return sparse.csr_array(
        (_mapped(files["values"], np.float64), indices.astype(indptr.dtype, copy=False), indptr), shape
    )


def _append(file: Any, array: NDArray[Any]) -> None:
    try:
        file.write(array.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise CacheError(
            f"the rows cannot be kept on disk ({error.strerror}): free some space, or give another folder with cache="
        ) from error


def _mapped(file: Any, dtype: Any) -> NDArray[Any]:
    """The array that a file holds; the map keeps it once the file is closed."""
    if not os.fstat(file.fileno()).st_size:
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(file, dtype=dtype, mode="r"))
