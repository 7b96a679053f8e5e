"""Rows of files that are read in parts, some of them held out for the scores, as `sgdone.fit.hold_out` chooses them.

While rows are read whose number is not known yet, it is replaced by the number of the row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli.input_data import for_task
from sgdone.fit.hold_out import MOST_HELD_OUT, Hashes, RowChoice, below, first_rows, held_out_share
from sgdone.fit.streamed_rows import OpenedInput
from sgdone.losses.learning_task import Task
from sgdone.matrices.stacking import widened
from sgdone.readers.row_input import RowInput
from sgdone.readers.table import Table, concatenated


@final
@dataclass
class Reading:
    """Counts and held-out rows since the last call of `HeldOutInput.tables`."""

    n_rows: int = 0
    unlabelled: int = 0
    held_out: list[tuple[Hashes, Table]] = field(default_factory=list)
    n_held_out: int = 0
    #: Names of the features of the last table.
    feature_names: list[str] | None = None
    #: Classes of which a row has been read.
    classes: set[Any] = field(default_factory=set)


@final
class HeldOutInput(RowInput):
    """The rows of files without those that are held out, if any are; labels are as the task needs them.

    The same rows are held out whenever the files are read. Of many rows some that were held out at first are neither
    fitted nor scored. ``name`` is DATA in messages.
    """

    def __init__(self, opened: OpenedInput, name: str, task: Task, seed: int, *, holds_out: bool = True) -> None:
        self._opened, self.name, self._task = opened, name, task
        self._holds_out, self._seed = holds_out, seed
        choice = RowChoice.of_seed(seed)
        hashes = np.concatenate([choice.hashes(table.X) for table in opened.head])
        self._choice = choice.unless_few_differ(np.unique(hashes).size, hashes.size)
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
        """Identity of the data, and of the rows that are held out."""
        return {**self._opened.rows.identity(), "seed": self._seed if self._holds_out else None}

    def read_all(self) -> None:
        """Count the rows, and find those that are held out and the names of the features."""
        for _ in self.tables():
            pass

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The rows that are not held out."""
        reading = self.reading = Reading()
        for table in self._opened.tables():
            table = replace(for_task(table, self._task), name=self.name, labelled=None)
            hashes, chosen = self._chosen(table)
            reading.n_rows += table.n_rows
            reading.unlabelled += table.unlabelled
            reading.feature_names = table.feature_names
            if chosen.any():
                reading.held_out.append((hashes[chosen], table.at(chosen)))
                reading.n_held_out += int(chosen.sum())
                table = table.at(~chosen)
                if sum(kept.size for kept, _ in reading.held_out) > 2 * MOST_HELD_OUT:
                    reading.held_out = self._scored()
            if table.n_rows:
                yield table

    def held_out_rows(self, n_features: int) -> Table | None:
        """The rows that were held out so far, with the features of the model, which others may have added."""
        if not self.reading.held_out:
            return None
        rows = concatenated([table for _, table in self._scored()])
        if isinstance(rows.X, pa.Table) or rows.X.shape[1] == n_features:
            return rows
        # A fit that was interrupted has fewer features than the rows that were read ahead.
        return replace(rows, X=widened(rows.X[:, :n_features], n_features))

    def _scored(self) -> list[tuple[Hashes, Table]]:
        """The held-out rows that are scored: those below the share of the rows read so far."""
        limit = below(held_out_share(self.reading.n_rows))
        kept = ((hashes, table, hashes < limit) for hashes, table in self.reading.held_out)
        return [(hashes[rows], table if rows.all() else table.at(rows)) for hashes, table, rows in kept if rows.any()]

    def _chosen(self, table: Table) -> tuple[Hashes, NDArray[np.bool_]]:
        """Hashes of the next rows, and which of them are held out."""
        first, count = self.reading.n_rows, table.n_rows
        if not self._holds_out:
            return np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.bool_)
        hashes = self._choice.hashes(table.X, first)
        held_out = np.asarray(hashes < below(held_out_share(np.arange(first + 1.0, first + count + 1.0))))
        if self._task == "classification":
            rows, known = first_rows(table.labels), self.reading.classes
            is_new = [label not in known for label in table.labels[rows].tolist()]
            held_out[rows[is_new]] = False
            known.update(table.labels[rows].tolist())
        return hashes, held_out
