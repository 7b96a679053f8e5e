"""The numerical rank of a matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sgdone.diagnose.separability.least_squares import is_sparse

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

_EPSILON = float(np.finfo(np.float64).eps)
#: Largest rows × columns² for a QR factorisation: it takes seconds.
_ORTHOGONAL = 2e10
#: The same for the Gram matrix, which is faster but has half the digits, and its largest size.
_INNER_PRODUCTS, _WIDEST = 1e12, 4_000
#: Number of values of a dense block.
_BLOCK = 2_000_000
#: Number of rows of a block to factorise, as a multiple of its columns: it should fit in a core's cache.
_BLOCK_WIDTHS = 16


@final
@dataclass(frozen=True, eq=False)
class Rank:
    """The numerical rank of a matrix.

    Attributes
    ----------
    value : int or None
        None if it was not computed; ``reason`` says why.
    at_most : int
        Upper bound: the number of rows, or of columns that are neither zero nor duplicates.
    columns : int
        Number of columns, including the intercept.
    tolerance : float
        Singular values below this fraction of the largest count as 0, with columns scaled to norm 1.
    method : str
        "QR" or "inner products".
    reason : str
    dependent : tuple of int
        Columns that are linear combinations of the columns before them (and the intercept), without zero, constant and
        duplicate columns. Empty if they were not determined.
    """

    value: int | None
    at_most: int
    columns: int
    tolerance: float = 0.0
    method: str = ""
    reason: str = ""
    dependent: tuple[int, ...] = ()


def numerical_rank(X: Any, distinct: Columns, largest: Array, fit_intercept: bool) -> Rank:
    """Compute the rank of X, with a column of ones in front if there is an intercept.

    Parameters
    ----------
    X : array or CSR matrix
    distinct : array of int
        Columns to use: the others are zero or multiples of these or of the intercept.
    largest : array
        Largest absolute value of each column.
    fit_intercept : bool

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [3.0, 1.0, 4.0]])
    >>> rank = numerical_rank(X, np.arange(3), np.array([3.0, 2.0, 4.0]), fit_intercept=True)
    >>> rank.value, rank.columns, rank.dependent
    (3, 4, (2,))
    """
    n, m = X.shape[0], distinct.size + int(fit_intercept)
    columns, at_most = X.shape[1] + int(fit_intercept), min(n, m)
    tolerance = max(n, m) * _EPSILON
    if at_most == 0:
        return Rank(0, 0, columns, tolerance, "QR")
    scale = np.ldexp(1.0, -np.frexp(largest[distinct])[1])
    matrix = ScaledColumns(X, distinct, scale, fit_intercept)
    if n * m * at_most <= _ORTHOGONAL:
        factor, method = triangle(matrix), "QR"
    elif at_most <= _WIDEST and _cost(X, m, at_most) <= _INNER_PRODUCTS:
        # The Gram matrix has the squares of the singular values: the tolerance is the square root.
        factor, method, tolerance = root_of_inner_products(matrix, n < m), "inner products", float(np.sqrt(tolerance))
    else:
        reason = f"{n:,} rows and {m:,} distinct columns are too many for a factorisation"
        return Rank(None, at_most, columns, reason=reason)
    sizes = linalg.svdvals(factor, check_finite=False)
    value = int(np.count_nonzero(sizes > tolerance * sizes[0]))
    dependent: tuple[int, ...] = ()
    if value < m <= n:
        later = _spanned(factor, tolerance)
        if len(later) == m - value:
            dependent = tuple(int(distinct[k - int(fit_intercept)]) for k in later)
    return Rank(value, at_most, columns, tolerance, method, dependent=dependent)


def _cost(X: Any, m: int, at_most: int) -> float:
    if not is_sparse(X):
        return float(X.shape[0]) * m * at_most
    lengths = np.diff(X.indptr).astype(np.float64)
    # Sparse products are about 100 times slower than dense ones; the second term is the eigendecomposition.
    return 100.0 * float(lengths @ lengths) + 10.0 * float(at_most) ** 3


def _spanned(factor: Array, tolerance: float) -> list[int]:
    """Columns that are linear combinations of those before them: Gram–Schmidt with each projection made twice."""
    basis = np.empty((factor.shape[1], factor.shape[0]))
    kept, later = 0, []
    for k in range(factor.shape[1]):
        rest = factor[:, k].copy()
        for _ in range(2):
            rest -= basis[:kept].T @ (basis[:kept] @ rest)
        length = float(np.linalg.norm(rest))
        # The tolerance is relative to the largest singular value, which is at most √columns.
        if length <= tolerance * np.sqrt(factor.shape[1]):
            later.append(k)
            continue
        basis[kept] = rest / length
        kept += 1
    return later


@final
@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """A column of ones if there is an intercept, and the given columns scaled to a largest value of about 1."""

    X: Any
    columns: Columns
    scale: Array
    fit_intercept: bool

    @property
    def width(self) -> int:
        """Number of columns, including the intercept."""
        return int(self.columns.size) + int(self.fit_intercept)

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield dense blocks of the given number of rows."""
        whole = self.columns.size == self.X.shape[1]
        for first in range(0, self.X.shape[0], rows):
            part = self.X[first : first + rows]
            part = part if whole else part[:, self.columns]
            block = np.ones((part.shape[0], self.width))
            block[:, int(self.fit_intercept) :] = part.toarray() if is_sparse(part) else part
            block[:, int(self.fit_intercept) :] *= self.scale
            yield block

    def sparse(self) -> Any:
        """The whole matrix in CSR format."""
        part: Any = sparse.csr_array(self.X)[:, self.columns] @ sparse.diags_array(self.scale)
        if not self.fit_intercept:
            return sparse.csr_array(part)
        ones = sparse.csr_array(np.ones((part.shape[0], 1)))
        return sparse.csr_array(sparse.hstack([ones, part]))


