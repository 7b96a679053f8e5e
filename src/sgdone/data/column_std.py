"""Standard deviations of columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Values of a dense matrix processed at a time, so that they fit in a core's cache.
_PIECE = 1 << 17
#: Rows that are used: enough for two digits, and little time beside a fit.
_MOST_ROWS = 1 << 10


def column_std(X: Any, sample_weight: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Standard deviation of each column of an array or a CSR matrix; a weight is the frequency of a row.

    At most 1,024 rows are used, at equal distances. A column whose squares overflow has
    standard deviation 0, like a constant one.

    Examples
    --------
    >>> column_std(np.array([[1.0, 5.0], [3.0, 5.0]])), column_std(sparse.csr_array([[0.0, 4.0], [0.0, 0.0]]))
    (array([1., 0.]), array([0., 2.]))
    """
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    distance = -(-X.shape[0] // _MOST_ROWS)
    if distance > 1:
        X, weight = X[::distance], weight[::distance]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        firsts, squares, total = _of_csr(X, weight) if sparse.issparse(X) else _of_dense(X, weight)
        mean = firsts / total
        std = np.sqrt(np.maximum(squares / total - mean * mean, 0.0))
    return np.where(np.isfinite(std), std, 0.0)


def _of_csr(X: Any, weight: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], float]:
    data, indices = X.data, X.indices
    frequency = np.repeat(weight, np.diff(X.indptr))
    if not weight.all():
        data, indices, frequency = (part[frequency != 0] for part in (data, indices, frequency))
    firsts = np.bincount(indices, frequency * data, X.shape[1])
    return firsts, np.bincount(indices, frequency * data * data, X.shape[1]), float(weight.sum())


def _of_dense(X: Any, weight: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Weighted sums of differences from a row, and of their squares: a large mean would drown the spread."""
    firsts, squares = np.zeros((2, X.shape[1]))
    used = np.flatnonzero(weight)
    if not used.size:
        return firsts, squares, 0.0
    pivot = np.asarray(X[used[0]], dtype=np.float64)
    step = max(1, _PIECE // max(1, X.shape[1]))
    for first in range(0, used.size, step):
        rows = used[first : first + step]
        differences = X[rows] - pivot
        firsts += weight[rows] @ differences
        squares += weight[rows] @ np.square(differences)
    return firsts, squares, float(weight[used].sum())
