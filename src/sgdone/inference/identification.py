"""Combinations of coefficients that the rows determine."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from sgdone.diagnose.columns import column_hashes
from sgdone.inference.sample_rows import SampleRows
from sgdone.sums.row_sum import ArraySum, RowSum, message

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

#: Share of a column's squares that other columns leave unexplained, below which it is a linear combination of them: a
#: sum of products has half of the digits.
_DEPENDENT = 1e-11
#: Such a share of a curvature at some model, below which the products of the columns have to be examined.
DOUBTFUL = 1e-7
#: Squared share of a combination along directions that the rows do not determine, from which it is not determined.
_UNDETERMINED = 1e-8


@final
@dataclass(frozen=True)
class Identification:
    """Directions that the rows do not determine.

    The coefficients of ``dropped`` columns can be set to 0 without loss: each is a combination of the others. ``null``
    is an orthonormal basis of the directions, width × their number, in units in which columns have norm 1; ``size`` has
    their norms.
    """

    dropped: Columns
    null: Array
    size: Array

    def undetermined(self, combinations: Array | sparse.csr_array) -> NDArray[np.bool_]:
        """Whether each combination of the coefficients of one output, a row each, depends on these directions."""
        if not self.null.size:
            return np.zeros(combinations.shape[0], dtype=bool)
        inverse = np.divide(1.0, self.size, out=np.zeros_like(self.size), where=self.size > 0)
        if sparse.issparse(combinations):
            scaled = combinations @ sparse.diags_array(inverse)
            squares = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        else:
            scaled = combinations * inverse
            squares = np.einsum("ij,ij->i", scaled, scaled)
        along = np.asarray(scaled @ self.null)
        return np.asarray(np.einsum("ij,ij->i", along, along) > _UNDETERMINED * squares)

    def groups(self) -> list[Columns]:
        """Columns that are linearly dependent, together; the last number is that of the intercept."""
        if not self.null.size:
            return []
        involved = np.flatnonzero(np.einsum("ij,ij->i", self.null, self.null) > _UNDETERMINED)
        part = self.null[involved]
        linked = sparse.csr_array(np.abs(part @ part.T) > np.sqrt(_UNDETERMINED))
        count, labels = connected_components(linked, directed=False)
        return [involved[labels == k] for k in range(count)]


def identification(free: NDArray[np.bool_], products: Array) -> Identification | None:
    """Linear dependencies among the columns that are ``free``; None if there are none.

    ``products`` are sums of products of the columns, the intercept last.
    """
    size = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    known = np.flatnonzero(free & (size > 0))
    scaled = products[np.ix_(known, known)] / size[known, None] / size[known]
    values, vectors = linalg.eigh(scaled, check_finite=False)
    flat = values < _DEPENDENT
    if not flat.any():
        return None
    null = np.zeros((free.size, int(flat.sum())))
    null[known] = vectors[:, flat]
    # One column for each direction. The intercept stays: no direction consists of it alone.
    order = linalg.qr(null[:-1].T, mode="r", pivoting=True)[-1]
    return Identification(np.sort(order[: null.shape[1]]).astype(np.intp), null, size)


@final
@message
@dataclass(frozen=True)
class ColumnHashes(RowSum):
    """Hashes of the columns, sums modulo 2⁶⁴: equal columns have the same ones however the rows are divided."""

    def of(self, rows: SampleRows) -> ArraySum | None:
        """The hashes over these rows."""
        used = rows.used
        if not used.size:
            return None
        found: Any = np.empty(rows.block.rows.n_features, np.uint64)
        for columns, part in rows.block.rows.parts:
            matrix: Any = part.whole()
            matrix = matrix if used.size == matrix.shape[0] else matrix[used]
            by_columns = sparse.csc_array(matrix) if part.is_sparse else matrix
            found[columns] = column_hashes(by_columns, rows.first_row)
        return ArraySum(found)


def repeated_columns(groups: list[tuple[int, ...]], width: int) -> Identification | None:
    """Linear dependencies of equal columns; ``width`` counts the intercept."""
    if not groups:
        return None
    pairs = [(group[0], j) for group in groups for j in group[1:]]
    null = np.zeros((width, len(pairs)))
    for k, (first, other) in enumerate(pairs):
        null[first, k], null[other, k] = 1.0, -1.0
    dropped = np.array([other for _, other in pairs], dtype=np.intp)
    return Identification(np.sort(dropped), np.linalg.qr(null)[0], np.ones(width))
