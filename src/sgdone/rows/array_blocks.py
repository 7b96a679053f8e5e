"""Arrays in memory, read in their order as files are: the same rows give the same bits."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.matrices.row_hash import row_hashes
from sgdone.rows.column_numbers import ColumnNumbers, numbered
from sgdone.rows.row_block import BLOCK_ROWS, PIECES, RowBlock


@final
class ArrayBlocks:
    """Blocks of a matrix, its labels and weights; it takes the place of a `BlockCache`.

    Parameters
    ----------
    X : ndarray, CSR matrix or MixedMatrix
        Features.
    labels : ndarray of float64
        As training needs them.
    weights : ndarray of float64 or None
        Sample weights.
    roles : ndarray of int32 or None
        What the columns are part of.
    numbers : ColumnNumbers, optional
        Numbers the columns of sparse rows, as those of files are.
    """

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        roles: NDArray[np.int32] | None = None,
        numbers: ColumnNumbers | None = None,
    ) -> None:
        self._X, self._labels, self._weights, self._roles = X, labels, weights, roles
        self._numbers = ColumnNumbers() if numbers is None else numbers

    def __len__(self) -> int:
        full, rest = divmod(self._labels.size, BLOCK_ROWS)
        return full * PIECES + min(rest, PIECES)

    def write(self, block: RowBlock) -> None:
        """Nothing: the rows are there already."""

    def close(self) -> None:
        """Nothing is open."""

    def read(self, number: int) -> RowBlock:
        """A piece of a block, by its number."""
        block, piece = divmod(number, PIECES)
        first = block * BLOCK_ROWS
        n_rows = min(BLOCK_ROWS, self._labels.size - first)
        cuts = [part.size for part in np.array_split(np.arange(n_rows), min(PIECES, n_rows))]
        first += sum(cuts[:piece])
        return self._rows(first, first + cuts[piece])

    def in_order(self) -> Iterator[RowBlock]:
        """All blocks, in the order of the rows."""
        n_rows = self._labels.size
        return (self._rows(first, min(first + BLOCK_ROWS, n_rows)) for first in range(0, n_rows, BLOCK_ROWS))

    def _rows(self, first: int, last: int) -> RowBlock:
        X = self._X[first:last]
        weights = None if self._weights is None else self._weights[first:last]
        own = numbered(X, self._numbers)
        return RowBlock(own, self._labels[first:last], weights, row_hashes(X), np.arange(first, last), self._roles)
