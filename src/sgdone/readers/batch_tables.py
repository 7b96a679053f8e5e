"""Batches of rows that a program makes, each checked and made a table like the first one."""

from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.arrow_table import assemble
from sgdone.readers.column_choice import choose_columns
from sgdone.readers.table import ReadOptions, Table
from sgdone.tables import arrow_table, is_frame


@final
class BatchTables:
    """Makes tables of batches; all have the columns of the first one, in its order.

    Parameters
    ----------
    options : ReadOptions
        Which columns of frames are label, weight and features.

    Examples
    --------
    >>> made = BatchTables(ReadOptions(Path("batch")))
    >>> made.table((np.ones((2, 3)), [0, 1]), 0).X.shape
    (2, 3)
    >>> made.table((np.ones((2, 4)), [0, 1]), 1)
    Traceback (most recent call last):
        ...
    ValueError: batch 1 has 4 columns, and the first batch has 3: give all batches the same columns
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._first: Any = None

    def table(self, batch: Any, number: int) -> Table:
        """The table of a batch."""
        table = _of_arrays(batch, number) if isinstance(batch, tuple) else self._of_frame(batch, number)
        if self._first is None:
            self._first = table.X.schema if isinstance(table.X, pa.Table) else table.X[:0]
            return table
        return replace(table, X=self._like_first(table.X, number))

    def _of_frame(self, batch: Any, number: int) -> Table:
        if isinstance(batch, pa.RecordBatch):
            batch = pa.Table.from_batches([batch])
        if not is_frame(batch):
            raise TypeError(
                f"batch {number} is a {type(batch).__name__}: give data frames with label=, or tuples (X, y) or "
                "(X, y, sample_weight)"
            )
        table = arrow_table(batch)
        columns = choose_columns(table.column_names, self._options)
        made = assemble(table, columns, self._options, lambda row: f"batch {number}, row {row}")
        return replace(made, X=_with_doubles(made.X))

    def _like_first(self, X: Any, number: int) -> Any:
        first = self._first
        if _kind(X) != _kind(first):
            raise ValueError(f"batch {number} is {_kind(X)}, and the first batch is {_kind(first)}: give one kind")
        if isinstance(X, pa.Table):
            return _like_schema(X, first, number)
        # Sparse columns that come later are new features.
        if not sparse.issparse(X) and X.shape[1] != first.shape[1]:
            raise ValueError(
                f"batch {number} has {X.shape[1]:,} columns, and the first batch has {first.shape[1]:,}: give all "
                "batches the same columns"
            )
        return X


def _with_doubles(table: Any) -> Any:
    """Numbers as float64: a column of integers may have gaps or fractions in later batches."""
    kinds = [
        pa.float64() if pa.types.is_integer(kind) or pa.types.is_floating(kind) else kind for kind in table.schema.types
    ]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _like_schema(X: Any, first: Any, number: int) -> Any:
    """The columns of the first batch, in its order."""
    for name in X.column_names:
        if name not in first.names:
            raise ValueError(f"batch {number} has a column {name!r}, which the first batch does not have: leave it out")
    for name, kind in zip(first.names, first.types, strict=True):
        if name not in X.column_names:
            raise ValueError(f"batch {number} has no column {name!r}, which the first batch has: add it")
        found = X.schema.field(name).type
        if found != kind and not pa.types.is_null(found):
            raise ValueError(
                f"batch {number}: the column {name!r} has the type {found}, and in the first batch {kind}: convert it"
            )
    return X.select(first.names).cast(first)


def _of_arrays(batch: tuple[Any, ...], number: int) -> Table:
    if len(batch) not in (2, 3):
        raise TypeError(f"batch {number} is a tuple of {len(batch)}: give (X, y) or (X, y, sample_weight)")
    X, y = _matrix(batch[0], number), np.asarray(batch[1])
    weights = None if len(batch) == 2 or batch[2] is None else np.asarray(batch[2], dtype=np.float64)
    for name, values in (("labels", y), ("weights", weights)):
        if values is not None and values.shape != (X.shape[0],):
            raise ValueError(
                f"batch {number} has {X.shape[0]:,} rows and {name} of shape {values.shape}: give one a row"
            )
    _refuse(_missing(y), number, lambda row: f": the label is {y[row]}: drop the row")
    if weights is not None:
        own = weights
        wrong = ~(own >= 0) | np.isinf(own)
        _refuse(wrong, number, lambda row: f": the weight is {own[row]:g}: weights must be 0 or more")
    return Table(X=X, y=y, feature_names=None, label_name=None, path=Path("batch"), weights=weights)


def _matrix(X: Any, number: int) -> Any:
    """Features in a form that is trained on, all of them finite; gaps are allowed in frames only."""
    if is_frame(X):
        return _with_doubles(arrow_table(X))
    if isinstance(X, MixedMatrix):
        return X
    if hasattr(X, "tocsr"):
        X = sparse.csr_array(X.tocsr(), dtype=np.float64)
        values, columns = X.data, X.indices
        bad = ~np.isfinite(values)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)) if bad.any() else columns
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.ndim != 2:
            raise ValueError(f"batch {number} has an X of shape {X.shape}: give rows and columns")
        values = X.ravel()
        bad = ~np.isfinite(values)
        rows, columns = np.divmod(np.arange(bad.size), max(1, X.shape[1])) if bad.any() else (bad, bad)
    if bad.any():
        place = int(np.argmax(bad))
        where = f"batch {number}, row {rows[place]}, column {columns[place]}"
        raise ValueError(f"{where} is {values[place]}: impute or drop it, or give frames")
    return X


def _missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.asarray(~np.isfinite(y))
    return np.array([label is None for label in y] if y.dtype == object else [], dtype=np.bool_)


def _refuse(wrong: NDArray[np.bool_], number: int, text: Any) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"batch {number}, row {row}{text(row)}")


def _kind(X: Any) -> str:
    if isinstance(X, (pa.Table, pa.Schema)):
        return "a frame"
    if isinstance(X, MixedMatrix):
        return "part dense, part sparse"
    return "a sparse matrix" if sparse.issparse(X) else "an array"
