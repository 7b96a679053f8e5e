"""Small matrices that have the singular values of large ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sgdone.diagnose.separability.least_squares import is_sparse

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

#: Cells of a dense block.
_BLOCK = 2_000_000
#: Rows of a block to factorise, as a multiple of its columns: it should stay within a core's cache.
_BLOCK_WIDTHS = 16


@final
@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """Ones, if there is an intercept, and some columns in units in which their largest value is about 1."""

    X: Any
    columns: Columns
    scale: Array
    fit_intercept: bool

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.columns.size) + int(self.fit_intercept)

    def blocks(self, rows: int) -> Iterator[Array]:
        """Dense, so many rows at a time."""
        whole = self.columns.size == self.X.shape[1]
        for first in range(0, self.X.shape[0], rows):
            part = self.X[first : first + rows]
            part = part if whole else part[:, self.columns]
            block = np.ones((part.shape[0], self.width))
            block[:, int(self.fit_intercept) :] = part.toarray() if is_sparse(part) else part
            block[:, int(self.fit_intercept) :] *= self.scale
            yield block

    def sparse(self) -> Any:
        """The same as a sparse matrix."""
        part: Any = sparse.csr_array(self.X)[:, self.columns] @ sparse.diags_array(self.scale)
        if not self.fit_intercept:
            return sparse.csr_array(part)
        ones = sparse.csr_array(np.ones((part.shape[0], 1)))
        return sparse.csr_array(sparse.hstack([ones, part]))


def triangle(matrix: ScaledColumns) -> Array:
    """R of a QR factorisation of the columns, each of length 1; of the transpose if there are more columns than rows.

    It is made from blocks of rows: what is left of those before goes on top of the next.
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
    """F with FᵀF = MᵀM, or MMᵀ where M is wide, from eigenvalues; the columns of M have the length 1."""
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
