"""Rows that are held out for the scores: the same ones in memory, in files that are read in parts, and on a cluster.

A row is held out if a keyed hash of its features is below a share of all hashes: a tenth, or less so that about 32,768
rows are held out, of n rows min(1/10, 32768/n). Copies of a row are held out together, unless few rows differ. Of fewer
than 50 rows none are held out. While rows are read whose number is not known yet, n is the number of the row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli.input_data import for_task
from sgdone.fit.streamed_rows import OpenedInput
from sgdone.losses.learning_task import Task
from sgdone.matrices.row_hash import row_hashes
from sgdone.matrices.stacking import widened
from sgdone.readers.row_input import RowInput
from sgdone.readers.table import Table, concatenated

#: Fewest rows of which some are held out: the scores of fewer than five rows say nothing.
FEWEST_ROWS = 50
#: Share of the rows that are held out, and about how many at most: the standard error of an error is then below 0.3 %.
_SHARE, _MOST = 0.1, 32_768
#: Copies of fewer different rows are not held out together: whole levels of a category would be missing in the fit.
_FEWEST_DIFFERENT = 200

Hashes = NDArray[np.uint64]


def held_out_share(n_rows: int) -> float:
    """Share of the rows that are held out.

    Examples
    --------
    >>> held_out_share(49), held_out_share(1000), held_out_share(3_276_800)
    (0.0, 0.1, 0.01)
    """
    return min(_SHARE, _MOST / n_rows) if n_rows >= FEWEST_ROWS else 0.0


def held_out_key(seed: int) -> int:
    """Key of the hashes."""
    return int(np.random.default_rng([seed, 2]).integers(1, 2**63))


def held_out_rows(X: Any, labels: NDArray[np.generic], task: Task, seed: int) -> NDArray[np.bool_]:
    """Mask of the rows in memory that are held out; a class is never held out whole.

    Rows that are copies of fewer than 200 different ones are drawn by their number.

    Examples
    --------
    >>> held_out_rows(np.arange(1000.0)[:, None], np.arange(1000) % 2, "classification", 0).sum()
    np.int64(103)
    """
    share = held_out_share(labels.size)
    if not share:
        return np.zeros(labels.size, dtype=np.bool_)
    hashes = row_hashes(X, held_out_key(seed))
    if _are_copies(hashes):
        hashes = _hashes_of_numbers(0, labels.size, held_out_key(seed))
    held_out = np.asarray(hashes < np.uint64(share * 2.0**64))
    if task == "classification":
        held_out &= np.isin(labels, np.unique(labels[~held_out]))
    return held_out


def _are_copies(hashes: Hashes) -> bool:
    """Whether rows are copies of few different ones."""
    return np.unique(hashes).size < min(_FEWEST_DIFFERENT, hashes.size / 2)


def _hashes_of_numbers(first: int, count: int, key: int) -> Hashes:
    return row_hashes(np.arange(first + 1.0, first + count + 1.0)[:, None], key)


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


@final
class HeldOutInput(RowInput):
    """The rows of files without those that are held out, if any are; labels are as the task needs them.

    The same rows are held out whenever the files are read. Of many rows some that were held out at first are neither
    fitted nor scored. ``name`` is DATA in messages.
    """

    def __init__(self, opened: OpenedInput, name: str, task: Task, seed: int, *, holds_out: bool = True) -> None:
        self._opened, self.name, self._task, self._holds_out = opened, name, task, holds_out
        self._key = held_out_key(seed)
        self._by_number = holds_out and _are_copies(
            np.concatenate([row_hashes(table.X, self._key) for table in opened.head])
        )
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
        """Identity of the data, and whether rows are held out."""
        return {**self._opened.rows.identity(), "held_out": self._holds_out}

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The rows that are not held out."""
        reading = self.reading = Reading()
        for table in self._opened.tables():
            table = replace(for_task(table, self._task), name=self.name, labelled=None)
            hashes, chosen = self._chosen(table, reading.n_rows)
            reading.n_rows += table.n_rows
            reading.unlabelled += table.unlabelled
            reading.feature_names = table.feature_names
            if chosen.any():
                reading.held_out.append((hashes[chosen], table.at(chosen)))
                reading.n_held_out += int(chosen.sum())
                table = table.at(~chosen)
                if sum(kept.size for kept, _ in reading.held_out) > 2 * _MOST:
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
        limit = np.uint64(min(_SHARE, _MOST / self.reading.n_rows) * 2.0**64)
        kept = ((hashes, table, hashes < limit) for hashes, table in self.reading.held_out)
        return [(hashes[rows], table if rows.all() else table.at(rows)) for hashes, table, rows in kept if rows.any()]

    def _chosen(self, table: Table, first: int) -> tuple[Hashes, NDArray[np.bool_]]:
        """Hashes of the rows of a table, and which are held out; ``first`` is the number of its first row."""
        count = table.n_rows
        if not self._holds_out:
            return np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.bool_)
        hashes = _hashes_of_numbers(first, count, self._key) if self._by_number else row_hashes(table.X, self._key)
        limits = np.minimum(_SHARE, _MOST / np.arange(first + 1.0, first + count + 1.0))
        return hashes, np.asarray(hashes < (limits * 2.0**64).astype(np.uint64))
