"""Columns of a data set: missing values, constant and duplicate columns, and the numerical rank."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.rows.faults import is_missing

Array = NDArray[np.float64]
Columns = NDArray[np.intp]
Hashes = NDArray[np.uint64]

#: Number of values of a dense matrix processed at a time.
BLOCK = 1_000_000
#: Largest number of cells listed.
NAMED = 20


class Cell(NamedTuple):
    """Position of a missing or infinite value; rows and columns start at 0."""

    row: int
    column: int
    found: str


@final
@dataclass(frozen=True, eq=False)
class Missing:
    """Values that are missing (NaN) or infinite.

    Attributes
    ----------
    count : int
        Number of such values in X.
    cells : tuple of Cell
        The first of them, row by row.
    columns : dict
        Number of such values in each column that has any.
    labels : array of int
        Rows without a label.
    complete : mask
        Rows without such values and with a label.
    """

    count: int
    cells: tuple[Cell, ...]
    columns: dict[int, int]
    labels: NDArray[np.intp]
    complete: NDArray[np.bool_]

    @property
    def any(self) -> bool:
        """Whether any value or label is missing."""
        return bool(self.count or self.labels.size)

    @property
    def rows(self) -> int:
        """Number of rows with a missing value or label."""
        return int(np.count_nonzero(~self.complete))


def missing_values(X: Any, y: NDArray[Any]) -> Missing:
    """Find values that are not finite.

    Examples
    --------
    >>> found = missing_values(np.array([[1.0, np.nan], [np.inf, 2.0], [1.0, 2.0]]), np.array([0.0, 1.0, 1.0]))
    >>> found.count, found.cells, found.complete.tolist()
    (2, (Cell(row=0, column=1, found='NaN'), Cell(row=1, column=0, found='infinity')), [False, False, True])
    """
    cells: list[Cell] = []
    per_column = np.zeros(X.shape[1], dtype=np.int64)
    complete = np.ones(X.shape[0], dtype=bool)
    for rows, columns, values in _faults(X):
        per_column += np.bincount(columns, minlength=X.shape[1])
        complete[rows] = False
        for row, column, value in list(zip(rows, columns, values, strict=True))[: NAMED - len(cells)]:
            cells.append(Cell(int(row), int(column), "NaN" if np.isnan(value) else "infinity"))
    without = np.flatnonzero(_unlabelled(y))
    complete[without] = False
    found = np.flatnonzero(per_column)
    counts = {int(column): int(per_column[column]) for column in found}
    return Missing(int(per_column.sum()), tuple(cells), counts, without, complete)


def _faults(X: Any) -> Any:
    """Yield rows, columns and values that are not finite, block by block."""
    if is_sparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        yield np.searchsorted(X.indptr, bad, side="right") - 1, X.indices[bad], X.data[bad]
        return
    step = max(1, BLOCK // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        block = X[first : first + step]
        finite = np.isfinite(block)
        if not finite.all():
            rows, columns = np.nonzero(~finite)
            yield rows + first, columns, block[rows, columns]


def _unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.asarray(~np.isfinite(y))
    if y.dtype.kind == "O":
        return np.array([is_missing(label) for label in y.tolist()], dtype=bool)
    if y.dtype.kind in "Mm":
        return np.asarray(np.isnat(y))
    return np.zeros(y.size, dtype=bool)


@final
@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """Summary of the columns of a matrix.

    Attributes
    ----------
    nonzeros : int
        Number of non-zero values.
    largest : array
        Largest absolute value of each column.
    zero, constant : arrays of int
        Columns that are 0 in every row, and columns with the same non-zero value in every row. With a single row no
        column counts as constant.
    duplicates : list of tuples
        Groups of identical columns, in ascending order; without constant columns.
    too_large : array of int
        Columns with values whose squares overflow.
    """

    nonzeros: int
    largest: Array
    zero: Columns
    constant: Columns
    duplicates: list[tuple[int, ...]]
    too_large: Columns

    def distinct(self, fit_intercept: bool) -> Columns:
        """Columns that are neither zero nor constant (except one without an intercept) nor a duplicate of another."""
        dropped = np.zeros(self.largest.size, dtype=bool)
        dropped[self.zero] = True
        dropped[self.constant[0 if fit_intercept else 1 :]] = True
        for group in self.duplicates:
            dropped[list(group[1:])] = True
        return np.flatnonzero(~dropped)


def summarise_columns(X: Any) -> ColumnSummary:
    """Find zero, constant and duplicate columns in one pass; columns with equal hashes are compared once more.

    Examples
    --------
    >>> found = summarise_columns(np.array([[1.0, 0.0, 3.0, 1.0], [2.0, 0.0, 3.0, 2.0]]))
    >>> found.zero.tolist(), found.constant.tolist(), found.duplicates
    ([1], [2], [(0, 3)])
    """
    by_columns: Any = sparse.csc_array(X) if is_sparse(X) else X
    if is_sparse(X):
        nonzeros = int(np.count_nonzero(X.data))
        lowest, highest = (
            np.asarray(end.toarray(), dtype=np.float64).ravel() for end in (by_columns.min(0), by_columns.max(0))
        )
    else:
        nonzeros, lowest, highest = _dense_extremes(X)
    largest = np.maximum(-lowest, highest)
    too_large = np.flatnonzero(largest > math.sqrt(np.finfo(X.dtype).max))
    same = lowest == highest
    zero = np.flatnonzero(same & (highest == 0.0))
    if X.shape[0] < 2:
        return ColumnSummary(nonzeros, largest, zero, np.array([], dtype=np.intp), [], too_large)
    others = np.flatnonzero(~same)
    duplicates = identical_columns(by_columns, others, column_hashes(by_columns)[others])
    return ColumnSummary(nonzeros, largest, zero, np.flatnonzero(same & (highest != 0.0)), duplicates, too_large)


def _dense_extremes(X: NDArray[Any]) -> tuple[int, Array, Array]:
    nonzeros = 0
    lowest, highest = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    step = max(1, BLOCK // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        block = X[first : first + step]
        nonzeros += int(np.count_nonzero(block))
        lowest, highest = np.minimum(lowest, block.min(axis=0)), np.maximum(highest, block.max(axis=0))
    return nonzeros, lowest, highest


def column_hashes(X: Any, first_row: int = 0) -> Hashes:
    """Hash of each column of an array or a CSC matrix; zeros of a sparse matrix need no work.

    Σ_i r_i·m(x_ij) modulo 2⁶⁴, with pseudo-random odd r_i and m the mixing function of SplitMix64, for which m(0) = 0.
    The hashes of parts of the rows add up to the hash of all rows, if ``first_row`` is the number of the first row of
    each part.
    """
    factors = _mixed(np.arange(first_row + 1, first_row + X.shape[0] + 1, dtype=np.uint64)) | np.uint64(1)
    total = np.zeros(X.shape[1], dtype=np.uint64)
    if is_sparse(X):
        filled = np.flatnonzero(np.diff(X.indptr))
        if filled.size:
            total[filled] = np.add.reduceat(_bits(X.data) * factors[X.indices], X.indptr[filled])
        return total
    step = max(1, BLOCK // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        values = _bits(X[first : first + step])
        values *= factors[first : first + step, None]
        total += values.sum(axis=0, dtype=np.uint64)
    return total


def identical_columns(X: Any, columns: NDArray[np.intp], hashes: Hashes) -> list[tuple[int, ...]]:
    """Groups of identical columns; columns with the same hash are compared value by value."""
    order = np.argsort(hashes, kind="stable")
    ends = np.flatnonzero(np.diff(hashes[order])) + 1
    groups = []
    for alike in np.split(columns[order], ends):
        left = [int(column) for column in alike]
        while len(left) > 1:
            first = left[0]
            same = [column for column in left if _equal(X, first, column)]
            if len(same) > 1:
                groups.append(tuple(same))
            left = [column for column in left if column not in same]
    return sorted(groups)


def _equal(X: Any, a: int, b: int) -> bool:
    if not is_sparse(X):
        return bool(np.array_equal(X[:, a], X[:, b]))
    here, there = (slice(X.indptr[k], X.indptr[k + 1]) for k in (a, b))
    return bool(np.array_equal(X.indices[here], X.indices[there]) and np.array_equal(X.data[here], X.data[there]))


def _bits(values: NDArray[Any]) -> Hashes:
    """Mixed bits of the values; −0 equals 0."""
    return _mixed(np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64))


def _mixed(bits: Hashes) -> Hashes:
    """The mixing function of SplitMix64: Steele, Lea and Flood (2014). In place."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


_EPSILON = float(np.finfo(np.float64).eps)
#: Largest rows × columns² for a QR factorisation: it takes seconds.
_ORTHOGONAL = 2e10
#: The same for the Gram matrix, which is faster but has half the digits, and its largest size.
_INNER_PRODUCTS, _WIDEST = 1e12, 4_000
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

    The columns that are not ``distinct`` are zero or multiples of these or of the intercept; ``largest`` has the
    largest absolute value of each column.

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
        for block in matrix.blocks(max(4 * matrix.width, BLOCK // matrix.width)):
            products += block.T @ block
    if not wide:
        norms = np.sqrt(np.diag(products))
        products /= norms
        products /= norms[:, None]
    values, vectors = linalg.eigh(products, overwrite_a=True, check_finite=False)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
