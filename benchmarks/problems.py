"""Generated data of the shapes that benchmarks speak of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def rcv1_like(
    dtype: Any, n_rows: int = 360_000, n_features: int = 47_000, per_row: int = 73
) -> tuple[Any, NDArray[Any]]:
    """Sparse text-like rows of unit norm: word frequencies fall as a power of the rank."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, n_features + 1) ** 0.8
    draws = rng.random(n_rows * per_row)
    ranks = np.searchsorted(np.cumsum(frequency / frequency.sum()), draws).clip(0, n_features - 1)
    columns = rng.permutation(n_features)[ranks].astype(np.int32)
    starts = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    values = rng.random(n_rows * per_row)
    X = sparse.csr_matrix((values, columns, starts), shape=(n_rows, n_features))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    scores = X @ rng.standard_normal(n_features)
    y = np.where(scores + 0.3 * scores.std() * rng.standard_normal(n_rows) > 0, 1, 0)
    X = X.astype(dtype)
    X.has_canonical_format = True
    return X, y


def dense(dtype: Any, n_rows: int, n_features: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Gaussian rows and a noisy linear label."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    scores = X @ rng.standard_normal(n_features)
    y = np.where(scores + 0.3 * scores.std() * rng.standard_normal(n_rows) > 0, 1, 0)
    return X.astype(dtype), y
