"""Rows of any kind as matrices of features: arrays, data frames, and rows that are read in parts."""

import copy
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from sgdone.fit.labels import check_sample_weight, labels_of
from sgdone.machine.memory import memory_errors_explained
from sgdone.machine.threads import in_background
from sgdone.matrices.csr import check_csr
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.message_text import RowError, listed
from sgdone.readers.row_input import IN_MEMORY, BatchInput, RowInput, all_rows, read_head
from sgdone.readers.table import Table, errors_located, reads_as_number, shortened
from sgdone.rows.block_cache import CacheError, cache_folder, unnamed_file
from sgdone.rows.blocks import rows_of
from sgdone.rows.faults import bad_cells_named, check_finite_labels, check_labels, column_text, refuse_masked
from sgdone.rows.rows import aligned
from sgdone.tables import TableEncoderCore, arrow_table, is_frame
from sgdone.tables.frames import names_of_columns
from sgdone.tables.string_cells import numpy_of


class ReadRows:
    """Checks of rows and labels that were read from files or named data sets; not for users.

    They are arrays, sparse matrices and Arrow tables of numbers. The public estimators take whatever scikit-learn does,
    and replace these methods by its own checks.
    """

    #: The name of the estimator in messages and files.
    public_name: ClassVar[str]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _check_numbers(self, X: Any, *y: Any, types: Sequence[Any], reset: bool, numeric: bool = False) -> Any:
        """Rows as a C-contiguous array or a CSR matrix of the first of ``types``, or the one they have; and labels."""
        refuse_empty(X.shape)
        self._check_features(X, reset=reset)
        is_known = not isinstance(X, pa.Table) and X.dtype in types
        if hasattr(X, "tocsr"):
            rows = X.tocsr() if is_known else X.tocsr().astype(types[0])
        elif isinstance(X, pa.Table):
            rows = np.column_stack([numpy_of(column).astype(types[0], copy=False) for column in X.columns])
        else:
            rows = np.asarray(X, dtype=None if is_known else types[0], order="C")
        return (rows, *(self._check_labels(own, X.shape[0], numeric=numeric) for own in y)) if y else rows

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Keep the number of columns, and their names, or compare them with those of the fit."""
        names = np.array(X.column_names, dtype=object) if isinstance(X, pa.Table) else None
        if reset:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = names
            return
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {self.public_name} is expecting {self.n_features_in_} features as "
                "input"
            )
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and not np.array_equal(names, known):
            raise ValueError("the columns of X have other names, or another order, than those of the fit")

    def _check_labels(self, y: Any, n_rows: int, *, numeric: bool = False) -> NDArray[Any]:
        """One label for each row."""
        labels = np.asarray(y)
        check_lengths(n_rows, labels.size)
        return labels.astype(np.float64) if numeric and labels.dtype == object else labels


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


def is_row_input(X: Any, y: Any = None) -> bool:
    """Whether rows are read in parts, with their labels: from files, or from an iterator of batches."""
    if isinstance(X, RowInput):
        return True
    return y is None and ((hasattr(X, "__next__") and not is_frame(X)) or isinstance(X, pa.RecordBatchReader))


def is_predicted_in_parts(X: Any) -> bool:
    """Whether predictions are made part by part; an Arrow reader is a table that is read whole."""
    return is_row_input(X) and not isinstance(X, pa.RecordBatchReader)


def row_input(X: Any) -> RowInput:
    """The rows, as something to read from."""
    return X if isinstance(X, RowInput) else BatchInput(X)


def explained_memory_errors(rows: RowInput) -> AbstractContextManager[None]:
    """Let a MemoryError say what to reduce."""
    advice = (
        f"reduce max_memory, which is {rows.max_memory:,} bytes; coefficients and levels of categories come on top of "
        "it, so use fewer columns if these are many"
    )
    return memory_errors_explained("reading the rows in parts", advice)


#: Files are large if they are this many times the size of the rows that are kept in memory: text may be longer than the
#: numbers that it stands for, but not by that much.
_LARGE = 4
#: Share of the memory that the first rows of large files take.
_FEW = 1 / 32


@final
@dataclass
class OpenedInput:
    """Rows whose first part has been read."""

    rows: RowInput
    head: list[Table]
    rest: Iterator[Table]
    complete: bool

    @classmethod
    def of(cls, rows: RowInput, *, quickly: bool = False) -> "OpenedInput":
        """Read the first part: as many rows as are kept in memory or, ``quickly``, few of files that are large."""
        tables = rows.tables()
        large = (rows.total_bytes or 0) > _LARGE * IN_MEMORY * rows.max_memory
        head, complete = read_head(tables, rows.max_memory, _FEW if quickly and large else None)
        all_rows(head[:1])
        return cls(rows, head, tables, complete)

    def tables(self) -> Iterator[Table]:
        """All rows, once more if they have been read."""
        if not self.head:
            yield from self.rows.tables()
            return
        head, rest = self.head[::-1], self.rest
        self.head, self.rest = [], iter(())
        while head:  # so that they are not kept
            yield head.pop()
        yield from rest

    def labels(self) -> NDArray[Any]:
        """The distinct labels of all rows; reads them once if they can be read again."""
        found = self._first_labels()
        if found.size != 2:  # of many classes, some may be rare
            self.head += read_head(self.rest, self.rows.max_memory)[0]
            found = self._first_labels()
        return found if found.size > 1 else self.all_labels()

    def _first_labels(self) -> NDArray[Any]:
        found = [np.unique(labels_of(table, 0)) for table in self.head]
        return np.unique(np.concatenate(found))

    def all_labels(self) -> NDArray[Any]:
        """The distinct labels of all rows, which are read for that."""
        if not self.rows.rereadable:
            raise ValueError(
                "the first rows have one class only, and the rows can be read once: shuffle them, or write them to "
                "files"
            )
        return np.unique(np.concatenate([np.unique(labels_of(table, 0)) for table in self.rows.tables()]))


_AHEAD = 2
#: Entries from which positions in sparse rows need 64 bits.
_MANY_ENTRIES = 2**31 - 1


class MappedRows(NamedTuple):
    """Encoded rows on disk, their labels and weights in memory."""

    X: Any
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None


def mapped_rows(model: Any, source: Any) -> MappedRows:
    """The rows of a source, encoded as the model encodes them.

    The arrays are views of files without names, which vanish when nothing refers to the arrays: pages are read as they
    are needed. Labels, weights and the lengths of sparse rows are in memory.
    """
    rows = row_input(source)
    folder = cache_folder(rows.cache)
    with ExitStack() as stack:
        files = {name: stack.enter_context(unnamed_file(folder)) for name in ("dense", "indices", "values")}
        labels, weights, lengths, n_rows = [], [], [np.zeros(1, dtype=np.int64)], 0
        n_dense = n_sparse = 0
        tables: Any = stack.enter_context(closing(in_background(rows.tables(), _AHEAD)))
        for table in tables:
            with errors_located(table.place):
                X = check_rows_to_predict(model, table.X)
            dense, entries = _parts(X)
            n_dense, n_sparse = dense.shape[1], entries.shape[1]
            _append(files["dense"], dense)
            _append(files["indices"], entries.indices.astype(np.int32, copy=False))
            _append(files["values"], entries.data.astype(np.float64, copy=False))
            lengths.append(np.diff(entries.indptr).astype(np.int64))
            labels.append(labels_of(table, n_rows))
            if table.weights is not None:
                weights.append(table.weights)
            n_rows += X.shape[0]
        if not n_rows:
            raise ValueError("the source has no rows")
        dense = _mapped(files["dense"], np.float64).reshape(n_rows, n_dense)
        indptr = np.cumsum(np.concatenate(lengths))
        index = np.int32 if indptr[-1] <= _MANY_ENTRIES else np.int64
        entries = _csr(files, indptr.astype(index), (n_rows, n_sparse))
    X = dense if not n_sparse else entries if not n_dense else MixedMatrix(dense, entries)
    return MappedRows(X, np.concatenate(labels), np.concatenate(weights) if weights else None)


def _parts(X: Any) -> tuple[NDArray[np.float64], Any]:
    if isinstance(X, MixedMatrix):
        return np.ascontiguousarray(X.dense, dtype=np.float64), X.sparse
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64), sparse.csr_array((X.shape[0], 0))
    return np.empty((X.shape[0], 0)), X


def _csr(files: dict[str, Any], indptr: NDArray[Any], shape: tuple[int, int]) -> Any:
    indices = _mapped(files["indices"], np.int32)
    return sparse.csr_array(
        (_mapped(files["values"], np.float64), indices.astype(indptr.dtype, copy=False), indptr), shape
    )


def _append(file: Any, array: NDArray[Any]) -> None:
    try:
        file.write(array.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise CacheError(
            f"the rows cannot be kept on disk ({error.strerror}): free some space, or give another folder with cache="
        ) from error


def _mapped(file: Any, dtype: Any) -> NDArray[Any]:
    """The array that a file holds; the map keeps it once the file is closed."""
    if not os.fstat(file.fileno()).st_size:
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(file, dtype=dtype, mode="r"))
