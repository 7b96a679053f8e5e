"""What a source of rows is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Rows, Scaling


@final
@dataclass(frozen=True)
class Block:
    """Some rows of a matrix in the order in which they are to be used."""

    rows: Rows
    labels: NDArray[np.float64]
    #: One weight a row, or a single one for all of them.
    sample_weight: NDArray[np.float64]
    order: NDArray[np.uint64]
    #: For each place of the order, a row that will be wanted long after: fetched from memory meanwhile.
    upcoming: NDArray[np.uint64]

    @property
    def weight_stride(self) -> np.uint64:
        """0 if one weight stands for all rows."""
        return np.uint64(0 if self.sample_weight.size == 1 else 1)

    def used(self, first: int, last: int) -> NDArray[np.uint64]:
        """The rows of positive weight among ``order[first:last]``."""
        rows = self.order[first:last]
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight[rows] != 0]

    def all_used(self) -> NDArray[np.uint64]:
        """The rows of positive weight of the whole matrix, from first to last."""
        rows = np.arange(self.rows.n_rows, dtype=np.uint64)
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight != 0]

    def position_after(self, first: int, count: int) -> int:
        """The position in the order behind ``count`` rows of positive weight from ``first`` on, or its end."""
        if self.sample_weight.size == 1:
            return min(first + count, self.order.size)
        used = np.flatnonzero(self.sample_weight[self.order[first:]])
        return first + int(used[count - 1]) + 1 if used.size >= count else self.order.size

    @property
    def n_used(self) -> int:
        """How many rows of the whole matrix have a positive weight."""
        return self.rows.n_rows if self.sample_weight.size == 1 else int(np.count_nonzero(self.sample_weight))

    def weights_of(self, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Sample weights of some rows."""
        weights: NDArray[np.float64] = self.sample_weight[rows * self.weight_stride]
        return weights


class Source(ABC):
    """Rows that can be read in passes."""

    #: Units in which the rows are given, if not the user's.
    scaling: Scaling | None = None

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Columns."""

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """Rows in a pass, or ``None`` if that is not known."""

    @abstractmethod
    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """One pass over the rows."""
