"""Sources of rows: a source yields blocks, pass after pass; `ArraySource` is that of arrays in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.rows.rows import BadRowError, Rows, Scaling, check_row

if TYPE_CHECKING:
    from sgdone.rows.validation_rows import ValidationRows

from scipy import sparse

from sgdone.kernels.jit import interpreted
from sgdone.kernels.shuffle import shuffled_windows
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.cells import refuse_masked
from sgdone.rows.rows import frozen

#: Range of the sum of sample weights that can be numbers of rows.
LEAST_ROWS, MOST_ROWS = 1.0, 1e15


# Reading rows in random order costs twice the memory traffic of reading them in sequence. The rows are shuffled in
# windows of 16 runs of 256 consecutive rows instead: the runs are drawn at random, and the rows are permuted within a
# window. This is nearly as fast as sequential reading and, on data sorted by class, as good as a full shuffle.
RUN = 256


RUNS_IN_WINDOW = 16


RUNS_IN_BLOCK = 4 * RUNS_IN_WINDOW


#: Rows up to which plain Python shuffles in less time than Numba takes to be imported.
_FEW_ROWS = 1024


#: The largest sample weight must lie between the inverse of this and this: weights are multiplied by squares of values.
_LARGEST_WEIGHT = 1e150


RowNumbers = NDArray[np.uint64]


@final
class Order:
    """Row numbers in the order of use and, for each of them, the number of a row used later, to prefetch.

    A shuffled order is made when its rows are first needed: a fit that needs sums over all rows only does without.

    Parameters
    ----------
    size : int
        Number of rows.
    make : callable
        Returns the row numbers, and those to prefetch.
    """

    def __init__(self, size: int, make: Callable[[], tuple[RowNumbers, RowNumbers]]) -> None:
        self.size, self._make = size, make
        self._made: tuple[RowNumbers, RowNumbers] | None = None

    @classmethod
    def of(cls, rows: RowNumbers, upcoming: RowNumbers | None = None) -> "Order":
        """The given row numbers; ``upcoming`` are rows to prefetch, by default the same."""
        return cls(rows.size, partial(_given, rows, rows if upcoming is None else upcoming))

    @property
    def rows(self) -> RowNumbers:
        """Row numbers in the order of use."""
        return self._all()[0]

    @property
    def upcoming(self) -> RowNumbers:
        """The rows to prefetch, one for each position."""
        return self._all()[1]

    def _all(self) -> tuple[RowNumbers, RowNumbers]:
        if self._made is None:
            self._made = self._make()
        return self._made


def _given(rows: RowNumbers, upcoming: RowNumbers) -> tuple[RowNumbers, RowNumbers]:
    return rows, upcoming


@final
@dataclass(frozen=True)
class Block:
    """`Rows` with their labels and weights, and the order in which some or all of them are used."""

    rows: Rows
    labels: NDArray[np.float64]
    #: One weight per row, or an array with one weight for all rows.
    sample_weight: NDArray[np.float64]
    order: Order
    #: The fold of each row of the matrix, if the source chooses validation rows; `NO_FOLD` for training rows.
    folds: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, rows: Rows, labels: NDArray[np.float64], weights: NDArray[np.float64] | None) -> "Block":
        """All rows of a matrix, in their order; weights are 1 by default."""
        order = Order.of(np.arange(rows.n_rows, dtype=np.uint64))
        return cls(rows, frozen(labels), frozen(np.ones(1) if weights is None else weights), order)

    @classmethod
    def without_rows(cls, n_features: int) -> "Block":
        """A block of no rows, where other processes have them."""
        return cls.of(Rows.of(np.empty((0, n_features))), np.empty(0), None)

    def ordered(self, rows: RowNumbers) -> "Block":
        """The block with another order: only the given rows are used."""
        return replace(self, order=Order.of(rows))

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
        rows = self.order.rows[first:last]
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight[rows] != 0]

    def all_used(self) -> NDArray[np.uint64]:
        """All rows of the matrix with a positive weight, in ascending order."""
        rows = np.arange(self.rows.n_rows, dtype=np.uint64)
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight != 0]

    def position_after(self, first: int, count: int) -> int:
        """Position in the order after ``count`` rows of positive weight, counted from ``first``; at most its end."""
        if self.sample_weight.size == 1:
            return min(first + count, self.order.size)
        used = np.flatnonzero(self.sample_weight[self.order.rows[first:]])
        return first + int(used[count - 1]) + 1 if used.size >= count else self.order.size

    @property
    def has_used_rows(self) -> bool:
        """Whether a row in the order has a positive weight."""
        return self.order.size > 0 if self.sample_weight.size == 1 else self.used(0, self.order.size).size > 0

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


@final
class ArraySource(Source):
    """Source for a matrix, its labels and optional sample weights.

    Parameters
    ----------
    X : ndarray, CSR matrix or MixedMatrix of float32 or float64
        C-contiguous if dense. It is neither copied nor modified.
    labels : array of float64
        −1 or 1 for classification, targets for regression.
    sample_weight : array of float64, optional
        Non-negative. Rows of weight 0 are skipped.
    shuffle : bool
        Whether to shuffle the rows before each pass.
    scaling : Scaling, optional
        Scaling applied to the rows.
    part_of_stream : bool
        Whether more rows may follow in later calls. The total number of rows is then unknown.
    frequency : float
        How many rows a row of weight 1 stands for.
    feature_names : sequence of str, optional
        Names of the columns, for messages.
    roles : array of int32, optional
        What each column is part of, as in `sgdone.rows.rows.ENTRIES`.

    Examples
    --------
    >>> source = ArraySource(np.eye(3), np.array([1.0, -1.0, 1.0]), shuffle=False)
    >>> [block.order.rows.tolist() for block in source.blocks(np.random.default_rng(0))]
    [[0, 1, 2]]
    """

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None = None,
        *,
        shuffle: bool = True,
        scaling: Scaling | None = None,
        part_of_stream: bool = False,
        frequency: float = 1.0,
        feature_names: Sequence[str] | None = None,
        roles: NDArray[np.int32] | None = None,
    ) -> None:
        _check(X, labels, sample_weight)
        self.in_memory = True
        self.rows = Rows.of(X, scaling, feature_names, roles)
        self.is_mixed = self.rows.storage == "mixed"
        self.labels = frozen(labels)
        self.sample_weight = frozen(np.ones(1) if sample_weight is None else sample_weight)
        self.shuffle = shuffle
        self.scaling = scaling
        self.part_of_stream = part_of_stream
        self.frequency = frequency
        self.feature_names = feature_names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_features

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if the matrix is part of a stream."""
        return None if self.part_of_stream else self.rows.n_rows

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """Yield the blocks of one pass over the rows."""
        n_rows = self.rows.n_rows
        orders = shuffled(n_rows, rng) if self.shuffle else in_order(n_rows)
        for order in orders:
            yield Block(self.rows, self.labels, self.sample_weight, order)


