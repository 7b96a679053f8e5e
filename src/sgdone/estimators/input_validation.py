"""Feature matrices as the loops want them, with errors that say where."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.estimators.read_rows import refuse_empty
from sgdone.estimators.sample_weights import check_sample_weight
from sgdone.estimators.table_input import Purpose, is_table, refuse_array, table_rows, with_names_of_fit
from sgdone.machine.memory import memory_errors_explained
from sgdone.matrices.csr import check_csr
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.message_text import RowError
from sgdone.readers.table import reads_as_number, shortened
from sgdone.rows.cells import bad_cells_named, column_text, refuse_masked
from sgdone.rows.labels import check_finite_labels, check_labels
from sgdone.rows.rows import aligned
from sgdone.tables import arrow_table

_FLOATS = [np.float64, np.float32]


def check_rows_to_predict(estimator: Any, X: Any) -> Any:
    """A matrix of floats that a product may be taken of; `linear_scores` finds NaN and infinity."""
    rows = _validated(estimator, X, dtype=None, purpose="predict")
    check_entries(rows)
    return rows


def check_entries(X: Any) -> None:
    """Raise for indices of a CSR matrix, or of the sparse columns of a `MixedMatrix`, that are outside it."""
    entries = X.sparse if isinstance(X, MixedMatrix) else X
    if hasattr(entries, "indptr"):
        check_csr(entries.indices, entries.indptr, entries.shape[1])


def check_rows_and_labels(
    estimator: Any, X: Any, y: Any, *, dtype: Any = None, purpose: Purpose, numeric: bool, sample_weight: Any = None
) -> tuple[Any, NDArray[Any]]:
    """A C-contiguous array, CSR matrix or `MixedMatrix` of floats, and labels: one-dimensional, numbers if ``numeric``.

    NaN, infinity and indices outside the matrix are left for the loop to find. Weights are those of means in tables.
    """
    if not numeric:
        check_labels(y)
    elif hasattr(y, "__array__"):
        if np.asarray(y).dtype.kind in "Mm":
            raise ValueError("y holds dates or times: a regression needs numbers, for example the days since a date")
        check_finite_labels(np.asarray(y))
    try:
        rows, labels = _validated(
            estimator, X, y, dtype=dtype, purpose=purpose, sample_weight=sample_weight, numeric=numeric
        )
        return rows, np.asarray(labels, dtype=np.float64) if numeric else labels
    except ValueError as error:
        found = _find_text_in_labels(y) if numeric else None
        if found is None:
            raise
        row, text = found
        raise RowError("the label of ", row, f" is the text {text}: a regression needs numbers ({error})") from error


def _validated(
    estimator: Any, X: Any, *y: Any, dtype: Any, purpose: Purpose, sample_weight: Any = None, **options: Any
) -> Any:
    for name, values in zip("Xy", (X, *y), strict=False):
        refuse_masked(name, values)
    reset = purpose == "fit" or (purpose == "partial_fit" and not hasattr(estimator, "_results"))
    if reset:
        estimator.__dict__.pop("encoder_", None)
    X = with_names_of_fit(estimator, X, reset=reset)
    if is_table(X):
        return _validated_table(estimator, X, *y, dtype=dtype, purpose=purpose, sample_weight=sample_weight, **options)
    refuse_array(estimator, X)
    validated = _validated_mixed if isinstance(X, MixedMatrix) else _validated_numbers
    found = validated(estimator, X, *y, dtype=dtype, reset=reset, **options)
    return tuple(map(aligned, found)) if y else aligned(found)


def _validated_numbers(estimator: Any, X: Any, *y: Any, dtype: Any, reset: bool, **options: Any) -> Any:
    """The same for arrays, sparse matrices, and frames of numbers."""
    _check_column_names(X)
    if len(getattr(X, "shape", ())) == 2 and X.shape[1]:
        refuse_empty(X.shape)
    copying = memory_errors_explained("a copy of X", "pass C-contiguous rows, or CSR, of float32 or float64: no copy")
    with bad_cells_named(X), copying:
        types = _float_types(X) if dtype is None else [dtype]
        return estimator._check_numbers(X, *y, types=types, reset=reset, **options)


def _float_types(X: Any) -> list[Any]:
    """The types that need no copy; scikit-learn does not see that all columns of an Arrow table are float32."""
    single = isinstance(X, pa.Table) and all(pa.types.is_float32(kind) for kind in X.schema.types)
    return [np.float32] if single else _FLOATS


def _validated_table(
    estimator: Any, X: Any, *y: Any, dtype: Any, purpose: Purpose, sample_weight: Any, **options: Any
) -> Any:
    """The same for a data frame: labels and weights are checked before an encoder learns from it."""
    _check_column_names(X)
    X = X if hasattr(X, "shape") else arrow_table(X)  # a stream of batches is read once
    refuse_empty(X.shape)
    labels = [estimator._check_labels(own, X.shape[0], **options) for own in y]
    weight = check_sample_weight(sample_weight, X.shape[0])
    reset = purpose == "fit" or (purpose == "partial_fit" and not hasattr(estimator, "_results"))
    as_array = partial(_validated_numbers, estimator, dtype=dtype, reset=reset)
    rows = table_rows(estimator, X, purpose, weight, as_array)
    rows = rows if dtype is None else rows.astype(dtype, copy=False)
    return (rows, *labels) if labels else rows


def _validated_mixed(estimator: Any, X: MixedMatrix, *y: Any, dtype: Any, reset: bool, **options: Any) -> Any:
    """The same for a `MixedMatrix`, whose parts were checked when it was made."""
    refuse_empty(X.shape)
    estimator._check_features(X, reset=reset)
    rows = X if dtype is None else X.astype(dtype)
    if not y:
        return rows
    return rows, estimator._check_labels(y[0], X.shape[0], **options)


def _check_column_names(X: Any) -> None:
    """Raise for a data frame with a name twice."""
    # The columns of an Arrow table are no names.
    names = [name for name in getattr(X, "columns", ()) if name is None or isinstance(name, (str, int, float, tuple))]
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"X has {count} columns named {name!r}: give each column a name of its own")


def _find_text_in_labels(y: Any) -> tuple[int, str] | None:
    """Row and text of the first label that cannot be read as a number."""
    for row, label in enumerate(np.asarray(y, dtype=object).flat):
        if isinstance(label, (str, bytes)) and not reads_as_number(str(label)):
            return row, repr(shortened(str(label)))
    return None


def linear_scores(
    X: Any, coef: NDArray[Any], intercept: NDArray[Any], names: Sequence[str] | None = None
) -> NDArray[Any]:
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
                column = column_text(int(wrong[0]), names)
                raise RowError("", row, f" of X holds {kind} in column {column}: impute or drop it before predict")
    return scores


def _row(X: Any, row: int) -> NDArray[Any]:
    values: NDArray[Any] = X[[row]].toarray().ravel() if hasattr(X, "toarray") else X[row]
    return values
