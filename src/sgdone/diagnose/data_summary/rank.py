"""How many columns are independent of each other."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose.data_summary.factor import ScaledColumns, root_of_inner_products, triangle
from sgdone.diagnose.separability.least_squares import is_sparse

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

_EPSILON = float(np.finfo(np.float64).eps)
#: rows × columns² up to which an orthogonal factorisation takes seconds.
_ORTHOGONAL = 2e10
#: The same for the matrix of inner products, which is faster and half as exact, and the most columns it may have.
_INNER_PRODUCTS, _WIDEST = 1e12, 4_000


@final
@dataclass(frozen=True, eq=False)
class Rank:
    """The numerical rank of a matrix.

    Attributes
    ----------
    value : int or None
        None if it was not computed; ``reason`` says why.
    at_most : int
        What it cannot exceed: rows, and columns that are neither 0 nor equal to another.
    columns : int
        All columns, that of the intercept counted.
    tolerance : float
        Singular values below this share of the largest count as 0, the columns having the length 1.
    method : str
        "QR" or "inner products".
    reason : str
    dependent : tuple of int
        Columns that those before them (and the intercept) span, zero, constant and duplicate ones left out. Empty where
        they are not determined.
    """

    value: int | None
    at_most: int
    columns: int
    tolerance: float = 0.0
    method: str = ""
    reason: str = ""
    dependent: tuple[int, ...] = ()


def numerical_rank(X: Any, telling: Columns, largest: Array, fit_intercept: bool) -> Rank:
    """The rank of X, a column of ones before it if there is an intercept.

    Parameters
    ----------
    X : array or CSR matrix
    telling : array of int
        Columns to look at: the others are known to be 0 or multiples of these (or of the intercept's).
    largest : array
        Of each column, the largest absolute value.
    fit_intercept : bool

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [3.0, 1.0, 4.0]])
    >>> rank = numerical_rank(X, np.arange(3), np.array([3.0, 2.0, 4.0]), fit_intercept=True)
    >>> rank.value, rank.columns, rank.dependent
    (3, 4, (2,))
    """
    n, m = X.shape[0], telling.size + int(fit_intercept)
    columns, at_most = X.shape[1] + int(fit_intercept), min(n, m)
    tolerance = max(n, m) * _EPSILON
    if at_most == 0:
        return Rank(0, 0, columns, tolerance, "QR")
    scale = np.ldexp(1.0, -np.frexp(largest[telling])[1])
    matrix = ScaledColumns(X, telling, scale, fit_intercept)
    if n * m * at_most <= _ORTHOGONAL:
        factor, method = triangle(matrix), "QR"
    elif at_most <= _WIDEST and _cost(X, m, at_most) <= _INNER_PRODUCTS:
        # A singular value is known as well as its square is.
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
            dependent = tuple(int(telling[k - int(fit_intercept)]) for k in later)
    return Rank(value, at_most, columns, tolerance, method, dependent=dependent)


def _cost(X: Any, m: int, at_most: int) -> float:
    if not is_sparse(X):
        return float(X.shape[0]) * m * at_most
    lengths = np.diff(X.indptr).astype(np.float64)
    # Products of the values of a row with each other, a hundred times as slow as dense ones, and the eigenvalues.
    return 100.0 * float(lengths @ lengths) + 10.0 * float(at_most) ** 3


def _spanned(factor: Array, tolerance: float) -> list[int]:
    """Columns that those before them span: Gram and Schmidt's method, each projection made twice."""
    basis = np.empty((factor.shape[1], factor.shape[0]))
    kept, later = 0, []
    for k in range(factor.shape[1]):
        rest = factor[:, k].copy()
        for _ in range(2):
            rest -= basis[:kept].T @ (basis[:kept] @ rest)
        length = float(np.linalg.norm(rest))
        # The tolerance is a share of the largest singular value, which is at most √columns.
        if length <= tolerance * np.sqrt(factor.shape[1]):
            later.append(k)
            continue
        basis[kept] = rest / length
        kept += 1
    return later
