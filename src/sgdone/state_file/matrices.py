"""Matrices and their rows as plain values: arrays, CSR matrices, and those that are part dense, part sparse."""

from typing import Any

import numpy as np
from scipy import sparse

from sgdone.matrices.csr import check_csr
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Rows


def pack_csr(matrix: Any) -> dict[str, Any]:
    """Values, columns and boundaries, of the types they have, and the shape."""
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": [int(size) for size in matrix.shape],
    }


def unpack_csr(parts: Any) -> Any:
    """The matrix; raise a ValueError for parts that do not fit together: no loop checks them again."""
    data, indices, indptr, (n_rows, n_columns) = (parts[name] for name in ("data", "indices", "indptr", "shape"))
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
        raise ValueError("a sparse matrix is made of other parts than arrays")
    if not all(part.dtype.kind in "iu" and part.dtype.itemsize in (4, 8) for part in (indices, indptr)):
        raise ValueError("the columns and boundaries of a sparse matrix are not whole numbers")
    if not all(type(size) is int and size >= 0 for size in (n_rows, n_columns)) or indptr.size != n_rows + 1:
        raise ValueError(f"a sparse matrix of {n_rows!r} rows has {indptr.size - 1} boundaries")
    if data.size != indices.size or indptr[-1] != data.size:
        raise ValueError(f"a sparse matrix has {data.size} values and {indices.size} columns")
    check_csr(indices, indptr, n_columns)
    made = sparse.csr_array((n_rows, n_columns), dtype=data.dtype)
    # Assigned one by one: the constructor would change the types of columns and boundaries.
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def pack_mixed(matrix: MixedMatrix) -> dict[str, Any]:
    """Both parts."""
    return {"dense": matrix.dense, "sparse": matrix.sparse}


def unpack_mixed(parts: Any) -> MixedMatrix:
    """The matrix, whose parts are checked."""
    return MixedMatrix(parts["dense"], parts["sparse"])


def pack_rows(rows: Rows) -> dict[str, Any]:
    """The matrix in the user's units, and what else `Rows.of` takes."""
    names = None if rows.names is None else [str(name) for name in rows.names]
    return {"matrix": _matrix(rows), "scaling": rows.scaling, "names": names, "roles": rows.roles}


def unpack_rows(parts: Any) -> Rows:
    """The rows; raise a ValueError for a matrix that no loop can read."""
    matrix, scaling, names, roles = (parts[name] for name in ("matrix", "scaling", "names", "roles"))
    kinds = (np.ndarray, MixedMatrix, sparse.csr_array)
    if not isinstance(matrix, kinds) or matrix.ndim != 2 or matrix.dtype not in (np.float32, np.float64):
        raise ValueError("rows are not those of a matrix of float32 or float64")
    if isinstance(matrix, np.ndarray) and not matrix.flags.c_contiguous:
        raise ValueError("rows of a dense matrix do not follow each other")
    n_features = matrix.shape[1]
    if roles is not None and (roles.dtype != np.int32 or roles.shape != (n_features,)):
        raise ValueError(f"rows of {n_features} columns have roles of others")
    if names is not None and len(names) != n_features:
        raise ValueError(f"rows of {n_features} columns have {len(names)} names")
    for factors in () if scaling is None else (scaling.scale, scaling.shift):
        if factors is not None and factors.shape != (n_features,):
            raise ValueError(f"rows of {n_features} columns have units of others")
    return Rows.of(matrix, scaling, names, roles)


def _matrix(rows: Rows) -> Any:
    """The matrix without copying its values; of sparse columns, with the types that the loops read."""
    if rows.mixed is not None:
        return MixedMatrix(*(_matrix(part) for part in rows.mixed))
    if rows.is_dense:
        return rows.arrays[0]
    matrix = sparse.csr_array((rows.n_rows, rows.n_features), dtype=rows.dtype)
    matrix.data, matrix.indices, matrix.indptr = rows.arrays[:3]
    return matrix
