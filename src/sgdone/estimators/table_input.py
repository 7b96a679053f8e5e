"""Data frames in front of the estimators: encoded as features, or taken as arrays if all columns are numbers."""

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.message_text import RowError, listed
from sgdone.rows.blocks import rows_of
from sgdone.tables import TableEncoderCore, arrow_table, is_frame
from sgdone.tables.frames import names_of_columns

#: What rows are read for: a fit, the next rows of a stream, or a prediction or summary.
Purpose = Literal["fit", "partial_fit", "predict"]


@final
class FeatureNames(Sequence[str]):
    """Names of the features of an encoder, made when one is asked for: there can be very many."""

    def __init__(self, encoder: TableEncoderCore) -> None:
        self._encoder = encoder
        self._names: list[str] = []

    def __len__(self) -> int:
        return self._encoder.n_features_out_

    def __getitem__(self, number: Any) -> Any:
        return self.tolist()[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def tolist(self) -> list[str]:
        """All names."""
        if len(self._names) != len(self):
            self._names = self._encoder.get_feature_names_out().tolist()
        return self._names


def is_table(X: Any) -> bool:
    """Whether X is a data frame whose columns can be encoded; frames of sparse columns are matrices."""
    return is_frame(X) and not (hasattr(X, "dtypes") and _is_sparse(X.dtypes))


def with_names_of_fit(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A frame of pandas whose names are not all strings, with strings as names and in the order of the fit.

    scikit-learn ignores such names. Of rows without names the columns are 0, 1, 2, …
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame) or all(isinstance(name, str) for name in X.columns):
        return X
    names = names_of_columns(X)
    known = None if reset else getattr(estimator, "feature_names_in_", None)
    if reset or known is not None:
        X = X.set_axis(names, axis=1)
        return X if known is None or set(known) != set(names) else X[known.tolist()]
    positions = list(map(str, range(len(names))))
    if set(names) == set(positions):
        return X.iloc[:, np.argsort(np.array(names, dtype=np.intp))]
    return X.set_axis(names, axis=1)


def table_rows(
    estimator: Any,
    X: Any,
    purpose: Purpose,
    weight: NDArray[np.float64] | None,
    as_array: Callable[[Any], Any],
) -> Any:
    """Rows of a data frame: an array, CSR matrix or `MixedMatrix`.

    A frame of numbers and booleans without gaps is read as its array, by ``as_array``; its encoder only knows the means
    of the columns, for gaps that come later. Any other frame is encoded.

    Parameters
    ----------
    estimator : LinearModel
        Its ``encoder_`` is made, extended or used, as the purpose needs.
    X : data frame
    purpose : {"fit", "partial_fit", "predict"}
    weight : ndarray or None
        Sample weights, for means.
    as_array : callable
        Reads a frame as numbers, and sets or checks the names of its columns.
    """
    if not estimator._encodes_tables:
        table = converted(X) if purpose != "predict" else None
        if table is not None and booleans_of_plain(table) is None:
            raise _needs_encoder(estimator, table)
        return as_array(X)
    learns = purpose != "predict"
    first = purpose == "fit" or (learns and not hasattr(estimator, "_results"))
    encoder: TableEncoderCore | None = None if first else getattr(estimator, "encoder_", None)
    kinds = estimator._kinds_of_columns()
    if not first and encoder is None:
        return as_array(X)  # the model knows no names: an error there says which cell is not a number
    table = converted(X)
    booleans = None if kinds or (encoder is not None and not encoder.is_plain) else booleans_of_plain(table)
    if booleans is not None:
        rows = as_array(table)
        if first:
            _keep_means(estimator, booleans, rows, weight)
        elif learns and encoder is not None:
            encoder.add_numbers(rows, weight)
        return rows
    if encoder is None:
        encoder = estimator._encoder_class(kinds or None)
    if not learns:
        return rows_of(encoder.encode(table))
    if not first:
        encoder = copy.deepcopy(encoder)  # a call that fails, or is interrupted, leaves the one that fits the model
    encoded = encoder.fit_encode(table, weight) if purpose == "fit" else encoder.partial_fit_encode(table, weight)
    if first:
        estimator.n_features_in_, estimator.feature_names_in_ = encoder.n_features_in_, encoder.feature_names_in_
    estimator.encoder_ = encoder
    return rows_of(encoded)


def refuse_array(estimator: Any, X: Any) -> None:
    """Raise for a lazy frame or a series, for an array if kinds of columns are stated or the features are encoded."""
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet: call X.collect() first")
    if hasattr(X, "to_frame"):
        raise ValueError(f"X is a {type(X).__name__}, a single column or row: for a column give X.to_frame()")
    kinds = estimator._kinds_of_columns()
    if kinds:
        raise ValueError(
            f"columns={kinds!r} needs a data frame: X is a {type(X).__name__} without names. Remove columns, or "
            "give a frame"
        )
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None and not encoder.is_plain:
        raise ValueError(
            f"X is a {type(X).__name__} without names of columns, but the model was fitted on a table with the columns "
            f"{listed(encoder.feature_names_in_.tolist())}: give a data frame that has them"
        )


def converted(X: Any) -> Any:
    """The frame as an Arrow table, unless it is a frame of pandas that has numbers only: its array is at hand."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        kinds = {kind.kind if isinstance(kind, np.dtype) else "other" for kind in X.dtypes}
        if kinds <= set("fiub"):
            return X
    return arrow_table(X)


def booleans_of_plain(X: Any) -> list[bool] | None:
    """Which columns are booleans, if all are booleans or numbers without gaps; otherwise None.

    ``X`` is a frame that has been `converted`.

    Examples
    --------
    >>> booleans_of_plain(pa.table({"x": [1.5, 2.0], "b": [True, False]}))
    [False, True]
    >>> booleans_of_plain(pa.table({"x": [1.5, None]})) is None
    True
    """
    if not isinstance(X, pa.Table):
        return None if X.isna().to_numpy().any() else [kind.kind == "b" for kind in X.dtypes]
    if not all(_is_plain(column) for column in X.columns):
        return None
    return [pa.types.is_boolean(kind) for kind in X.schema.types]


def _is_plain(column: Any) -> bool:
    """Whether a column of an Arrow table holds numbers or booleans, without gaps."""
    types = pa.types
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        return False
    if column.null_count:
        return False
    return not (types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py())


def _keep_means(estimator: Any, booleans: list[bool], rows: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
    """Give the estimator the encoder of a frame that is an array, if its columns have names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        estimator.encoder_ = estimator._encoder_class.of_numbers(names.tolist(), booleans, rows, weight)


def _is_sparse(types: Any) -> bool:
    return len(types) > 0 and all(str(kind).startswith("Sparse") for kind in types)


def _needs_encoder(estimator: Any, X: Any) -> ValueError:
    """What is wrong with a frame in front of an estimator that takes numbers only."""
    name, table = estimator.public_name, arrow_table(X)
    column, values = next((n, c) for n, c in zip(table.column_names, table.columns, strict=True) if not _is_plain(c))
    advice = (
        f", and {name} takes numbers only: encode the table, as in make_pipeline(sgdone.TableEncoder(), {name}(...)), "
        f"or use {name.replace('SGD', 'Linear')}, which encodes it"
    )
    types = pa.types
    if types.is_integer(values.type) or types.is_floating(values.type) or types.is_boolean(values.type):
        row = int(pc.index(pc.is_null(values, nan_is_null=True), True).as_py())
        return RowError(f"column {column!r} of X has no value in ", row, advice)
    return ValueError(f"column {column!r} of X has the type {values.type}{advice}")
