"""Rows of a fit that are read a few megabytes at a time: from files, or from batches."""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.byte_streams import can_be_read_again
from sgdone.readers.column_choice import choose_columns
from sgdone.readers.input_files import Given, InputFile, input_files, total_bytes
from sgdone.readers.reading import read_parts
from sgdone.readers.table import MAX_MEMORY, DataError, ReadOptions, Table, concatenated
from sgdone.readers.table_from_arrow import assemble
from sgdone.tables import arrow_table, is_frame

#: Share of the memory below which all rows are kept in memory: as they are read, encoded, and a copy.
IN_MEMORY = 0.25


class RowInput(ABC):
    """Rows with labels and weights that are read in parts."""

    #: Bytes that buffers may take.
    max_memory: int = MAX_MEMORY
    #: Folder in which encoded rows are kept for later passes and runs; None for the user's cache folder.
    cache: Path | None = None
    #: Whether the rows can be read as often as needed.
    rereadable: bool = True

    @abstractmethod
    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The rows, some megabytes at a time; labels must be there if ``labelled``."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Identity of the data in plain values, which must be the same when a run is resumed."""

    @property
    def total_bytes(self) -> int | None:
        """Size of the files, if known."""
        return None

    @property
    def bytes_read(self) -> int:
        """Bytes of the files read since the last call of `tables`."""
        return 0


def batches(
    rows: Iterable[Any],
    label: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    cache: str | Path | None = None,
    max_memory: int = MAX_MEMORY,
) -> "BatchInput":
    """Batches of rows that a program makes, or an Arrow ``RecordBatchReader``, as the rows of a fit.

    They are read once, unless there is a folder for a cache.

    Parameters
    ----------
    rows : iterable
        Of data frames or Arrow record batches that have the label, or of tuples ``(X, y)`` or
        ``(X, y, sample_weight)``. It may be endless: then the fit ends when further rows are not expected to help.
    label, weight, columns, drop, max_memory
        As in `sgdone.files`.
    cache : path, optional
        Folder in which encoded rows are kept for several passes. By default there is one pass.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sgdone import LinearRegressor, batches
    >>> tables = (pa.table({"x": [k, k + 0.5], "y": [2.0 * k, 2.0 * k + 1.0]}) for k in range(30))
    >>> LinearRegressor().fit(batches(tables, label="y")).coef_.round(3)
    array([2.])
    """
    options = ReadOptions(
        Path("batch"),
        label=label,
        weight=weight,
        features=columns,
        drop=drop,
        cache=None if cache is None else Path(cache),
        max_memory=max_memory,
    )
    return BatchInput(rows, options)


