"""A whole file from its parts, if it fits into memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.message_text import counted
from sgdone.readers.table import ReadOptions, Table

#: Bytes per entry and per row: those of the parts, and those of the whole.
_ENTRY, _ROW = 24, 24


def joined(options: ReadOptions, parts: Iterator[Table]) -> Table:
    """The rows of all parts of a file in one table; raises before they outgrow the memory.

    The matrices are CSR, and the widest one is as wide as the result.
    """
    budget = options.budget()
    tables: list[Table] = []
    rows = entries = 0
    for part in parts:
        rows += part.X.shape[0]
        entries += part.X.nnz
        budget.check(_ENTRY * entries + _ROW * rows, f"{counted(rows, 'row')} and {entries:,} values so far")
        tables.append(part)
    last = tables[-1]
    width = max(table.X.shape[1] for table in tables)
    return Table(
        X=_stacked([table.X for table in tables], width),
        y=_joined([table.y for table in tables]),
        feature_names=last.feature_names,
        label_name=None,
        path=options.path,
        zero_based=last.zero_based,
        weights=_joined([table.weights for table in tables]),
    )


def _stacked(matrices: list[Any], width: int) -> Any:
    nnz = sum(X.nnz for X in matrices)
    index = np.int32 if max(nnz, width) <= np.iinfo(np.int32).max else np.int64
    starts = np.cumsum([0, *(X.nnz for X in matrices)])
    indptr = [X.indptr[:-1].astype(index) + index(start) for X, start in zip(matrices, starts, strict=False)]
    data = np.concatenate([X.data for X in matrices])
    indices = np.concatenate([X.indices for X in matrices]).astype(index, copy=False)
    whole = np.concatenate([*indptr, np.array([nnz], dtype=index)])
    return sparse.csr_array((data, indices, whole), shape=(sum(X.shape[0] for X in matrices), width))


def _joined(arrays: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    """All items, or None if some array is None."""
    found = [array for array in arrays if array is not None]
    return np.concatenate(found) if len(found) == len(arrays) else None
