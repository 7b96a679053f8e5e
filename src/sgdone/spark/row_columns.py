"""Columns of Spark data frames as rows: vectors, numbers, labels and weights."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation
from pyspark.sql import types as T  # noqa: N812
from scipy import sparse

from sgdone.cluster import Partition
from sgdone.losses.learning_task import Task
from sgdone.message_text import did_you_mean, listed

#: Share of entries other than 0 below which rows are kept sparse, if there are sparse vectors among them.
SPARSE_BELOW = 0.5
#: Names of entries of vectors that are kept.
_MOST_NAMES = 10_000


@final
@dataclass(frozen=True)
class VectorRows:
    """An array or CSR matrix whose rows were vectors; it does not depend on the batches in which they came."""

    matrix: Any
    #: Whether one of the vectors is sparse.
    has_sparse: bool

    @property
    def entries(self) -> int:
        """Number of entries other than 0."""
        matrix = self.matrix
        return int(np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.nnz)


def rows_of_vectors(batches: Sequence[Any], column: str) -> VectorRows:
    """The vectors of a column as the rows of a matrix; raise for null, and for vectors of different sizes.

    Spark sends arrays of structs: type (0 is sparse), size, indices and values.
    """
    widths = _checked_widths(batches, column)
    width = int(widths[0]) if widths.size else 1
    parts = [_part(batch, width) for batch in batches]
    has_sparse = any(sparse.issparse(part) for part in parts)
    if not has_sparse:
        return VectorRows(np.vstack(parts) if parts else np.empty((0, width)), False)
    matrix = sparse.csr_array(sparse.vstack([as_storage(part, dense=False) for part in parts], format="csr"))
    return VectorRows(as_storage(matrix, dense=not is_sparse(matrix.nnz, matrix.shape[0], width)), True)


def is_sparse(entries: int, n_rows: int, width: int) -> bool:
    """Whether rows that hold sparse vectors are kept sparse."""
    return entries < SPARSE_BELOW * n_rows * width


def as_storage(matrix: Any, *, dense: bool) -> Any:
    """The matrix as a dense array or in CSR, without stored zeros."""
    if dense:
        return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    made = sparse.csr_array(matrix)
    made.eliminate_zeros()
    return made


def vector_names(metadata: dict[str, Any]) -> list[str] | None:
    """Names of the entries of a vector column, as a `VectorAssembler` leaves them; None if some are missing."""
    known = metadata.get("ml_attr", {}).get("attrs", {})
    found = {one.get("idx"): one.get("name") for kind in known.values() for one in kind}
    names = [found.get(number) for number in range(len(found))]
    complete = bool(names) and None not in names and len(set(names)) == len(names)
    return [str(name) for name in names] if complete and len(names) <= _MOST_NAMES else None


def _checked_widths(batches: Sequence[Any], column: str) -> NDArray[np.int64]:
    """The size of each vector; raise unless all are the same."""
    parts, before = list[NDArray[np.int64]](), 0
    for batch in batches:
        if batch.null_count:
            row = before + int(np.argmax(_numpy(batch.is_null())))
            raise ValueError(f"row {row} has no vector in column {column!r}, but null: drop the row, or fill it")
        sizes = _numpy(batch.field("size").cast(pa.int64()).fill_null(0))
        parts.append(np.where(_numpy(batch.field("type")) == 0, sizes, _lengths(batch)))
        before += len(batch)
    widths = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    if np.any(widths != widths[:1]):
        row = int(np.argmax(widths != widths[0]))
        raise ValueError(
            f"row {row} has a vector of size {widths[row]} in column {column!r}, row 0 one of size {widths[0]}: all "
            "vectors need the same size"
        )
    return widths


def _part(batch: Any, width: int) -> Any:
    """The rows of a batch: an array if all vectors are dense, otherwise CSR."""
    types, values = _numpy(batch.field("type")), _numpy(batch.field("values").flatten())
    if np.all(types == 1):
        return values.reshape(len(batch), width)
    counts = _lengths(batch)
    columns = np.empty(values.size, dtype=np.int32)
    stored = np.repeat(types == 0, counts)
    columns[stored] = _numpy(batch.field("indices").flatten())
    columns[~stored] = np.tile(np.arange(width, dtype=np.int32), int(np.count_nonzero(types == 1)))
    # A batch is far from 2³¹ entries: what it holds came as one Arrow array.
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return sparse.csr_array((values.copy(), columns, ends), shape=(len(batch), width))


def _lengths(batch: Any) -> NDArray[np.int64]:
    """The number of values of each vector."""
    import pyarrow.compute as pc

    return _numpy(pc.list_value_length(batch.field("values")).cast(pa.int64()).fill_null(0))


def _numpy(array: Any) -> NDArray[Any]:
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


#: Names of columns on the way to the partitions.
FEATURES, INPUTS, LABEL, WEIGHT, GROUP = "features", "inputs", "label", "weight", "group"

_NUMBERS = (T.NumericType, T.BooleanType)
_CLASSES = (*_NUMBERS, T.StringType)
_CELLS = (*_CLASSES, T.DateType, T.TimestampType, T.TimestampNTZType)


@final
@dataclass(frozen=True)
class FeatureColumns:
    """The features: a column of ``vectors``, or the ``inputs``, columns that are encoded."""

    vectors: str | None
    inputs: tuple[str, ...] = ()

    def check(self, schema: T.StructType) -> None:
        """Raise for columns that are missing, or of a type that cannot be used."""
        if self.vectors is not None:
            kind = _field("featuresCol", self.vectors, schema).dataType
            if not isinstance(kind, VectorUDT):
                raise TypeError(
                    f"featuresCol={self.vectors!r} has the type {kind.simpleString()}, but vectors are needed: make "
                    "them with pyspark.ml.feature.VectorAssembler, or give names of columns as inputCols"
                )
        for name in self.inputs:
            _check_type("inputCols", name, schema, _CELLS, "use numbers, booleans, strings, dates or timestamps")

    def selected(self) -> Column:
        """The features as one column."""
        if self.vectors is not None:
            return _column(self.vectors).alias(FEATURES)
        return F.struct(*map(_column, self.inputs)).alias(INPUTS)


@final
@dataclass(frozen=True)
class RowColumns:
    """Columns of features, labels and weights.

    ``names`` are those of the entries of vectors, and ``group`` says which rows are not independent, if there are any.
    """

    features: FeatureColumns
    label: str
    weight: str | None = None
    names: tuple[str, ...] | None = None
    group: str | None = None

    @classmethod
    def of(
        cls,
        schema: T.StructType,
        features: FeatureColumns,
        label: str,
        weight: str | None,
        task: Task,
        group: str | None = None,
    ) -> "RowColumns":
        """The columns of a data frame; raise for those that are missing, or of a type that cannot be used."""
        features.check(schema)
        if task == "regression":
            _check_type("labelCol", label, schema, _NUMBERS, "a regression needs labels that are numbers")
        else:
            _check_type("labelCol", label, schema, _CLASSES, "use numbers, strings or booleans as labels")
        if weight is not None:
            _check_type("weightCol", weight, schema, (T.NumericType,), "weights are numbers")
        if group is not None:
            _check_type("groupsCol", group, schema, _CLASSES, "use numbers, strings or booleans as groups")
        names = None if features.vectors is None else vector_names(schema[features.vectors].metadata)
        return cls(features, label, weight, None if names is None else tuple(names), group)

    def selected(self, frame: DataFrame) -> DataFrame:
        """A data frame of these columns only, under names that `partition_of` knows."""
        named = {LABEL: self.label, WEIGHT: self.weight, GROUP: self.group}
        others = [_column(name).alias(alias) for alias, name in named.items() if name is not None]
        return frame.select(self.features.selected(), *others)


def partition_of(number: int, batches: Iterable[Any], columns: RowColumns) -> tuple[Partition, VectorRows | None]:
    """The rows of a partition, and how its vectors were stored; rows that cannot be used are its fault."""
    # All batches are read, whatever they hold: Spark ends a worker that leaves rows unread.
    found = [batch for batch in batches if batch.num_rows]
    if not found:
        return Partition(number, np.empty((0, 1)), np.empty(0)), None
    try:
        labels = _labels(_cells(found, LABEL), "label", columns.label)
        weights = None if columns.weight is None else _weights(_cells(found, WEIGHT), columns.weight)
        groups = None if columns.group is None else _labels(_cells(found, GROUP), "group", columns.group)
        if columns.features.vectors is None:
            table = table_of([batch.column(INPUTS) for batch in found])
            return Partition(number, table, labels, weights, groups=groups), None
        rows = rows_of_vectors([batch.column(FEATURES) for batch in found], columns.features.vectors)
        names = columns.names if columns.names is not None and len(columns.names) == rows.matrix.shape[1] else None
        return Partition(number, rows.matrix, labels, weights, names=names, groups=groups), rows
    except (TypeError, ValueError) as error:
        return Partition.failed(number, str(error)), None


def table_of(batches: Sequence[Any]) -> Any:
    """A table of the fields of a column of structs."""
    names = [field.name for field in batches[0].type]
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(batch.flatten(), names) for batch in batches])


def _cells(batches: Sequence[Any], name: str) -> Any:
    return pa.chunked_array([batch.column(name) for batch in batches])


def _labels(cells: Any, what: str, name: str) -> NDArray[Any]:
    """Labels or groups as an array; raise for the first that is null."""
    _check_no_null(cells, what, name)
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        # Decimals would be Python objects.
        found: NDArray[Any] = (cells.cast(pa.float64()) if pa.types.is_decimal(cells.type) else cells).to_numpy()
        return found
    coded = pa.concat_arrays(cells.chunks).dictionary_encode()
    numbers: NDArray[np.int32] = coded.indices.to_numpy()
    return np.array(coded.dictionary.to_pylist(), dtype=np.str_)[numbers]


def _weights(cells: Any, name: str) -> NDArray[np.float64]:
    _check_no_null(cells, "weight", name)
    found: NDArray[np.float64] = cells.cast(pa.float64()).to_numpy()
    return found


def _check_no_null(cells: Any, what: str, name: str) -> None:
    if cells.null_count:
        row = int(np.argmax(cells.is_null().to_numpy()))
        raise ValueError(f"the {what} of row {row} is null (column {name!r}): drop the row, or fill it")


def _check_type(parameter: str, name: str, schema: T.StructType, kinds: tuple[type, ...], advice: str) -> None:
    kind = _field(parameter, name, schema).dataType
    if not isinstance(kind, kinds):
        raise TypeError(f"{parameter}: column {name!r} has the type {kind.simpleString()}: {advice}")


def _field(parameter: str, name: str, schema: T.StructType) -> T.StructField:
    """A column of a data frame; raise if it has none, or several, of this name."""
    if name not in schema.names:
        raise ValueError(
            f"{parameter}={name!r}: the data frame has no such column.{did_you_mean(name, schema.names)} "
            f"Columns: {listed(schema.names)}"
        )
    if schema.names.count(name) > 1:
        raise ValueError(f"{parameter}={name!r}: several columns have this name. Rename or drop all but one of them")
    return schema[name]


def _column(name: str) -> Column:
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")
