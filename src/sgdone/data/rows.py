"""Row access to dense and CSR matrices for the compiled loops."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.cells import column_text
from sgdone.data.csr_duplicates import as_unsigned, has_duplicates, without_duplicates
from sgdone.data.csr_validation import check_csr, check_indptr
from sgdone.kernels import rows as access
from sgdone.kernels.rows import RowAccess

#: Largest number of entries of a sparse row to prefetch.
_LONGEST_REACH = 256
#: Largest coefficient of a scaled feature that is still finite in the user's units.
_SPARE = 1024.0


@final
@dataclass(frozen=True)
class Scaling:
    """Scaling of the features in the loops: (x − shift)/scale. ``shift=None`` does not centre the features."""

    scale: NDArray[np.float64]
    shift: NDArray[np.float64] | None = None


@final
@dataclass(frozen=True)
class Rows:
    """The rows of a matrix: compiled access functions and the arrays they read."""

    access: RowAccess
    arrays: tuple[Any, ...]
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    scaling: Scaling | None = None
    #: Names of the columns for messages, if known.
    names: Sequence[str] | None = None

    @classmethod
    def of(cls, X: Any, scaling: Scaling | None = None, names: Sequence[str] | None = None) -> "Rows":
        """Rows of a C-contiguous array or a CSR matrix of float32 or float64, scaled by ``scaling``."""
        dense = not sparse.issparse(X)
        reach, arrays = _scaled((frozen(X),) if dense else _sparse(X), dense, X.dtype, scaling)
        return cls(reach, arrays, X.shape[0], X.shape[1], X.dtype, scaling, names)

    def matrix(self, rows: NDArray[np.uint64]) -> Any:
        """A copy of the given rows in the user's units, dense or CSR like the matrix."""
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
        """The matrix in the user's units, without copying its values."""
        if self.access.vectors_first:
            return self.arrays[0]
        data, indices, indptr = self.arrays[:3]
        signed = np.int32 if indices.dtype.itemsize == 4 else np.int64
        shape = (self.n_rows, self.n_features)
        return sparse.csr_array((data, indices.view(signed), indptr.astype(np.int64)), shape)

    def in_units(self, scaling: Scaling) -> "Rows":
        """The same rows with another scaling."""
        reach, arrays = _scaled(self.arrays, self.access.vectors_first, self.dtype, scaling)
        return replace(self, access=reach, arrays=arrays, scaling=scaling)

    def like(self, X: Any) -> "Rows":
        """Rows of another matrix, with the storage, dtype and scaling of these rows."""
        dense = self.access.vectors_first
        if sparse.issparse(X) == dense:
            X = X.toarray() if dense else sparse.csr_array(X)
        return Rows.of(X.astype(self.dtype), self.scaling, self.names)

    @cached_property
    def types(self) -> str:
        """The dtypes of the arrays, to identify compiled loops."""
        return " ".join(str(array.dtype) for array in self.arrays if isinstance(array, np.ndarray))

    @property
    def typical_length(self) -> int:
        """Mean number of entries per row."""
        return self.n_features if self.access.vectors_first else self.arrays[0].size // max(1, self.n_rows)

    def find_fault(self, row: int) -> str | None:
        """Describe the fault of a row: a value that is not finite, or a squared norm that overflows. None if valid."""
        if self.access.vectors_first:
            values, columns = self.arrays[0][row], np.arange(self.n_features)
        else:
            data, indices, indptr = self.arrays[:3]
            here = slice(int(indptr[row]), int(indptr[row + 1]))
            values, columns = data[here], indices[here]
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            kind = "NaN" if np.isnan(values[bad[0]]) else "infinity"
            column = column_text(int(columns[bad[0]]), self.names)
            return f"row {row} of X holds {kind} in column {column}: impute or drop it before fit"
        with np.errstate(over="ignore"):
            if not np.isfinite(values @ values):
                return f"row {row} of X is too large: ‖x‖² overflows {self.dtype}. Scale the features"
        return None

    def check_indices(self) -> None:
        """Raise if column indices are outside the matrix, naming the first such row."""
        _, indices, indptr = self.arrays[:3]
        check_csr(indices, indptr, self.n_features)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: the loops are then compiled once for writable and read-only arrays."""
    view = array.view()
    view.flags.writeable = False
    return view


def _sparse(X: Any) -> tuple[Any, ...]:
    check_indptr(X.indptr, min(X.indices.size, X.data.size))
    if has_duplicates(X.indices, X.indptr, X.shape[1]):
        X = without_duplicates(X)
    typical = min(_LONGEST_REACH, X.nnz // max(1, X.shape[0]) + 8)
    return (
        frozen(np.ascontiguousarray(X.data)),
        as_unsigned(X.indices),
        X.indptr.astype(np.uint64),
        np.uint64(typical),
    )


def _scaled(
    arrays: tuple[Any, ...], dense: bool, dtype: np.dtype[Any], scaling: Scaling | None
) -> tuple[RowAccess, tuple[Any, ...]]:
    """Access functions for scaled rows, and the arrays they read: the matrix, shift and inverse scale."""
    matrix = arrays[: 1 if dense else 4]
    if scaling is None:
        return (access.DENSE if dense else access.CSR), matrix
    with np.errstate(over="ignore"):
        inverse = 1.0 / scaling.scale
    small = np.flatnonzero(~(inverse <= np.finfo(dtype).max / _SPARE))
    if small.size:
        raise ValueError(
            f"column {small[0]} of X varies by {scaling.scale[small[0]]:.2g} only: its coefficient could exceed the "
            f"largest {dtype}. Multiply the column by a large number"
        )
    if dense:
        shift = np.zeros(inverse.size) if scaling.shift is None else scaling.shift
        return access.DENSE_SCALED, (*matrix, shift.astype(dtype), inverse.astype(dtype))
    if scaling.shift is None:
        return access.CSR_SCALED, (*matrix, inverse.astype(dtype))
    centre = scaling.shift * inverse
    return access.CSR_SHIFTED, (*matrix, inverse.astype(dtype), centre, float(centre @ centre))
