"""The same rows in every form that a run may get them in."""

import numpy as np
from scipy import sparse


def long_indices(X):
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


def unsorted(X):
    """Each row's entries from last to first."""
    given = sparse.csr_array(X)
    backwards = np.concatenate([np.arange(b, a, -1) - 1 for a, b in zip(given.indptr, given.indptr[1:], strict=False)])
    return sparse.csr_array((given.data[backwards], given.indices[backwards], given.indptr), given.shape)


def duplicated(X):
    """Each entry in two parts that sum to it exactly."""
    given = sparse.csr_array(X)
    parts = np.repeat(0.5 * given.data, 2), np.repeat(given.indices, 2), 2 * given.indptr
    return sparse.csr_array(parts, given.shape)


def read_only(X):
    matrix = X.copy()
    matrix.flags.writeable = False
    return matrix


FORMS = {
    "dense": np.ascontiguousarray,
    "read-only": read_only,
    "csr": sparse.csr_array,
    "int64 indices": long_indices,
    "unsorted": unsorted,
    "duplicates": duplicated,
}
