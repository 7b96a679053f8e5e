"""The same rows in every form that a run may get them in."""

import copy

import numpy as np
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix


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


def at_offset(X, offset):
    """A copy whose arrays begin this number of bytes after a multiple of 64."""
    if isinstance(X, MixedMatrix):
        return MixedMatrix(at_offset(X.dense, offset), at_offset(X.sparse, offset))
    if sparse.issparse(X):
        made = copy.copy(X)
        made.data, made.indices, made.indptr = (at_offset(own, offset) for own in (X.data, X.indices, X.indptr))
        return made
    memory = np.empty(X.nbytes + 64 + offset, dtype=np.uint8)
    first = -memory.ctypes.data % 64 + offset
    made = memory[first : first + X.nbytes].view(X.dtype).reshape(X.shape)
    made[...] = X
    return made


FORMS = {
    "dense": np.ascontiguousarray,
    "read-only": read_only,
    "csr": sparse.csr_array,
    "int64 indices": long_indices,
    "unsorted": unsorted,
    "duplicates": duplicated,
}