@final
class BatchInput(RowInput):
    """Batches that a program makes; made by `sgdone.batches`."""

    rereadable = False

    def __init__(self, batches: Iterable[Any], options: ReadOptions | None = None) -> None:
        self._batches: Iterator[Any] | None = iter(batches)
        self._options = options or ReadOptions(Path("batch"))
        self.max_memory, self.cache = self._options.max_memory, self._options.cache

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The batches, each as a table with the columns of the first one, in its order."""
        batches, self._batches = self._batches, None
        if batches is None:
            raise ValueError("these batches were read before: make new ones, or give cache= to read them several times")
        options, first = replace(self._options, require_label=labelled), None
        for number, batch in enumerate(batches):
            table = _of_arrays(batch, number) if isinstance(batch, tuple) else _of_frame(batch, number, options)
            if first is None:
                first = table.X.schema if isinstance(table.X, pa.Table) else table.X[:0]
            table = replace(table, X=_like_first(table.X, first, number))
            if table.n_rows:
                yield table

    def identity(self) -> dict[str, Any]:
        """Nothing is known of batches."""
        return {}


def read_head(tables: Iterator[Table], max_memory: int, share: float | None = None) -> tuple[list[Table], bool]:
    """The first tables, until they take more than a share of memory, `IN_MEMORY` by default; whether these are all."""
    head, size, most = list[Table](), 0.0, (IN_MEMORY if share is None else share) * max_memory
    for table in tables:
        head.append(table)
        size += _size(table)
        if size > most:
            return head, False
    return head, True


def all_rows(head: Sequence[Table]) -> Table:
    """One table of all rows."""
    if not head:
        raise ValueError("the source has no rows to train on")
    return concatenated(head)


def _size(table: Table) -> float:
    """Bytes of a table, as far as they do not depend on how it is cut."""
    X = table.X
    if isinstance(X, pa.Table):
        return float(X.nbytes)
    if isinstance(X, MixedMatrix):
        return float(X.dense.nbytes + 12 * X.sparse.nnz + 8 * X.shape[0])
    return float(12 * X.nnz + 8 * X.shape[0] if hasattr(X, "nnz") else X.nbytes)


def _of_frame(batch: Any, number: int, options: ReadOptions) -> Table:
    if not is_frame(batch):
        raise TypeError(
            f"batch {number} is a {type(batch).__name__}: give data frames with label=, or tuples (X, y) or "
            "(X, y, sample_weight)"
        )
    table = arrow_table(batch)
    columns = choose_columns(table.column_names, options)
    made = assemble(table, columns, options, lambda row: f"batch {number}, row {row}")
    return replace(made, X=_with_doubles(made.X))


def _like_first(X: Any, first: Any, number: int) -> Any:
    """The features with the columns of the first batch, or an error; of frames ``first`` is the schema."""
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
    """Numbers as float64: a column of integers may have missing values or fractions in later batches."""
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
    return Table(X, y, name=f"batch {number}", weights=weights)


def _matrix(X: Any, number: int) -> Any:
    """Features in a form that is trained on, all of them finite; missing values are allowed in frames only."""
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


#: Options that do not decide which rows a fit reads.
_WITHOUT_EFFECT = frozenset(
    {"path", "require_label", "skip_unlabelled", "allow_missing", "cache", "part_of_table", "on_bytes"}
)


def files(
    paths: Given | Iterable[Given],
    label: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    as_strings: Collection[str] = (),
    separator: str | None = None,
    header: bool = True,
    n_features: int | None = None,
    zero_based: bool = False,
    bits: int | None = None,
    format: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    max_memory: int = MAX_MEMORY,
) -> "FileInput":
    r"""Files of any size as the rows of a fit: ``LinearClassifier().fit(sgdone.files("clicks/*.parquet", "click"))``.

    The rows of all files are one table. If they fit into a quarter of ``max_memory``, they are read into memory, and
    the fit is that of a data frame. Otherwise they are read block by block, and kept on disk for further passes.

    Parameters
    ----------
    paths : str, path or list of these
        Files, patterns such as ``"clicks/*.parquet"``, folders, addresses such as ``"s3://clicks/2026"``, and ``"-"``
        for standard input, which is read once. CSV, Parquet, Arrow, JSON lines, svmlight and Vowpal Wabbit's text
        format, plain or compressed with gzip, bzip2, xz or zstd; all of one format.
    label : str, optional
        Name of the label column, or a condition such as ``"delay > 15"``. By default the column named label, target, y
        or class. svmlight and Vowpal Wabbit's lines begin with the label.
    weight : str, optional
        Name of the column with the weights of the rows.
    columns : sequence of str, optional
        The feature columns; all others by default.
    drop : sequence of str, optional
        Columns to leave out.
    as_strings : collection of str, optional
        Columns of CSV files that stay strings, whatever their cells are.
    separator, header, n_features, zero_based, bits, format
        How files are written, as in `sgdone.readers.table.ReadOptions`.
    cache : path, optional
        Folder in which encoded rows are kept. By default they are in the user's cache folder during the fit.
    max_memory : int, default=1_000_000_000
        Bytes that buffers may take. The coefficients, and the levels of categories, come on top.

    Returns
    -------
    FileInput
        For ``fit``, ``partial_fit`` and ``predict``.

    Examples
    --------
    >>> import tempfile
    >>> from sgdone import LinearRegressor, files
    >>> folder = Path(tempfile.mkdtemp())
    >>> for day in (1, 2):
    ...     rows = "".join(f"{x},{3 * x + 1}\n" for x in range(day, 30))
    ...     _ = (folder / f"day-{day}.csv").write_text("x,y\n" + rows)
    >>> model = LinearRegressor().fit(files(folder / "*.csv", label="y"))
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([3.]), array([1.]))
    """
    options = ReadOptions(
        label=label,
        weight=weight,
        features=columns,
        drop=drop,
        as_strings=as_strings,
        separator=separator,
        header=header,
        n_features=n_features,
        zero_based=zero_based,
        bits=bits,
        format=format,
        cache=None if cache is None else Path(cache),
        max_memory=max_memory,
        skip_unlabelled=True,
    )
    return FileInput(input_files(paths), options)


@final
class FileInput(RowInput):
    """Files whose rows are one table; made by `sgdone.files`."""

    def __init__(self, found: Sequence[InputFile], options: ReadOptions) -> None:
        self.found, self.options = list(found), replace(options, path=found[0].path)
        self.max_memory, self.cache = options.max_memory, options.cache
        self.rereadable = all(can_be_read_again(file.path) for file in found)
        self._bytes_read = 0

    @property
    def total_bytes(self) -> int | None:
        """Size of the files, if known."""
        return total_bytes(self.found)

    @property
    def bytes_read(self) -> int:
        """Bytes read since the last call of `tables`."""
        return self._bytes_read

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The rows, a few megabytes at a time; a file that has changed since the first time is an error."""
        self._check_unchanged()
        self._bytes_read = 0
        options = replace(self.options, require_label=labelled, skip_unlabelled=labelled, on_bytes=self._count)
        for table in read_parts(self.found, options):
            if table.X.shape[0]:
                yield table
        self._check_unchanged()

    def identity(self) -> dict[str, Any]:
        """Names, sizes and times of the files, and the options that say how to read them."""
        described = [{"name": str(file.path), "bytes": file.size, "modified": file.modified} for file in self.found]
        names = [field.name for field in fields(ReadOptions) if field.name not in _WITHOUT_EFFECT]
        return {"files": described, **{name: _plain(getattr(self.options, name)) for name in names}}

    def __repr__(self) -> str:
        names = ", ".join(str(file.path) for file in self.found[:3])
        more = f" and {len(self.found) - 3:,} more" if len(self.found) > 3 else ""
        return f"<files {names}{more}>"

    def _count(self, n_bytes: int) -> None:
        self._bytes_read += n_bytes

    def _check_unchanged(self) -> None:
        """Raise for a file that was changed since it was found: passes over different rows have no meaning."""
        for file in self.found:
            if file.size is None or not isinstance(file.path, Path):
                continue
            try:
                now = file.path.stat()
            except OSError as error:
                raise DataError(f"{file.path}: has gone since reading began ({error.strerror}): start again") from error
            if (now.st_size, now.st_mtime_ns) != (file.size, file.modified):
                raise DataError(
                    f"{file.path}: has changed since reading began (it had {file.size:,} bytes and has "
                    f"{now.st_size:,} now): start again when it is complete"
                )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else value