def _check(X: Any, labels: NDArray[np.float64], sample_weight: NDArray[np.float64] | None) -> None:
    """Raise for arrays the compiled loops cannot read; the loops do not check dtypes or shapes."""
    for name, values in (("X", X), ("labels", labels), ("sample_weight", sample_weight)):
        refuse_masked(name, values)
    fits = sparse.issparse(X) or isinstance(X, MixedMatrix) or X.flags.c_contiguous
    if X.dtype not in (np.float64, np.float32) or X.ndim != 2 or not fits:
        raise ValueError("X must be a CSR matrix, a C-contiguous array or a MixedMatrix of float32 or float64")
    for name, array, sizes in (("labels", labels, {X.shape[0]}), ("sample_weight", sample_weight, {X.shape[0], 1})):
        if array is not None and (array.shape[0] not in sizes or array.ndim != 1 or array.dtype != np.float64):
            raise ValueError(
                f"{name} must be a float64 array of shape ({X.shape[0]},): found {array.dtype} of shape {array.shape}"
            )
    if X.shape[0] == 0:
        raise ValueError("X has no rows")
    if sample_weight is not None:
        _check_weights(sample_weight)
    # Not every loss notices: the slope of the hinge at a label of NaN is 0.
    bad = ~np.isfinite(labels)
    if sample_weight is not None:
        bad &= sample_weight != 0
    if bad.any():
        raise label_fault(labels, int(np.argmax(bad)))


