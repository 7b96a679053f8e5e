"""Feature matrices as the loops want them, with errors that say where."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from sgdone.data.csr_validation import check_csr
from sgdone.data.masked_arrays import refuse_masked
from sgdone.data.memory import memory_errors_explained

_FLOATS = [np.float64, np.float32]


def check_rows_to_predict(estimator: Any, X: Any) -> Any:
    """An array or CSR matrix of floats that a product may be taken of; `linear_scores` finds NaN and infinity."""
    rows = _validated(estimator, X, dtype=None, reset=False)
    if hasattr(rows, "indptr"):
        check_csr(rows.indices, rows.indptr, rows.shape[1])
    return rows


def check_rows_and_labels(
    estimator: Any, X: Any, y: Any, *, dtype: Any = None, reset: bool, numeric: bool
) -> tuple[Any, NDArray[Any]]:
    """A C-contiguous array or CSR matrix of floats, and labels: one-dimensional, and numbers if ``numeric``.

    NaN, infinity and indices outside the matrix are left for the loop to find.
    """
    try:
        rows, labels = _validated(estimator, X, y, dtype=dtype, reset=reset, y_numeric=numeric)
        return rows, np.asarray(labels, dtype=np.float64) if numeric else labels
    except ValueError as error:
        place = _find_text_in_labels(y) if numeric else None
        if place is None:
            raise
        raise ValueError(f"{place}: a regression needs numbers ({error})") from error


def _validated(estimator: Any, X: Any, *y: Any, dtype: Any, reset: bool, **options: Any) -> Any:
    for name, values in zip("Xy", (X, *y), strict=False):
        refuse_masked(name, values)
    try:
        with memory_errors_explained("a copy of X", "pass C-contiguous rows, or CSR, of float32 or float64: no copy"):
            return validate_data(
                estimator,
                X,
                *y,
                reset=reset,
                accept_sparse="csr",
                dtype=_FLOATS if dtype is None else [dtype],
                order="C",
                ensure_all_finite=False,
                **options,
            )
    except (TypeError, ValueError) as error:
        place = _find_text(X)
        if place is None:
            raise
        raise ValueError(f"{place}: encode it as numbers or drop the column ({error})") from error


def _find_text(X: Any) -> str | None:
    """The first cell that cannot be read as a number."""
    if sparse.issparse(X) or not hasattr(X, "__len__"):
        return None
    names = list(getattr(X, "columns", []))
    cells = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    if cells.ndim != 2 or cells.dtype.kind not in "OSU":
        return None
    cells = cells.astype(object)
    for row, column in np.ndindex(*cells.shape):
        if _is_text(cells[row, column]):
            shown = repr(names[column]) if names else column
            return f"row {row}, column {shown} of X holds the text {cells[row, column]!r}"
    return None


def _find_text_in_labels(y: Any) -> str | None:
    """The first label that cannot be read as a number."""
    for row, label in enumerate(np.asarray(y, dtype=object).flat):
        if _is_text(label):
            return f"the label of row {row} is the text {label!r}"
    return None


def _is_text(value: Any) -> bool:
    if not isinstance(value, (str, bytes)):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def linear_scores(X: Any, coef: NDArray[Any], intercept: NDArray[Any]) -> NDArray[Any]:
    """X·coefᵀ + intercept; a row whose score is not finite is named if the row itself is to blame."""
    with np.errstate(invalid="ignore", over="ignore"):
        scores = np.asarray(X @ coef.T + intercept)
    if not np.all(np.isfinite(scores)):
        bad = np.flatnonzero(~np.isfinite(scores).reshape(scores.shape[0], -1).all(axis=1))
        for row in bad.tolist():
            values = _row(X, row)
            wrong = np.flatnonzero(~np.isfinite(values))
            if wrong.size:
                kind = "NaN" if np.isnan(values[wrong[0]]) else "infinity"
                raise ValueError(f"row {row} of X holds {kind} in column {wrong[0]}: impute or drop it before predict")
    return scores


def _row(X: Any, row: int) -> NDArray[Any]:
    values: NDArray[Any] = X[[row]].toarray().ravel() if hasattr(X, "toarray") else X[row]
    return values
