"""A matrix as the compiled loops reach it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.csr_validation import check_csr, check_indptr
from sgdone.kernels import rows as access
from sgdone.kernels.rows import RowAccess

#: Entries of a sparse row that are prefetched at most.
_LONGEST_REACH = 256


@final
@dataclass(frozen=True)
class Scaling:
    """Units in which the loops see the features: (x − shift)/scale; ``shift=None`` leaves sparse rows sparse."""

    scale: NDArray[np.float64]
    shift: NDArray[np.float64] | None = None


@final
@dataclass(frozen=True)
class Rows:
    """The rows of a matrix: the functions that reach them and the arrays these need."""

    access: RowAccess
    arrays: tuple[Any, ...]
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    scaling: Scaling | None = None

    @classmethod
    def of(cls, X: Any, scaling: Scaling | None = None) -> "Rows":
        """Rows of a C-contiguous array or a CSR matrix of float32 or float64, in the units of ``scaling``."""
        dense = not sparse.issparse(X)
        reach, arrays = _scaled((frozen(X),) if dense else _sparse(X), dense, X.dtype, scaling)
        return cls(reach, arrays, X.shape[0], X.shape[1], X.dtype, scaling)

    def matrix(self, rows: NDArray[np.uint64]) -> Any:
        """A copy of some rows in the user's units, dense or CSR as they are."""
        if self.access.vectors_first:
            return self.arrays[0][rows]
        data, indices, indptr = self.arrays[:3]
        starts, ends = indptr[rows].astype(np.int64), indptr[rows + np.uint64(1)].astype(np.int64)
        entries = np.concatenate([np.arange(*ends_of_row) for ends_of_row in zip(starts, ends, strict=True)])
        columns = indices[entries]
        if columns.size and columns.max() >= self.n_features:
            self.check_indices()
        boundaries = np.concatenate([[0], np.cumsum(ends - starts)])
        return sparse.csr_array((data[entries], columns.astype(np.int64), boundaries), (rows.size, self.n_features))

    def whole(self) -> Any:
        """All rows in the user's units, without a copy of their values."""
        if self.access.vectors_first:
            return self.arrays[0]
        data, indices, indptr = self.arrays[:3]
        signed = np.int32 if indices.dtype.itemsize == 4 else np.int64
        shape = (self.n_rows, self.n_features)
        return sparse.csr_array((data, indices.view(signed), indptr.astype(np.int64)), shape)

    def in_units(self, scaling: Scaling) -> "Rows":
        """The same rows in other units."""
        reach, arrays = _scaled(self.arrays, self.access.vectors_first, self.dtype, scaling)
        return replace(self, access=reach, arrays=arrays, scaling=scaling)

    def like(self, X: Any) -> "Rows":
        """Other rows, reached in the same way and in the same units."""
        dense = self.access.vectors_first
        if sparse.issparse(X) == dense:
            X = X.toarray() if dense else sparse.csr_array(X)
        return Rows.of(X.astype(self.dtype), self.scaling)

    @cached_property
    def types(self) -> str:
        """The types of the arrays, for telling compiled loops apart."""
        return " ".join(str(array.dtype) for array in self.arrays if isinstance(array, np.ndarray))

    @property
    def typical_length(self) -> int:
        """Entries that a row has, on average."""
        return self.n_features if self.access.vectors_first else self.arrays[0].size // max(1, self.n_rows)

    def find_fault(self, row: int) -> str | None:
        """Say what is wrong with a row, if anything is: a value that is not finite, or values too large to square."""
        if self.access.vectors_first:
            values, columns = self.arrays[0][row], np.arange(self.n_features)
        else:
            data, indices, indptr = self.arrays[:3]
            here = slice(int(indptr[row]), int(indptr[row + 1]))
            values, columns = data[here], indices[here]
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            kind = "NaN" if np.isnan(values[bad[0]]) else "infinity"
            return f"row {row} of X holds {kind} in column {columns[bad[0]]}: impute or drop it before fit"
        with np.errstate(over="ignore"):
            if not np.isfinite(values @ values):
                return f"row {row} of X is too large: ‖x‖² overflows {self.dtype}. Scale the features"
        return None

    def check_indices(self) -> None:
        """Refuse sparse rows that point outside their matrix, naming the first that does."""
        _, indices, indptr = self.arrays[:3]
        check_csr(indices, indptr, self.n_features)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view, so that the loops are compiled once for the user's writable and read-only arrays."""
    view = array.view()
    view.flags.writeable = False
    return view


def _sparse(X: Any) -> tuple[Any, ...]:
    X = _canonical(X)
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    typical = min(_LONGEST_REACH, X.nnz // max(1, X.shape[0]) + 8)
    return (
        frozen(np.ascontiguousarray(X.data)),
        frozen(np.ascontiguousarray(X.indices).view(unsigned)),
        X.indptr.astype(np.uint64),
        np.uint64(typical),
    )


def _scaled(
    arrays: tuple[Any, ...], dense: bool, dtype: np.dtype[Any], scaling: Scaling | None
) -> tuple[RowAccess, tuple[Any, ...]]:
    """The way of reaching rows in the units of ``scaling``, and what it needs beside the matrix."""
    matrix = arrays[: 1 if dense else 4]
    if scaling is None:
        return (access.DENSE if dense else access.CSR), matrix
    inverse = 1.0 / scaling.scale
    if dense:
        shift = np.zeros(inverse.size) if scaling.shift is None else scaling.shift
        return access.DENSE_SCALED, (*matrix, shift.astype(dtype), inverse.astype(dtype))
    if scaling.shift is None:
        return access.CSR_SCALED, (*matrix, inverse.astype(dtype))
    centre = scaling.shift * inverse
    return access.CSR_SHIFTED, (*matrix, inverse.astype(dtype), centre, float(centre @ centre))


def _canonical(X: Any) -> Any:
    """No index twice in a row, because the squared norm needs it.

    SciPy's word for it may be out of date: a row that is longer than it can be has room in no buffer of the loops.
    """
    check_indptr(X.indptr, min(X.indices.size, X.data.size))
    if not X.has_canonical_format or np.diff(X.indptr).max(initial=0) > X.shape[1]:
        check_csr(X.indices, X.indptr, X.shape[1])
        X = X.copy()
        X.sum_duplicates()
    return X
