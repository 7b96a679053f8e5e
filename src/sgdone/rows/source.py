"""The interface of data sources: a source yields blocks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.rows.rows import Rows, Scaling

if TYPE_CHECKING:
    from sgdone.rows.validation_rows import ValidationRows


#: Range of the sum of sample weights that can be numbers of rows.
LEAST_ROWS, MOST_ROWS = 1.0, 1e15


@final
@dataclass(frozen=True)
class Block:
    """Rows of a matrix, with their labels and weights, in the order of use."""

    rows: Rows
    labels: NDArray[np.float64]
    #: One weight per row, or an array with one weight for all rows.
    sample_weight: NDArray[np.float64]
    #: Row numbers in the order of use.
    order: NDArray[np.uint64]
    #: For each position of the order, a row used later, to prefetch.
    upcoming: NDArray[np.uint64]
    #: The fold of each row of the matrix, if the source chooses validation rows; `NO_FOLD` for training rows.
    folds: NDArray[np.uint8] | None = None

    @classmethod
    def without_rows(cls, n_features: int) -> "Block":
        """A block of no rows, where other processes have them."""
        nothing, order = np.empty(0), np.empty(0, np.uint64)
        return cls(Rows.of(np.empty((0, n_features))), nothing, np.ones(1), order, order)

    @property
    def parts(self) -> "tuple[tuple[slice, Block], ...]":
        """The dense and the sparse columns: which they are, and a block of them alone."""
        return tuple((columns, replace(self, rows=rows)) for columns, rows in self.rows.parts)

    @property
    def weight_stride(self) -> np.uint64:
        """0 if all rows share one weight, 1 otherwise."""
        return np.uint64(0 if self.sample_weight.size == 1 else 1)

    def used(self, first: int, last: int) -> NDArray[np.uint64]:
        """Rows of ``order[first:last]`` with a positive weight."""
        rows = self.order[first:last]
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight[rows] != 0]

    def all_used(self) -> NDArray[np.uint64]:
        """All rows of the matrix with a positive weight, in ascending order."""
        rows = np.arange(self.rows.n_rows, dtype=np.uint64)
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight != 0]

    def position_after(self, first: int, count: int) -> int:
        """Position in the order after ``count`` rows of positive weight, counted from ``first``; at most its end."""
        if self.sample_weight.size == 1:
            return min(first + count, self.order.size)
        used = np.flatnonzero(self.sample_weight[self.order[first:]])
        return first + int(used[count - 1]) + 1 if used.size >= count else self.order.size

    @property
    def n_used(self) -> int:
        """Number of rows of the matrix with a positive weight."""
        return self.rows.n_rows if self.sample_weight.size == 1 else int(np.count_nonzero(self.sample_weight))

    def weights_of(self, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Sample weights of the given rows."""
        if self.sample_weight.size == 1:
            return np.full(rows.size, self.sample_weight[0])
        weights: NDArray[np.float64] = self.sample_weight[rows]
        return weights

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows of the matrix."""
        sums = float(self.sample_weight.sum())
        return sums * self.rows.n_rows if self.sample_weight.size == 1 else sums


class Source(ABC):
    """Rows that can be read in several passes."""

    #: Scaling applied to the rows; None if they are in the user's units.
    scaling: Scaling | None = None
    #: Whether columns are part dense, part sparse.
    is_mixed: bool = False
    #: Whether every pass has a new random order.
    shuffle: bool = True
    #: Whether all blocks are of one matrix in memory, so that any row can be read at any time.
    in_memory: bool = False
    #: Whether other processes have the rows, and `sum` asks them.
    is_remote: bool = False
    #: Whether more rows will come in other calls: then a run ends after one pass.
    part_of_stream: bool = False
    #: Whether the rows may never end: then a run may end within its first pass.
    endless: bool = False
    #: How many rows a row of weight 1 stands for.
    frequency: float = 1.0
    #: Names of the columns, if known.
    feature_names: Sequence[Any] | None = None
    #: Rows of the first pass that were in no block, because they are validation rows.
    n_held_back: int = 0

    @property
    def can_be_read_again(self) -> bool:
        """Whether `blocks_in_order` can be called."""
        return False

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the rows read in the first pass."""
        raise NotImplementedError

    def sum(self, request: Any) -> Any:
        """The value of a `sgdone.sums.row_sum.RowSum` over all rows, if other processes have them."""
        raise NotImplementedError

    @property
    def traffic(self) -> Any:
        """The `sgdone.run.trace.Traffic` of the last sum, if other processes have the rows."""
        return None

    def keep_sums(self) -> bool:
        """Write the sums so far, so that another run need not ask for them again; returns whether that was possible."""
        return False

    def blocks_in_order(self, n_features: int) -> Iterator[Block]:
        """All rows again, in their order, with ``n_features`` features.

        Blocks have multiples of 4,096 rows, except the last: sums over them then do not depend on their size.
        """
        raise NotImplementedError

    @property
    def rows_so_far(self) -> tuple[int, int]:
        """Number of rows read in the first pass and a digest of them; zeros if they are not known."""
        return 0, 0

    def begin_again_at(self, passes: int) -> None:
        """Make the next pass the one after ``passes`` passes."""
        raise NotImplementedError("the rows of this source cannot be read again from a checkpoint")

    def validation_rows(self) -> "ValidationRows | None":
        """Validation rows that the source has chosen so far; None if it chooses none."""
        return None

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features."""

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """Number of rows in a pass, or ``None`` if unknown."""

    @abstractmethod
    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """Yield the blocks of one pass over the rows."""
