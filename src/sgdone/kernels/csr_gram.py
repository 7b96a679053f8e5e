"""Products of pairs of entries of sparse rows: weighted sums of (x, 1)(x, 1)ᵀ, and quadratic forms."""

from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled_by_types


@compiled_by_types
def add_products(data: Any, indices: Any, indptr: Any, values: Any, found: Any) -> None:
    """A loop that adds values[i, k]·(x, 1)(x, 1)ᵀ of each row i to ``found``, features + 1 squared × k."""
    last, count = found.shape[0] - 1, values.shape[1]
    for i in range(indptr.size - 1):
        for first in range(indptr[i], indptr[i + 1]):
            entry, a = np.float64(data[first]), indices[first]
            for second in range(indptr[i], first + 1):
                b, product = indices[second], entry * np.float64(data[second])
                high, low = max(a, b), min(a, b)
                for k in range(count):
                    found[high, low, k] += product * values[i, k]
            for k in range(count):
                found[last, a, k] += entry * values[i, k]
        for k in range(count):
            found[last, last, k] += values[i, k]
    for a in range(last + 1):
        for b in range(a):
            for k in range(count):
                found[b, a, k] = found[a, b, k]


@compiled_by_types
def quadratic_forms(data: Any, indices: Any, indptr: Any, matrices: Any, found: Any) -> None:
    """A loop that writes (x, 1)ᵀM(x, 1) of each row and each symmetric M = matrices[:, :, k] to ``found``."""
    last, count = matrices.shape[0] - 1, matrices.shape[2]
    for i in range(indptr.size - 1):
        for k in range(count):
            found[i, k] = matrices[last, last, k]
        for first in range(indptr[i], indptr[i + 1]):
            entry, a = np.float64(data[first]), indices[first]
            for second in range(indptr[i], first):
                product, b = 2.0 * entry * np.float64(data[second]), indices[second]
                for k in range(count):
                    found[i, k] += product * matrices[a, b, k]
            for k in range(count):
                found[i, k] += entry * entry * matrices[a, a, k] + 2.0 * entry * matrices[a, last, k]
