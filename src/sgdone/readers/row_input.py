"""What a fit from files reads: tables of rows, from files or from batches that a program makes."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.batch_tables import BatchTables
from sgdone.readers.table import ReadOptions, Table, concatenated

#: Bytes that the buffers of a fit may take.
MAX_MEMORY = 1_000_000_000
#: A megabyte is a million bytes to people, and a little more to the buffers.
_LEAST_MEMORY = 1 << 20
#: Share of these below which all rows are kept in memory: as they are read, encoded, and a copy.
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
        """Which data these are, in plain values: what must not have changed when a run is resumed."""

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
    return BatchInput(rows, label=label, weight=weight, columns=columns, drop=drop, cache=cache, max_memory=max_memory)


@final
class BatchInput(RowInput):
    """Batches that a program makes; made by `sgdone.batches`."""

    rereadable = False

    def __init__(
        self,
        batches: Iterable[Any],
        *,
        label: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        max_memory: int = MAX_MEMORY,
        cache: str | Path | None = None,
    ) -> None:
        self._batches: Iterator[Any] | None = iter(batches)
        self._options = ReadOptions(Path("batch"), label=label, weight=weight, features=columns, drop=drop)
        self.max_memory = checked_memory(max_memory)
        self.cache = None if cache is None else Path(cache)

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The batches, each as a table."""
        batches, self._batches = self._batches, None
        if batches is None:
            raise ValueError("these batches were read before: make new ones, or give cache= to read them several times")
        made = BatchTables(replace(self._options, require_label=labelled))
        for number, batch in enumerate(batches):
            table = made.table(batch, number)
            if table.X.shape[0]:
                yield table

    def identity(self) -> dict[str, Any]:
        """Nothing is known of batches."""
        return {}


def checked_memory(max_memory: Any) -> int:
    """A number of bytes."""
    number = isinstance(max_memory, (int, float, np.integer, np.floating)) and not isinstance(max_memory, bool)
    if not number or not 1_000_000 <= max_memory < float("inf"):
        raise ValueError(f"max_memory must be a number of bytes, a million or more; got {max_memory!r}")
    return max(int(max_memory), _LEAST_MEMORY)


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
