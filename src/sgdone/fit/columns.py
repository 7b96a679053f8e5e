"""Columns of X: their number and names, how tables are encoded, and the checks of rows before a fit or a prediction."""

import copy
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.fit.labels import check_sample_weight
from sgdone.fit.options import FitOptions
from sgdone.machine.memory import memory_errors_explained
from sgdone.matrices.csr import check_csr
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.message_text import RowError, listed
from sgdone.readers.row_input import RowInput
from sgdone.readers.table import reads_as_number, shortened
from sgdone.rows.blocks import rows_of
from sgdone.rows.faults import bad_cells_named, check_finite_labels, check_labels, column_text, refuse_masked
from sgdone.rows.rows import aligned, roles_of_features
from sgdone.tables import TableEncoding, arrow_table, is_frame
from sgdone.tables.frames import names_of_columns
from sgdone.tables.string_cells import numpy_of

#: Use of rows: a fit, further training on the next rows of a stream, or a prediction or summary.
Purpose = Literal["fit", "partial_fit", "predict"]


@final
class FeatureNames(Sequence[str]):
    """Names of the features of an encoder, made when one is asked for: there can be very many."""

    def __init__(self, encoder: TableEncoding) -> None:
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


@dataclass
class InputColumns:
    """Columns of X: their number and names, and how tables of them are encoded."""

    #: Name of the estimator, for messages.
    estimator: str
    #: Whether tables with categories, missing values, dates and text are encoded.
    encodes_tables: bool
    #: Kinds of columns that the user states.
    kinds: Mapping[str, str] = field(default_factory=dict)
    #: Number of columns; 0 before rows have been read.
    count: int = 0
    #: Their names, if they have any.
    names: NDArray[Any] | None = None
    #: Encoding of tables; None for arrays.
    encoder: TableEncoding | None = None

    @classmethod
    def of(cls, options: FitOptions) -> Self:
        """Columns before any row has been read."""
        return cls(options.estimator, options.encodes_tables, options.kinds_of_columns)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Names of the features of ``coef_``, if they have any: columns, or encoded features."""
        if self.encoder is not None and not self.encoder.is_plain:
            return FeatureNames(self.encoder)
        return None if self.names is None else self.names  # type: ignore[return-value]  # an array is a sequence

    @property
    def encoded_names(self) -> Sequence[str] | None:
        """Names of the features as the encoder has them, whether or not the table was all numbers."""
        return None if self.encoder is None else FeatureNames(self.encoder)

    def roles(self, n_features: int) -> NDArray[np.int32] | None:
        """Roles of features, as in `sgdone.rows.rows.ENTRIES`, if they are those of the encoder."""
        if self.encoder is None or self.encoder.n_features_out_ != n_features:
            return None
        return roles_of_features(self.encoder.n_dense_, self.encoder.texts())

    def take_from(self, encoder: TableEncoding) -> None:
        """Take over an encoder, with the columns that it knows."""
        self.encoder, self.count, self.names = encoder, encoder.n_features_in_, encoder.feature_names_in_


class InputChecks(ABC):
    """Checks of rows and labels of one kind of caller."""

    @abstractmethod
    def numbers(
        self, columns: InputColumns, X: Any, *y: Any, types: Sequence[Any], reset: bool, numeric: bool = False
    ) -> Any:
        """Rows as a C-contiguous array or a CSR matrix of the first of ``types``, or the one they have; and labels."""

    @abstractmethod
    def features(self, columns: InputColumns, X: Any, *, reset: bool) -> None:
        """Keep the number of columns, and their names, or compare them with those of the fit."""

    @abstractmethod
    def labels(self, y: Any, n_rows: int, *, numeric: bool = False) -> NDArray[Any]:
        """One label for each row."""


@final
class FileChecks(InputChecks):
    """Checks of rows that were read from files or named data sets: arrays, sparse matrices, Arrow tables of numbers."""

    def numbers(
        self, columns: InputColumns, X: Any, *y: Any, types: Sequence[Any], reset: bool, numeric: bool = False
    ) -> Any:
        """Rows as a C-contiguous array or a CSR matrix of the first of ``types``, or the one they have; and labels."""
        refuse_empty(X.shape)
        self.features(columns, X, reset=reset)
        is_known = not isinstance(X, pa.Table) and X.dtype in types
        if hasattr(X, "tocsr"):
            rows = X.tocsr() if is_known else X.tocsr().astype(types[0])
        elif isinstance(X, pa.Table):
            rows = np.column_stack([numpy_of(column).astype(types[0], copy=False) for column in X.columns])
        else:
            rows = np.asarray(X, dtype=None if is_known else types[0], order="C")
        return (rows, *(self.labels(own, X.shape[0], numeric=numeric) for own in y)) if y else rows

    def features(self, columns: InputColumns, X: Any, *, reset: bool) -> None:
        """Keep the number of columns, and their names, or compare them with those of the fit."""
        names = np.array(X.column_names, dtype=object) if isinstance(X, pa.Table) else None
        if reset:
            columns.count = X.shape[1]
            columns.names = columns.names if names is None else names
            return
        if X.shape[1] != columns.count:
            raise ValueError(
                f"X has {X.shape[1]} features, but {columns.estimator} is expecting {columns.count} features as input"
            )
        if names is not None and columns.names is not None and not np.array_equal(names, columns.names):
            raise ValueError("the columns of X have other names, or another order, than those of the fit")

    def labels(self, y: Any, n_rows: int, *, numeric: bool = False) -> NDArray[Any]:
        """One label for each row."""
        labels = np.asarray(y)
        check_lengths(n_rows, labels.size)
        return labels.astype(np.float64) if numeric and labels.dtype == object else labels


#: They have no state.
FILE_CHECKS = FileChecks()


def refuse_empty(shape: tuple[int, int]) -> None:
    """Raise for rows or columns that are not there."""
    if not shape[0]:
        raise ValueError(f"X has no rows (shape={shape}): give one or more")
    if not shape[1]:  # in the words that scikit-learn checks
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Raise unless there is a label for each row, in scikit-learn's words."""
    if n_rows != n_labels:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n_rows, n_labels]}")


