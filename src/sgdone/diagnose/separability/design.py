"""Validated data, and the scaled matrix A whose rows determine whether a finite optimum exists."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.matrices.mixed_matrix import in_one_storage
from sgdone.rows.faults import find_bad_cell, refuse_masked
from sgdone.rows.rows import aligned

Array = NDArray[np.float64]


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
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if is_sparse(X) else X
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


def check_labels(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The sorted classes, numbers, strings or booleans, and the index of the class of each row."""
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
    return classes, numbers.reshape(-1)


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


#: Number of values of a dense block processed at a time.
_BLOCK = 2_000_000


@final
class SignedDesign:
    """A of Ji and Telgarsky (2018), section 3: row i is −y_i·x_i, with 1 appended to x_i if there is an intercept.

    Computations use B = R·A·C, with diagonal R and C of powers of two, so that no entry is rounded and signs do not
    change. A direction u of B is the direction C·u of A; weights q of B are weights R·q of A. Non-zero rows and columns
    of B have a largest entry between ¼ and 1, whatever the units of the features. X, the rows of positive weight as an
    array or CSR matrix of float64, is not copied.

    If ``rows`` are given, the column scales are computed from these rows only, and rows are not scaled.
    """

    def __init__(self, X: Any, labels: Array, fit_intercept: bool, rows: NDArray[np.intp] | None = None) -> None:
        self.X = X
        self.labels = labels
        self.fit_intercept = fit_intercept
        self.sparse = sparse.issparse(X)
        self.n_rows, self.n_features = X.shape
        self.width = self.n_features + int(fit_intercept)
        self.row_scale, self.column_scale = np.ones(self.n_rows), np.ones(self.width)
        if rows is not None:
            self.column_scale = SignedDesign(X[rows], labels[rows], fit_intercept).column_scale
            return
        # Scale columns first, so that the units of the features do not affect the row scales; then columns again.
        self.column_scale = _inverse_power_of_two(self._largest_of_columns())
        self.row_scale = _inverse_power_of_two(self._largest_of_rows())
        with np.errstate(over="ignore"):
            twice = self.column_scale * _inverse_power_of_two(self._largest_of_columns())
        self.column_scale = np.minimum(twice, np.ldexp(1.0, 1022))

    @cached_property
    def _factor(self) -> Array:
        return -self.labels * self.row_scale

    def times(self, u: Array, rows: Any = slice(None)) -> Array:
        """B·u, for all or some rows; u may contain several directions as columns."""
        scaled = (self.column_scale * u.T).T
        product = np.asarray(self.X[rows] @ scaled[: self.n_features], dtype=np.float64)
        if self.fit_intercept:
            product += scaled[-1]
        product *= self._factor[rows] if u.ndim == 1 else self._factor[rows, None]
        return product

    def transposed_times(self, q: Array) -> Array:
        """Bᵀ·q."""
        weights = self._factor * q
        total = np.empty(self.width)
        total[: self.n_features] = self.X.T @ weights
        if self.fit_intercept:
            total[-1] = weights.sum()
        return total * self.column_scale

    def take(self, rows: Any) -> Array:
        """The given rows of B, dense."""
        part = self.X[rows]
        out = np.empty((part.shape[0], self.width))
        out[:, : self.n_features] = part.toarray() if self.sparse else part
        if self.fit_intercept:
            out[:, -1] = 1.0
        out *= self.column_scale
        out *= self._factor[rows, None]
        return out

    def matrix(self) -> Any:
        """B as a matrix; CSR if X is sparse."""
        if not self.sparse:
            return self.take(slice(None))
        X = self.X
        data = X.data * self.column_scale[X.indices] * np.repeat(self._factor, np.diff(X.indptr))
        B = sparse.csr_array((data, X.indices, X.indptr), X.shape)
        if not self.fit_intercept:
            return B
        column = sparse.csr_array((self._factor * self.column_scale[-1])[:, None])
        return sparse.csr_array(sparse.hstack([B, column], format="csr"))

    def blocks(self) -> Iterator[slice]:
        """Yield slices of consecutive rows."""
        step = max(1, _BLOCK // max(1, self.width))
        for first in range(0, self.n_rows, step):
            yield slice(first, min(first + step, self.n_rows))

    def _largest_of_columns(self) -> Array:
        """Largest absolute value in each column of R·A·C."""
        largest = np.zeros(self.width)
        if self.sparse:
            values = np.abs(self.X.data) * np.repeat(self.row_scale, np.diff(self.X.indptr))
            np.maximum.at(largest, self.X.indices, values)
        else:
            for rows in self.blocks():
                part = np.abs(self.X[rows])
                part *= self.row_scale[rows, None]
                largest[: self.n_features] = np.maximum(largest[: self.n_features], part.max(axis=0, initial=0.0))
        if self.fit_intercept:
            largest[-1] = self.row_scale.max(initial=0.0)
        return largest * self.column_scale

    def _largest_of_rows(self) -> Array:
        """Largest absolute value in each row of R·A·C."""
        largest = np.zeros(self.n_rows)
        if self.sparse:
            lengths = np.diff(self.X.indptr)
            values = np.abs(self.X.data) * self.column_scale[self.X.indices]
            filled = np.flatnonzero(lengths)
            if filled.size:
                largest[filled] = np.maximum.reduceat(values, self.X.indptr[filled])
        else:
            scale = self.column_scale[: self.n_features]
            for rows in self.blocks():
                largest[rows] = (np.abs(self.X[rows]) * scale).max(axis=1, initial=0.0)
        if self.fit_intercept:
            largest = np.maximum(largest, self.column_scale[-1])
        return largest * self.row_scale


def _inverse_power_of_two(sizes: Array) -> Array:
    """2^−e where 2^(e−1) ≤ size < 2^e; 1 for 0."""
    return np.where(sizes > 0.0, np.ldexp(1.0, np.clip(-np.frexp(sizes)[1], -1022, 1022)), 1.0)
