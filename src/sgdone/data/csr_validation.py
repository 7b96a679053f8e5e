"""Sparse matrices that point outside themselves, found before compiled loops (SciPy's too) use foreign memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ADVICE = "rebuild it from its (row, column, value) triples"


def check_indptr(indptr: NDArray[Any], n_entries: int) -> None:
    """Refuse row boundaries that do not rise from 0 to at most the number of entries."""
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size or indptr[0] != 0 or indptr[-1] > n_entries:
        where = f" at row {falls[0]}" if falls.size else ""
        raise ValueError(f"indptr of the CSR matrix X is broken{where}: {_ADVICE}")


def check_csr(indices: NDArray[Any], indptr: NDArray[Any], n_features: int) -> None:
    """Refuse broken row boundaries and column indices outside the matrix."""
    check_indptr(indptr, indices.size)
    # As unsigned numbers, negative indices are too large as well: one look finds both.
    unsigned = indices[: int(indptr[-1])].view(f"u{indices.dtype.itemsize}")
    if unsigned.size and unsigned.max() >= n_features:
        place = int(np.argmax(unsigned >= n_features))
        row = int(np.searchsorted(indptr, place, side="right")) - 1
        found = unsigned.view(f"i{indices.dtype.itemsize}")[place]
        raise ValueError(
            f"row {row} of the CSR matrix X holds the column index {found}, but X has {n_features} columns: {_ADVICE}"
        )