def read_rows(
    columns: InputColumns,
    checks: InputChecks,
    X: Any,
    *y: Any,
    purpose: Purpose,
    dtype: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> Any:
    """A C-contiguous array, CSR matrix or `MixedMatrix` of floats, and labels if there are any.

    ``columns`` are set in a fit, and the encoder of a table learns in a fit and in ``partial_fit``; ``sample_weight``
    has weights for its means. NaN, infinity and indices outside the matrix are left for the loop to find.
    """
    for name, values in zip("Xy", (X, *y), strict=False):
        refuse_masked(name, values)
    reset = purpose == "fit" or (purpose == "partial_fit" and not columns.count)
    X = _with_names_of_fit(columns, X, reset=reset)
    reading = _Reading(columns, checks, purpose, reset, dtype)
    if is_table(X):
        return reading.table(X, *y, sample_weight=sample_weight, **options)
    _refuse_array(columns, X)
    read = reading.mixed if isinstance(X, MixedMatrix) else reading.numbers
    found = read(X, *y, **options)
    return tuple(map(aligned, found)) if y else aligned(found)


def rows_to_predict(columns: InputColumns, checks: InputChecks, X: Any) -> Any:
    """A matrix of floats that a product may be taken of; `linear_scores` finds NaN and infinity."""
    rows = read_rows(columns, checks, X, purpose="predict")
    check_entries(rows)
    return rows


def rows_and_labels(
    columns: InputColumns,
    checks: InputChecks,
    X: Any,
    y: Any,
    *,
    numeric: bool,
    purpose: Purpose,
    dtype: Any = None,
    sample_weight: Any = None,
) -> tuple[Any, NDArray[Any]]:
    """Rows as of `read_rows`, and labels: one-dimensional, numbers if ``numeric``."""
    if not numeric:
        check_labels(y)
    elif hasattr(y, "__array__"):
        if np.asarray(y).dtype.kind in "Mm":
            raise ValueError("y holds dates or times: a regression needs numbers, for example the days since a date")
        check_finite_labels(np.asarray(y))
    how: dict[str, Any] = {"purpose": purpose, "dtype": dtype, "sample_weight": sample_weight, "numeric": numeric}
    try:
        rows, labels = read_rows(columns, checks, X, y, **how)
        return rows, np.asarray(labels, dtype=np.float64) if numeric else labels
    except ValueError as error:
        found = _find_text_in_labels(y) if numeric else None
        if found is None:
            raise
        row, text = found
        raise RowError("the label of ", row, f" is the text {text}: a regression needs numbers ({error})") from error


@final
@dataclass(frozen=True)
class _Reading:
    """Reading of rows of one storage; ``reset`` says whether they are the first ones."""

    columns: InputColumns
    checks: InputChecks
    purpose: Purpose
    reset: bool
    dtype: Any

    def numbers(self, X: Any, *y: Any, **options: Any) -> Any:
        """Rows of arrays, sparse matrices, and frames of numbers."""
        _check_column_names(X)
        if len(getattr(X, "shape", ())) == 2 and X.shape[1]:
            refuse_empty(X.shape)
        copying = memory_errors_explained(
            "a copy of X", "pass C-contiguous rows, or CSR, of float32 or float64: no copy"
        )
        with bad_cells_named(X), copying:
            types = _float_types(X) if self.dtype is None else [self.dtype]
            return self.checks.numbers(self.columns, X, *y, types=types, reset=self.reset, **options)

    def mixed(self, X: MixedMatrix, *y: Any, **options: Any) -> Any:
        """Rows of a `MixedMatrix`, whose parts were checked when it was made."""
        refuse_empty(X.shape)
        self.checks.features(self.columns, X, reset=self.reset)
        rows = X if self.dtype is None else X.astype(self.dtype)
        return (rows, self.checks.labels(y[0], X.shape[0], **options)) if y else rows

    def table(self, X: Any, *y: Any, sample_weight: Any, **options: Any) -> Any:
        """Rows of a data frame: labels and weights are checked before an encoder learns from it."""
        _check_column_names(X)
        X = X if hasattr(X, "shape") else arrow_table(X)  # a stream of batches is read once
        refuse_empty(X.shape)
        labels = [self.checks.labels(own, X.shape[0], **options) for own in y]
        weight = check_sample_weight(sample_weight, X.shape[0])
        rows = self._encoded(X, weight)
        rows = rows if self.dtype is None else rows.astype(self.dtype, copy=False)
        return (rows, *labels) if labels else rows

    def _encoded(self, X: Any, weight: NDArray[np.float64] | None) -> Any:
        """Rows of a data frame: an array, CSR matrix or `MixedMatrix`.

        A frame of numbers and booleans without missing values is read as its array; its encoder only knows the means of
        the columns, for missing values that come later. Any other frame is encoded.
        """
        columns, learns = self.columns, self.purpose != "predict"
        if not columns.encodes_tables:
            table = converted(X) if learns else None
            if table is not None and booleans_of_plain(table) is None:
                raise _needs_encoder(columns.estimator, table)
            return self.numbers(X)
        encoder = None if self.reset else columns.encoder
        if not self.reset and encoder is None:
            return self.numbers(X)  # the model knows no names: an error there says which cell is not a number
        table = converted(X)
        is_plain = encoder is None or encoder.is_plain
        booleans = booleans_of_plain(table) if is_plain and not columns.kinds else None
        if booleans is not None:
            return self._plain(table, booleans, encoder, weight)
        if encoder is None:
            encoder = TableEncoding(columns.kinds or None)
        if not learns:
            return rows_of(encoder.encode(table))
        if not self.reset:
            encoder = copy.deepcopy(encoder)  # a call that fails, or is interrupted, leaves the one that fits the model
        encodes = encoder.fit_encode if self.purpose == "fit" else encoder.partial_fit_encode
        encoded = encodes(table, weight)
        if self.reset:
            columns.take_from(encoder)
        columns.encoder = encoder
        return rows_of(encoded)

    def _plain(
        self, table: Any, booleans: list[bool], encoder: TableEncoding | None, weight: NDArray[np.float64] | None
    ) -> Any:
        """Rows of a table that is an array already."""
        columns, rows = self.columns, self.numbers(table)
        if self.reset:
            if columns.names is not None:
                columns.encoder = TableEncoding.of_numbers(columns.names.tolist(), booleans, rows, weight)
        elif self.purpose == "partial_fit" and encoder is not None:
            encoder.add_numbers(rows, weight)
        return rows


def is_row_input(X: Any, y: Any = None) -> bool:
    """Whether rows are read in parts, with their labels: from files, or from an iterator of batches."""
    if isinstance(X, RowInput):
        return True
    return y is None and ((hasattr(X, "__next__") and not is_frame(X)) or isinstance(X, pa.RecordBatchReader))


def is_predicted_in_parts(X: Any) -> bool:
    """Whether predictions are made part by part; an Arrow reader is a table that is read whole."""
    return is_row_input(X) and not isinstance(X, pa.RecordBatchReader)


def is_table(X: Any) -> bool:
    """Whether X is a data frame whose columns can be encoded; frames of sparse columns are matrices."""
    return is_frame(X) and not (hasattr(X, "dtypes") and _is_sparse(X.dtypes))


def _with_names_of_fit(columns: InputColumns, X: Any, *, reset: bool) -> Any:
    """A frame of pandas whose names are not all strings, with strings as names and in the order of the fit.

    scikit-learn ignores such names. Of rows without names the columns are 0, 1, 2, …
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame) or all(isinstance(name, str) for name in X.columns):
        return X
    names = names_of_columns(X)
    known = None if reset else columns.names
    if reset or known is not None:
        X = X.set_axis(names, axis=1)
        return X if known is None or set(known) != set(names) else X[known.tolist()]
    positions = list(map(str, range(len(names))))
    if set(names) == set(positions):
        return X.iloc[:, np.argsort(np.array(names, dtype=np.intp))]
    return X.set_axis(names, axis=1)


def _refuse_array(columns: InputColumns, X: Any) -> None:
    """Raise for a lazy frame or a series, for an array if kinds of columns are stated or the features are encoded."""
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet: call X.collect() first")
    if hasattr(X, "to_frame"):
        raise ValueError(f"X is a {type(X).__name__}, a single column or row: for a column give X.to_frame()")
    if columns.kinds:
        raise ValueError(
            f"columns={columns.kinds!r} needs a data frame: X is a {type(X).__name__} without names. Remove columns, "
            "or give a frame"
        )
    encoder = columns.encoder
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
    """Which columns are booleans, if all are booleans or numbers without missing values; otherwise None.

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
    """Whether a column of an Arrow table holds numbers or booleans, without missing values."""
    types = pa.types
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        return False
    if column.null_count:
        return False
    return not (types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py())


def _is_sparse(types: Any) -> bool:
    return len(types) > 0 and all(str(kind).startswith("Sparse") for kind in types)


def _needs_encoder(name: str, X: Any) -> ValueError:
    """The error of a frame with other columns than numbers, for an estimator that takes numbers only."""
    table = arrow_table(X)
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


_FLOATS = [np.float64, np.float32]


def check_entries(X: Any) -> None:
    """Raise for indices of a CSR matrix, or of the sparse columns of a `MixedMatrix`, that are outside it."""
    entries = X.sparse if isinstance(X, MixedMatrix) else X
    if hasattr(entries, "indptr"):
        check_csr(entries.indices, entries.indptr, entries.shape[1])


def _float_types(X: Any) -> list[Any]:
    """The types that need no copy; scikit-learn does not see that all columns of an Arrow table are float32."""
    single = isinstance(X, pa.Table) and all(pa.types.is_float32(kind) for kind in X.schema.types)
    return [np.float32] if single else _FLOATS


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
