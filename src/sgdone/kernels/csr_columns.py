"""Products of sparse rows with the columns of several models at once: each entry is read once for a group of columns.

Groups have one to four columns, whose sums stay in registers; more columns than four are a multiple of four.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled, inlined


def lanes_of(n_columns: int) -> int:
    """Columns in a group."""
    return min(4, n_columns)


def padded(n_columns: int) -> int:
    """Columns that arrays must have: those beyond ``n_columns`` stay 0.

    Examples
    --------
    >>> [padded(n) for n in (1, 3, 6)]
    [1, 3, 8]
    """
    return n_columns if n_columns <= 4 else -(-n_columns // 4) * 4


def _dots(lanes: int) -> Callable[..., None]:
    """Add the inner products of a row with columns to ``found[i]``."""

    @inlined
    def dots(data: Any, indices: Any, begin: Any, end: Any, columns: Any, found: Any, i: Any) -> None:
        for first in range(0, columns.shape[1], lanes):
            a = np.uint64(first)
            b, c, d = a + np.uint64(1), a + np.uint64(2), a + np.uint64(3)
            s0 = s1 = s2 = s3 = 0.0
            for e in range(begin, end):
                x, j = float(data[e]), indices[e]
                s0 += x * columns[j, a]
                if lanes > 1:
                    s1 += x * columns[j, b]
                if lanes > 2:
                    s2 += x * columns[j, c]
                if lanes > 3:
                    s3 += x * columns[j, d]
            found[i, a] += s0
            if lanes > 1:
                found[i, b] += s1
            if lanes > 2:
                found[i, c] += s2
            if lanes > 3:
                found[i, d] += s3

    return dots


def _adds(lanes: int, power: int) -> Callable[..., None]:
    """Add the entries of a row, or their squares, times ``values[i]`` to ``found``."""

    @inlined
    def adds(data: Any, indices: Any, begin: Any, end: Any, values: Any, i: Any, found: Any) -> None:
        for first in range(0, values.shape[1], lanes):
            a = np.uint64(first)
            b, c, d = a + np.uint64(1), a + np.uint64(2), a + np.uint64(3)
            v0 = v1 = v2 = v3 = values[i, a]
            if lanes > 1:
                v1 = values[i, b]
            if lanes > 2:
                v2 = values[i, c]
            if lanes > 3:
                v3 = values[i, d]
            for e in range(begin, end):
                x, j = float(data[e]), indices[e]
                if power == 2:
                    x = x * x
                found[j, a] += x * v0
                if lanes > 1:
                    found[j, b] += x * v1
                if lanes > 2:
                    found[j, c] += x * v2
                if lanes > 3:
                    found[j, d] += x * v3

    return adds


@lru_cache(maxsize=16)
def make_dots(types: str, lanes: int) -> Callable[..., None]:
    """A loop that adds xᵀcolumns of each row to ``found``, rows × columns."""
    dots = _dots(lanes)

    @compiled(types, dots)
    def csr_dots(data: Any, indices: Any, indptr: Any, rows: Any, columns: Any, found: Any) -> None:
        for i in range(rows.size):
            row = rows[i]
            dots(data, indices, indptr[row], indptr[row + np.uint64(1)], columns, found, np.uint64(i))

    return csr_dots


@lru_cache(maxsize=16)
def make_adds(types: str, lanes: int, power: int = 1) -> Callable[..., None]:
    """A loop that adds x·values[i] of each row i to ``found``, features × columns; with ``power=2``, x²·values[i]."""
    adds = _adds(lanes, power)

    @compiled(types, adds)
    def csr_adds(data: Any, indices: Any, indptr: Any, rows: Any, values: Any, found: Any) -> None:
        for i in range(rows.size):
            row = rows[i]
            adds(data, indices, indptr[row], indptr[row + np.uint64(1)], values, np.uint64(i), found)

    return csr_adds


@lru_cache(maxsize=16)
def make_curved(types: str, lanes: int) -> Callable[..., None]:
    """A loop that multiplies the curvatures XᵀDX of several models by a direction each, reading the rows once.

    ``scores`` receives the scores s of the rows, ``changes`` receives Ds, which is added to ``found`` times x, and
    ``totals`` receives the sums of sDs and of Ds over the rows. Ds is weight·share·s for each output of a model or, if
    the outputs are ``coupled`` by a softmax, weight·share·(s − Σ share·s).
    """
    dots, adds = _dots(lanes), _adds(lanes, 1)

    @compiled(types, dots, adds)
    def csr_curved(
        data: Any,
        indices: Any,
        indptr: Any,
        rows: Any,
        columns: Any,
        intercepts: Any,
        shares: Any,
        weights: Any,
        n_outputs: int,
        coupled: bool,
        scores: Any,
        changes: Any,
        totals: Any,
        found: Any,
    ) -> None:
        for k in range(intercepts.size):
            totals[0, k] = 0.0
            totals[1, k] = 0.0
        for i in range(rows.size):
            row, here = rows[i], np.uint64(i)
            begin, end = indptr[row], indptr[row + np.uint64(1)]
            for k in range(intercepts.size):
                scores[i, k] = intercepts[k]
            dots(data, indices, begin, end, columns, scores, here)
            for m in range(weights.shape[1]):
                mean = 0.0
                if coupled:
                    for k in range(m * n_outputs, (m + 1) * n_outputs):
                        mean += shares[i, k] * scores[i, k]
                for k in range(m * n_outputs, (m + 1) * n_outputs):
                    change = weights[i, m] * shares[i, k] * (scores[i, k] - mean)
                    changes[i, k] = change
                    totals[0, k] += scores[i, k] * change
                    totals[1, k] += change
            adds(data, indices, begin, end, changes, here, found)

    return csr_curved
