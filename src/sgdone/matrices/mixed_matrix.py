"""Matrices whose first columns are dense and whose other columns are sparse."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_FLOATS = (np.float64, np.float32)


@final
class MixedMatrix:
    """Rows that are part dense, part sparse: numbers first, then categories or words.

    Neither part is copied. Features are numbered through: the dense columns first.

    Parameters
    ----------
    dense : ndarray of shape (n_rows, n_dense)
        C-contiguous, of float32 or float64.
    sparse : CSR matrix of shape (n_rows, n_sparse)
        Of the same dtype. Features that are appended later are appended here.

    Examples
    --------
    >>> X = MixedMatrix(np.array([[1.5], [2.5]]), sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> X.shape, X.n_dense
    ((2, 3), 1)
    >>> X @ np.array([2.0, 10.0, 20.0])
    array([23., 15.])
    >>> X[[1]].toarray()
    array([[2.5, 1. , 0. ]])
    """

    ndim = 2
    #: NumPy's operators leave products with a matrix to this class.
    __array_ufunc__ = None

    def __init__(self, dense: NDArray[Any], sparse: Any) -> None:
        _check(dense, sparse)
        self.dense, self.sparse = dense, sparse

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.dense.shape[0], self.dense.shape[1] + self.sparse.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values of both parts."""
        found: np.dtype[Any] = self.dense.dtype
        return found

    @property
    def n_dense(self) -> int:
        """Number of dense columns."""
        return int(self.dense.shape[1])

    @property
    def T(self) -> "TransposedMixedMatrix":  # noqa: N802  # as in NumPy
        """The transpose, for products."""
        return TransposedMixedMatrix(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<MixedMatrix of {rows:,} rows, {self.n_dense:,} dense and {columns - self.n_dense:,} sparse columns>"

    def __getitem__(self, key: Any) -> "MixedMatrix":
        """Chosen rows, or rows and columns: slices, arrays of numbers or of booleans; columns in ascending order."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, (int, np.integer)):
            raise IndexError(f"give rows of a MixedMatrix as a slice or an array: X[[{rows}]]")
        dense, entries = self.dense, self.sparse
        if not (columns is Ellipsis or (isinstance(columns, slice) and columns == slice(None))):
            chosen = np.arange(self.shape[1])[columns]
            if np.any(np.diff(chosen) < 0):
                raise IndexError("columns of a MixedMatrix stay in their order: give ascending numbers")
            dense = dense[:, chosen[chosen < self.n_dense]]
            entries = entries[:, chosen[chosen >= self.n_dense] - self.n_dense]
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = rows if rows.dtype == bool else rows.astype(np.intp)
        return MixedMatrix(np.ascontiguousarray(dense[rows]), sparse.csr_array(entries[rows]))

    def __matmul__(self, other: Any) -> NDArray[Any]:
        coef = np.asarray(other)
        if coef.shape[0] != self.shape[1]:
            raise ValueError(f"X has {self.shape[1]} columns, but is multiplied by {coef.shape[0]} rows")
        product: NDArray[Any] = self.dense @ coef[: self.n_dense] + self.sparse @ coef[self.n_dense :]
        return product

    def astype(self, dtype: Any, copy: bool = False) -> "MixedMatrix":
        """The same values in another type; nothing is copied if it is the same."""
        if self.dtype == dtype and not copy:
            return self
        return MixedMatrix(self.dense.astype(dtype), self.sparse.astype(dtype))

    def tocsr(self) -> Any:
        """All columns as one CSR matrix."""
        return sparse.csr_array(sparse.hstack([sparse.csr_array(self.dense), self.sparse], format="csr"))

    def toarray(self) -> NDArray[Any]:
        """All columns as one dense array."""
        return np.hstack([self.dense, self.sparse.toarray()])


@final
class TransposedMixedMatrix:
    """The transpose of a `MixedMatrix`: it can be multiplied by vectors and arrays."""

    __array_ufunc__ = None

    def __init__(self, matrix: MixedMatrix) -> None:
        self._matrix = matrix
        self.shape = matrix.shape[::-1]

    def __matmul__(self, other: Any) -> NDArray[Any]:
        values = np.asarray(other)
        return np.concatenate([self._matrix.dense.T @ values, self._matrix.sparse.T @ values])


def with_dense_columns(X: Any, n_dense: int) -> Any:
    """The same matrix with its first ``n_dense`` columns dense and the others sparse: an array if all are, or CSR.

    Examples
    --------
    >>> with_dense_columns(np.ones((2, 3)), 1)
    <MixedMatrix of 2 rows, 1 dense and 2 sparse columns>
    """
    if isinstance(X, MixedMatrix):
        if X.n_dense == n_dense:
            return X
        X = X.tocsr()
    if n_dense == X.shape[1]:
        return _as_array(X)
    if n_dense == 0:
        return sparse.csr_array(X)
    return MixedMatrix(_as_array(X[:, :n_dense]), sparse.csr_array(X[:, n_dense:]))


def arrays_of(X: Any) -> list[Any]:
    """The arrays that hold a dense, CSR or mixed matrix; an Arrow table as it is."""
    if isinstance(X, MixedMatrix):
        return [X.dense, *arrays_of(X.sparse)]
    return [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else [X]


def in_one_storage(X: Any) -> Any:
    """A dense array or CSR matrix as it is; a `MixedMatrix` as a CSR matrix, for what is not done often."""
    return X.tocsr() if isinstance(X, MixedMatrix) else X


def _as_array(X: Any) -> NDArray[Any]:
    array: NDArray[Any] = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)
    return array


def _check(dense: Any, entries: Any) -> None:
    """Raise for parts that are not of the right kind, or do not fit together."""
    if not isinstance(dense, np.ndarray) or dense.ndim != 2 or dense.dtype not in _FLOATS:
        raise ValueError("the dense part of a MixedMatrix must be an array of float32 or float64 with two dimensions")
    if not dense.flags.c_contiguous:
        raise ValueError("the dense part of a MixedMatrix must be C-contiguous: use numpy.ascontiguousarray")
    is_csr = sparse.issparse(entries) and getattr(entries, "format", "") == "csr"
    if not is_csr:
        raise ValueError("the sparse part of a MixedMatrix must be a CSR matrix of SciPy: use scipy.sparse.csr_array")
    if entries.dtype != dense.dtype:
        raise ValueError(
            f"the parts of a MixedMatrix must have one dtype: found {dense.dtype} (dense) and {entries.dtype} (sparse)"
        )
    if entries.shape[0] != dense.shape[0]:
        raise ValueError(
            f"the parts of a MixedMatrix must have as many rows: found {dense.shape[0]} (dense) and "
            f"{entries.shape[0]} (sparse)"
        )