def _check_weights(sample_weight: NDArray[np.float64]) -> None:
    """Raise for weights that are not finite or negative, and for weights whose products with rows leave the floats."""
    bad = np.flatnonzero(~((sample_weight >= 0) & (sample_weight < np.inf)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {sample_weight[bad[0]]:g}: weights must be finite and 0 or more")
    largest = float(sample_weight.max())
    if largest > _LARGEST_WEIGHT or 0 < largest < 1.0 / _LARGEST_WEIGHT:
        extreme = "large" if largest > 1 else "small"
        raise ValueError(
            f"the sample weights are too {extreme} for floating-point arithmetic: the largest is {largest:.3g}. "
            "Divide all of them by a common factor, for example the largest"
        )


def check_rows(block: Block, rows: NDArray[np.uint64]) -> None:
    """Raise for the first of some rows that cannot be used."""
    for row in rows.tolist():
        check_row(block.rows, row)
        if not np.isfinite(block.labels[row]):
            raise label_fault(block.labels, row)


def label_fault(labels: NDArray[np.float64], row: int) -> BadRowError:
    """The error for a label that is not finite."""
    return BadRowError("the label of ", row, f" is {labels[row]}: impute or drop it before fit")


def shuffled(n_rows: int, rng: np.random.Generator) -> Iterator[Order]:
    """Yield the shuffled row numbers of one pass, a few windows at a time; a full shuffle up to 4096 rows."""
    runs = rng.permutation(-(-n_rows // RUN))
    for first in range(0, runs.size, RUNS_IN_BLOCK):
        bits = rng.integers(0, 1 << 32, size=RUN * RUNS_IN_BLOCK, dtype=np.uint32)
        size = int(np.minimum(RUN, n_rows - RUN * runs[first : first + RUNS_IN_BLOCK]).sum())
        near = runs[first : first + RUNS_IN_BLOCK + RUNS_IN_WINDOW]
        yield Order(size, partial(_shuffle, near, n_rows, bits))


def _shuffle(runs: NDArray[np.int64], n_rows: int, bits: NDArray[np.uint32]) -> tuple[RowNumbers, RowNumbers]:
    """The rows of a block's runs, shuffled within windows, and rows of the window after each."""
    shuffle = interpreted(shuffled_windows) if n_rows <= _FEW_ROWS else shuffled_windows
    rows = np.empty(bits.size, dtype=np.uint64)
    upcoming = np.empty_like(rows)
    filled = shuffle(runs, RUNS_IN_WINDOW, RUN, n_rows, bits, rows, upcoming)
    return rows[:filled], upcoming[:filled]


def in_order(n_rows: int) -> Iterator[Order]:
    """Yield the row numbers of one pass in ascending order."""
    size = RUN * RUNS_IN_BLOCK
    for first in range(0, n_rows, size):
        yield Order.of(np.arange(first, min(first + size, n_rows), dtype=np.uint64))


@final
class InUnits:
    """Scale the rows of blocks."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self._known: tuple[Rows, Rows] | None = None

    def __call__(self, block: Block) -> Block:
        """Return the block with scaled rows. Rows shared by successive blocks are scaled once."""
        if self._known is None or self._known[0] is not block.rows:
            self._known = (block.rows, block.rows.in_units(self.scaling))
        return replace(block, rows=self._known[1])