def triangle(matrix: ScaledColumns) -> Array:
    """R of a QR factorisation of the columns, scaled to norm 1; of the transpose if there are more columns than rows.

    Computed block by block: the R of the blocks before is stacked on the next block.
    """
    n, m = matrix.X.shape[0], matrix.width
    if n < m:
        whole = np.vstack(list(matrix.blocks(n)))
        norms = np.linalg.norm(whole, axis=0)
        return _qr(np.ascontiguousarray((whole / norms).T))
    R = np.empty((0, m))
    for block in matrix.blocks(_BLOCK_WIDTHS * m):
        R = _qr(np.vstack([R, block]))
    R /= np.linalg.norm(R, axis=0)
    return R


def _qr(block: Array) -> Array:
    R = linalg.qr(block, mode="r", overwrite_a=True, check_finite=False)[0]
    return np.asarray(R[: block.shape[1]], dtype=np.float64)


def root_of_inner_products(matrix: ScaledColumns, wide: bool) -> Array:
    """F with FᵀF = MᵀM, or MMᵀ if M is wide, from an eigendecomposition; the columns of M have norm 1."""
    if is_sparse(matrix.X):
        M = matrix.sparse()
        if wide:
            squares = np.asarray(M.multiply(M).sum(axis=0)).ravel()
            M = M @ sparse.diags_array(1.0 / np.sqrt(squares))
        products = (M @ M.T if wide else M.T @ M).toarray()
    elif wide:
        whole = np.vstack(list(matrix.blocks(matrix.X.shape[0])))
        whole /= np.linalg.norm(whole, axis=0)
        products = whole @ whole.T
    else:
        products = np.zeros((matrix.width, matrix.width))
        for block in matrix.blocks(max(4 * matrix.width, _BLOCK // matrix.width)):
            products += block.T @ block
    if not wide:
        norms = np.sqrt(np.diag(products))
        products /= norms
        products /= norms[:, None]
    values, vectors = linalg.eigh(products, overwrite_a=True, check_finite=False)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
