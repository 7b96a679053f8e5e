"""Squared norms of rows, and their typical size."""

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.scan import make_scan
from sgdone.rows.rows import Rows


def squared_norms(rows: Rows, some: NDArray[np.uint64]) -> NDArray[np.float64]:
    """‖x‖² of some rows, in the units of ``rows``."""
    if rows.mixed is not None:
        dense, entries = (squared_norms(part, some) for part in rows.mixed)
        return dense + entries
    shape = (1, rows.n_features) if rows.access.vectors_first else (rows.n_features, 1)
    norms = np.empty(some.size)
    make_scan(rows.access, rows.types)(rows.arrays, some, np.zeros(shape, rows.dtype), np.zeros((1, 2)), norms)
    return norms


def typical(values: NDArray[np.float64]) -> float:
    """Mean of the values, each at most ten times their median."""
    if not values.size:
        return 0.0
    median = float(np.median(values))
    return float(np.mean(np.minimum(values, 10.0 * median) if median > 0 else values))
