"""Rows that are read in parts, of which some are held out for the scores on the way."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli.input_data import InputData, for_task, of_table
from sgdone.fit.open_rows import OpenedInput
from sgdone.losses.learning_task import Task
from sgdone.matrices.row_hash import row_hashes
from sgdone.matrices.stacking import widened
from sgdone.readers.row_input import RowInput
from sgdone.readers.table import Table, concatenated

#: Share of the rows that are held out, and their number at most: the standard error of an error is then below 0.3 %.
HELD_OUT_SHARE, MOST_HELD_OUT = 0.01, 32_768


@final
@dataclass
class Reading:
    """What was read since `HeldOutInput.tables` was called last."""

    n_rows: int = 0
    unlabelled: int = 0
    held_out: list[Table] = field(default_factory=list)
    n_held_out: int = 0
    #: Names of the features of the last table.
    feature_names: list[str] | None = None


@final
class HeldOutInput(RowInput):
    """The rows of files without those that are held out; labels are classes or numbers, as the task needs.

    Rows are chosen by a hash of their features: the same ones whenever the files are read, and all copies of a row.

    Parameters
    ----------
    opened : OpenedInput
        The rows.
    name : str
        DATA in messages.
    task : {"classification", "regression"}
    seed : int
        Decides which rows are held out.
    share : float
        Share of the rows that are held out; 0 for none.
    """

    def __init__(self, opened: OpenedInput, name: str, task: Task, seed: int, share: float = HELD_OUT_SHARE) -> None:
        self._opened, self.name, self._task, self._share = opened, name, task, share
        self._key = int(np.random.default_rng([seed, 2]).integers(1, 2**63))
        rows = opened.rows
        self.max_memory, self.cache, self.rereadable = rows.max_memory, rows.cache, rows.rereadable
        self.reading = Reading()

    @property
    def total_bytes(self) -> int | None:
        """Size of the files, if known."""
        return self._opened.rows.total_bytes

    @property
    def bytes_read(self) -> int:
        """Bytes read in this pass over the files."""
        return self._opened.rows.bytes_read

    def identity(self) -> dict[str, Any]:
        """Which data these are, and the share that is held out."""
        return {**self._opened.rows.identity(), "held_out": self._share}

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The rows that are not held out."""
        reading = self.reading = Reading()
        for table in self._read():
            table = replace(table, y=for_task(of_table(self.name, table), self._task).y, labelled=None)
            reading.n_rows += table.X.shape[0]
            reading.unlabelled += table.unlabelled
            reading.feature_names = table.feature_names
            chosen = self._chosen(table, MOST_HELD_OUT - reading.n_held_out)
            if chosen.any():
                reading.held_out.append(_some(table, chosen))
                reading.n_held_out += int(chosen.sum())
                table = _some(table, ~chosen)
            if table.X.shape[0]:
                yield table

    def held_out_rows(self, n_features: int) -> InputData | None:
        """The rows that were held out so far, with the features of the model, which others may have added."""
        if not self.reading.held_out:
            return None
        rows = of_table(self.name, concatenated(self.reading.held_out))
        if isinstance(rows.X, pa.Table) or rows.X.shape[1] == n_features:
            return rows
        # A fit that was interrupted has fewer features than the rows that were read ahead.
        return replace(rows, X=widened(rows.X[:, :n_features], n_features))

    def _read(self) -> Iterator[Table]:
        """The first tables, which are in memory, each only until it is used; then the others."""
        opened = self._opened
        if not opened.head:
            yield from opened.rows.tables()
            return
        head, rest = opened.head, opened.rest
        opened.head, opened.rest = [], iter(())
        head.reverse()
        while head:
            yield head.pop()
        yield from rest

    def _chosen(self, table: Table, most: int) -> NDArray[np.bool_]:
        """Which rows of a table are held out, ``most`` of them at most."""
        if not self._share or most <= 0:
            return np.zeros(table.X.shape[0], dtype=np.bool_)
        chosen = row_hashes(table.X, self._key) < np.uint64(self._share * 2.0**64)
        chosen[np.flatnonzero(chosen)[most:]] = False
        return chosen


def _some(table: Table, rows: NDArray[np.bool_]) -> Table:
    """The rows that are marked."""
    X = table.X.filter(pa.array(rows)) if isinstance(table.X, pa.Table) else table.X[np.flatnonzero(rows)]
    weights = None if table.weights is None else table.weights[rows]
    return replace(table, X=X, y=None if table.y is None else table.y[rows], weights=weights)
