"""Blocks of consecutive rows of a stream, cut by the global number of the row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.matrices.stacking import rows_between, rows_together

#: Rows in a block, unless they are so wide that a block would not fit into its share of memory.
BLOCK_ROWS = 65_536
#: Pieces of a block that later passes read by themselves: a buffer of pieces from all over the rows is a better sample
#: of them than one of a few blocks, above all if the rows are sorted.
PIECES = 16


@final
@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows as they are trained on.

    Parameters
    ----------
    X : ndarray, csr_array or MixedMatrix
        Features; no row has a column twice.
    labels : ndarray of float64
        −1 and 1, class numbers, or targets.
    weights : ndarray of float64 or None
        Sample weights; None if all are 1.
    hashes : ndarray of uint64
        Hashes of the rows as they were before they were encoded.
    numbers : ndarray of int64
        Global numbers of the rows.
    roles : ndarray of int32 or None
        What the columns are part of, as in `sgdone.rows.column_roles`.
    """

    X: Any
    labels: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    hashes: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    roles: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.labels.size)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_bytes(self) -> int:
        """Bytes of the features, indices counted as those of 32 bits that a cache has."""
        parts = (self.X.dense, self.X.sparse) if isinstance(self.X, MixedMatrix) else (self.X,)
        return sum(_bytes_of(part) for part in parts)

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_rows) if self.weights is None else float(self.weights.sum())

    def at(self, rows: NDArray[np.intp]) -> "RowBlock":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self,
            X=self.X[rows],
            labels=self.labels[rows],
            weights=weights,
            hashes=self.hashes[rows],
            numbers=self.numbers[rows],
        )

    def pieces(self) -> "Iterator[RowBlock]":
        """The rows in `PIECES` parts of nearly the same size; fewer if there are fewer rows."""
        for rows in np.array_split(np.arange(self.n_rows), min(PIECES, self.n_rows)):
            yield self._part(int(rows[0]), int(rows[-1]) + 1)

    def cut(self, size: int) -> "Iterator[RowBlock]":
        """The rows in parts of ``size`` rows; only the last has fewer. They share the memory of this block."""
        if self.n_rows <= size:
            return iter([self])
        return (self._part(first, min(first + size, self.n_rows)) for first in range(0, self.n_rows, size))

    def _part(self, first: int, last: int) -> "RowBlock":
        rows = slice(first, last)
        weights = None if self.weights is None else self.weights[rows]
        own = {name: getattr(self, name)[rows] for name in ("labels", "hashes", "numbers")}
        return replace(self, X=rows_between(self.X, first, last), weights=weights, **own)


def joined(blocks: Sequence[RowBlock], arrays: ReusedArrays | None = None) -> RowBlock:
    """The rows of several blocks, one after the other, with the features of the last; in ``arrays``, if given."""
    if len(blocks) == 1:
        return blocks[0]
    weights = None
    if any(block.weights is not None for block in blocks):
        weights = np.concatenate([np.ones(b.n_rows) if b.weights is None else b.weights for b in blocks])
    return RowBlock(
        rows_together([block.X for block in blocks], arrays),
        np.concatenate([block.labels for block in blocks]),
        weights,
        np.concatenate([block.hashes for block in blocks]),
        np.concatenate([block.numbers for block in blocks]),
        max((block for block in blocks), key=lambda block: block.n_features).roles,
    )


def in_groups(blocks: Iterable[RowBlock], size: int) -> Iterator[list[RowBlock]]:
    """Blocks in lists of ``size``; only the last has fewer."""
    group: list[RowBlock] = []
    for block in blocks:
        group.append(block)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _bytes_of(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes
    return int(part.data.nbytes + 4 * (part.indices.size + part.indptr.size))
