"""Rows that are read in parts: the first part decides how they are fitted."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.estimators.source_labels import labels_of
from sgdone.machine.memory import memory_errors_explained
from sgdone.readers.row_input import IN_MEMORY, BatchInput, RowInput, all_rows, read_head
from sgdone.readers.table import Table
from sgdone.tables import is_frame


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
