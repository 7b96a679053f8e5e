"""Validation of X, y, sample weights and feature names."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.matrices.mixed_matrix import in_one_storage
from sgdone.rows.cells import find_bad_cell, refuse_masked
from sgdone.rows.rows import aligned

Array = NDArray[np.float64]


class Labels(NamedTuple):
    """The sorted classes, and the index of the class of each row."""

    classes: NDArray[Any]
    numbers: NDArray[np.intp]


def check_rows(X: Any) -> Any:
    """Convert X to a C-contiguous array or a canonical CSR matrix of float64; raise if a value is not finite."""
    from sklearn.utils.validation import check_array  # a quick check of rows in a fit does not wait for it

    refuse_masked("X", X)
    X = in_one_storage(X)
    try:
        X = check_array(
            X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_features=0
        )
    except ValueError as error:
        found = find_bad_cell(X)
        if found is None:
            raise
        raise ValueError(f"{found}; sgdone.TableEncoder().fit_transform(X) encodes a table") from error
    X = aligned(X)
    if is_sparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data
    else:
        values = X
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            raise ValueError(_place_of_fault(X))
    return X


def _place_of_fault(X: Any) -> str:
    if is_sparse(X):
        entry = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row, column = int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
        value = X.data[entry]
    else:
        row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
        value = X[row, column]
    kind = "NaN" if np.isnan(value) else "infinity"
    return f"row {row} of X holds {kind} in column {column}: impute or drop it before the diagnosis"


def check_labels(y: Any, n_rows: int) -> Labels:
    """Encode class labels: numbers, strings or booleans."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    refuse_masked("y", y)
    y = column_or_1d(y)
    if y.size != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {y.size} labels")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"the label of row {int(np.flatnonzero(~np.isfinite(y))[0])} is not finite: drop the row")
    with np.errstate(invalid="ignore"):  # it casts labels to integers, whatever their size
        check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    return Labels(classes, numbers.reshape(-1))


def labels_of(y: Any, positive: Any, n_rows: int) -> Array:
    """Labels 1 for the rows of one class, −1 for the others."""
    from sklearn.utils.validation import column_or_1d

    y = column_or_1d(y)
    if y.size != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {y.size} labels")
    return np.where(y == positive, 1.0, -1.0)


def check_weights(sample_weight: Any, n_rows: int) -> Array:
    """Validate sample weights: finite, non-negative and not all zero. Ones if None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has the shape {weights.shape}, expected {(n_rows,)}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise ValueError(f"sample_weight of row {bad[0]} is {weights[bad[0]]}: weights must be finite and non-negative")
    if not weights.any():
        raise ValueError("all sample weights are 0: give at least one row a positive weight")
    return weights


def feature_names(X: Any, names: Any, n_features: int) -> list[str]:
    """The given names, or the column names of a data frame, or x0, x1, …."""
    if names is None:
        columns = getattr(X, "columns", None)
        names = [f"x{j}" for j in range(n_features)] if columns is None else [str(name) for name in columns]
    given = [str(name) for name in names]
    if len(given) != n_features:
        raise ValueError(f"X has {n_features} features, but feature_names has {len(given)} names")
    return given
