"""Validation of CSR indices. Compiled loops, SciPy's included, would read outside the arrays of an invalid matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ADVICE = "rebuild it from (row, column, value) triples, for example with scipy.sparse.coo_array"


def check_indptr(indptr: NDArray[Any], n_entries: int) -> None:
    """Raise unless ``indptr`` increases from 0 to at most the number of entries."""
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size or indptr[0] != 0 or indptr[-1] > n_entries:
        where = f" at row {falls[0]}" if falls.size else ""
        raise ValueError(f"indptr of the CSR matrix X is invalid{where}: {_ADVICE}")


def check_csr(indices: NDArray[Any], indptr: NDArray[Any], n_features: int) -> None:
    """Raise for an invalid ``indptr`` and for column indices outside the matrix."""
    check_indptr(indptr, indices.size)
    # Viewed as unsigned, negative indices are too large: one comparison finds both faults.
    unsigned = indices[: int(indptr[-1])].view(f"u{indices.dtype.itemsize}")
    if unsigned.size and unsigned.max() >= n_features:
        place = int(np.argmax(unsigned >= n_features))
        row = int(np.searchsorted(indptr, place, side="right")) - 1
        found = unsigned.view(f"i{indices.dtype.itemsize}")[place]
        raise ValueError(
            f"row {row} of the CSR matrix X has the column index {found}, but X has {n_features} columns: {_ADVICE}"
        )
