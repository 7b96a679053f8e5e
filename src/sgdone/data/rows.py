"""A matrix as the compiled loops reach it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.csr import check_csr, check_indptr
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

    @classmethod
    def of(cls, X: Any, scaling: Scaling | None = None) -> "Rows":
        """Rows of a C-contiguous array or a CSR matrix of float32 or float64, in the units of ``scaling``."""
        reach, arrays = _sparse(X, scaling) if sparse.issparse(X) else _dense(X, scaling)
        return cls(reach, arrays, X.shape[0], X.shape[1], X.dtype)

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


def _dense(X: NDArray[Any], scaling: Scaling | None) -> tuple[RowAccess, tuple[Any, ...]]:
    matrix = frozen(X)
    if scaling is None:
        return access.DENSE, (matrix,)
    shift = np.zeros(X.shape[1]) if scaling.shift is None else scaling.shift
    return access.DENSE_SCALED, (matrix, shift.astype(X.dtype), (1.0 / scaling.scale).astype(X.dtype))


def _sparse(X: Any, scaling: Scaling | None) -> tuple[RowAccess, tuple[Any, ...]]:
    X = _canonical(X)
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    typical = min(_LONGEST_REACH, X.nnz // max(1, X.shape[0]) + 8)
    arrays = (
        frozen(np.ascontiguousarray(X.data)),
        frozen(np.ascontiguousarray(X.indices).view(unsigned)),
        X.indptr.astype(np.uint64),
        np.uint64(typical),
    )
    if scaling is None:
        return access.CSR, arrays
    inverse = 1.0 / scaling.scale
    if scaling.shift is None:
        return access.CSR_SCALED, (*arrays, inverse.astype(X.dtype))
    centre = scaling.shift * inverse
    return access.CSR_SHIFTED, (*arrays, inverse.astype(X.dtype), centre, float(centre @ centre))


def _canonical(X: Any) -> Any:
    """No index twice in a row, because the squared norm needs it."""
    check_indptr(X.indptr, min(X.indices.size, X.data.size))
    if not X.has_canonical_format:
        check_csr(X.indices, X.indptr, X.shape[1])
        X = X.copy()
        X.sum_duplicates()
    return X
