"""Fitted models: measurements of their features, and results for all columns."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Model
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.blocks import ColumnNumbers
from sgdone.run import Result
from sgdone.sums.row_sum import merged
from sgdone.sums.units import moments_of

if TYPE_CHECKING:
    import pandas as pd


def give_all_columns(model: Any, numbers: ColumnNumbers) -> Any:
    """A model that was fitted on the columns that have entries, as one of all columns."""
    for name in ("coef_", "feature_std_", "feature_share_"):
        found = getattr(model, name)
        values = np.zeros((*found.shape[:-1], numbers.n_features), dtype=found.dtype)
        values[..., numbers.columns] = found
        setattr(model, name, values)
    model._results = [with_all_columns(result, numbers) for result in model._results]
    model.n_features_in_ = numbers.n_features
    return model


def with_all_columns(result: Result, numbers: ColumnNumbers) -> Result:
    """The result for all columns of the rows; the coefficients of those that never appeared are 0."""
    columns, width = numbers.columns, numbers.n_features
    if not width:  # the rows are dense, or encoded
        return result
    coef = np.zeros((len(result.model.coef), width), dtype=result.model.coef.dtype)
    coef[:, columns] = result.model.coef[:, : columns.size]
    model, state = Model(coef, result.model.intercept), result.state.at_columns(columns, width)
    return replace(result, model=model, state=state)


Array = NDArray[np.float64]

#: A variance below this share of the mean square is rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps
#: Rows that are measured at a time.
_PIECE_ROWS = 2**14


def coefficient_frame(model: Any) -> "pd.DataFrame":
    """The coefficients of a fitted model, the intercept first; `LinearClassifier.coefficients` describes them."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("coefficients() needs pandas: pip install 'sgdone[pandas]'") from error
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    unknown = np.full(coef.shape[1], np.nan)
    spread = getattr(model, "feature_std_", unknown)
    share = getattr(model, "feature_share_", unknown)
    from sgdone.inference.summary import INTERCEPT

    names = [INTERCEPT, *model.get_feature_names_out().tolist()]
    parts = []
    for k, own in enumerate(coef):
        columns: dict[str, Any] = {
            "name": names,
            "value": np.append(intercept[k], own),
            "value_per_std": np.append(np.nan, own * spread),
            "share": np.append(1.0, share),
        }
        if len(coef) > 1:
            columns["class"] = [model.classes_[k]] * len(names)
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def shares_of_rows(X: Any, weight: Array | None) -> Array:
    """Share of the rows that have each feature: of sparse columns those that are not 0, of dense columns all.

    Examples
    --------
    >>> from scipy import sparse
    >>> shares_of_rows(sparse.csr_array([[1.0, 0.0], [2.0, 3.0]]), None)
    array([1. , 0.5])
    """
    if isinstance(X, MixedMatrix):
        return np.append(np.ones(X.n_dense), shares_of_rows(X.sparse, weight))
    if isinstance(X, np.ndarray):
        return np.ones(X.shape[1])
    entries = X.indices if X.data.all() else X.indices[X.data != 0]
    if weight is None:
        return np.asarray(np.bincount(entries, minlength=X.shape[1]) / X.shape[0])
    of_entry = np.repeat(weight, np.diff(X.indptr))[X.data != 0]
    return np.asarray(np.bincount(entries, of_entry, minlength=X.shape[1]) / weight.sum())


def spreads_of_rows(X: Any, used: NDArray[np.intp], weight: Array | None) -> Array:
    """Standard deviations of features over the rows ``used``, in pieces of rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> spreads_of_rows(sparse.csr_array([[1.0, 0.0], [1.0, 2.0], [1.0, 9.0]]), np.array([0, 1]), np.array([3, 1, 0]))
    array([0.       , 0.8660254])
    """
    pieces: list[Any] = [used[first : first + _PIECE_ROWS] for first in range(0, used.size, _PIECE_ROWS)]
    if used.size == X.shape[0]:
        pieces = [slice(rows[0], rows[-1] + 1) for rows in pieces]
    with np.errstate(over="ignore", invalid="ignore"):
        moments = merged(moments_of(X[rows], None if weight is None else weight[rows]) for rows in pieces)
        roots = np.sqrt(moments.squares / moments.rows + moments.means**2)
        n_dense = _dense_columns(X)
        roots[:n_dense] = moments.spreads[:n_dense]
    spreads = centred_spreads(roots, X, weight)
    return np.where(np.isfinite(spreads), spreads, 0.0)


def _dense_columns(X: Any) -> int:
    return X.n_dense if isinstance(X, MixedMatrix) else X.shape[1] if isinstance(X, np.ndarray) else 0


def centred_spreads(roots: Array, X: Any, weight: Array | None) -> Array:
    """Standard deviations of features, given those of dense columns and the root mean squares of sparse ones."""
    n_dense = _dense_columns(X)
    if n_dense == X.shape[1]:
        return roots
    weights = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        means = (X.sparse if isinstance(X, MixedMatrix) else X).T @ weights
        squares = roots[n_dense:] ** 2
        variances = squares - means**2
        spreads = np.where(variances > _ROUNDING * squares, np.sqrt(np.maximum(variances, 0.0)), 0.0)
    return np.append(roots[:n_dense], spreads)
