"""Columns that are equal to the last bit, found in one look at the values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.separability.least_squares import is_sparse

Hashes = NDArray[np.uint64]


def column_hashes(X: Any, block: int) -> Hashes:
    """A number for each column of an array or a CSC matrix: equal columns have equal ones, and zeros cost nothing.

    Σ_i r_i·m(x_ij) modulo 2⁶⁴, with odd numbers r_i that look random and m the mixing of SplitMix64, of which m(0) = 0.
    """
    factors = _mixed(np.arange(1, X.shape[0] + 1, dtype=np.uint64)) | np.uint64(1)
    total = np.zeros(X.shape[1], dtype=np.uint64)
    if is_sparse(X):
        filled = np.flatnonzero(np.diff(X.indptr))
        if filled.size:
            total[filled] = np.add.reduceat(_bits(X.data) * factors[X.indices], X.indptr[filled])
        return total
    step = max(1, block // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        values = _bits(X[first : first + step])
        values *= factors[first : first + step, None]
        total += values.sum(axis=0, dtype=np.uint64)
    return total


def identical_columns(X: Any, columns: NDArray[np.intp], hashes: Hashes) -> list[tuple[int, ...]]:
    """Groups of columns that are the same; what has the same hash is compared value by value."""
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
    """The bits of numbers, mixed; −0 is 0."""
    return _mixed(np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64))


def _mixed(bits: Hashes) -> Hashes:
    """Steele, Lea and Flood (2014), the finaliser of SplitMix64; in place."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits
