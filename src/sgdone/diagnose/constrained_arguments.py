"""What a minimum over a ball is asked of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.diagnose.constrained_newton import is_sparse

Array = NDArray[np.float64]


def checked_rows(X: Any, y: ArrayLike, fit_intercept: bool) -> tuple[Any, Array]:
    """Rows y·x, dense or CSR, and labels y of −1 and 1."""
    matrix: Any = sparse.csr_array(X, dtype=np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"X has the shape {matrix.shape}: give a matrix with a row at least and a feature at least")
    if not np.isfinite(matrix.data if is_sparse(matrix) else matrix).all():
        raise ValueError("X holds NaN or infinite entries: impute or drop them first")
    given = np.asarray(y)
    if given.shape != (matrix.shape[0],):
        raise ValueError(f"y has the shape {given.shape} where {(matrix.shape[0],)} is wanted: a label a row")
    classes = np.unique(given)
    if len(classes) == 2:
        labels = np.where(given == classes[1], 1.0, -1.0)
    elif len(classes) == 1 and classes[0] in (-1, 1):
        labels = given.astype(np.float64)
    else:
        raise ValueError(f"y holds {len(classes)} classes ({', '.join(map(str, classes[:3]))}…): give two, or −1 and 1")
    if fit_intercept and len(classes) == 1:
        raise ValueError(f"y holds the class {classes[0]} alone: an intercept grows without bound; leave it out")
    signed = matrix.multiply(labels[:, None]).tocsr() if is_sparse(matrix) else matrix * labels[:, None]
    return signed, labels


def checked_radii(radius: ArrayLike) -> Array:
    """A positive number, or a vector of them."""
    radii = np.asarray(radius, dtype=np.float64)
    if radii.ndim > 1 or radii.size == 0:
        raise ValueError(f"radius has the shape {radii.shape}: give a number or a vector of them")
    wrong = ~((radii > 0.0) & np.isfinite(radii))
    if wrong.any():
        raise ValueError(f"radius={radii[wrong].flat[0]:g} is not a positive finite number")
    return radii
