"""Sources of rows, which yield blocks pass after pass, arrays in memory as a source, and the stream of all passes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.jit import interpreted
from sgdone.kernels.shuffle import shuffled_windows
from sgdone.machine import interruption
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.faults import check_weights, label_fault, refuse_masked
from sgdone.rows.rows import Block, Order, RowNumbers, Rows, Scaling, frozen
from sgdone.rows.validation_rows import FIXED_SEED, ValidationRows

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


class Source(ABC):
    """A place of rows, which yields a `sgdone.rows.rows.Block` at a time, pass after pass.

    Sums over rows read its blocks in order, or ask it for the sum if other processes have the rows.
    """

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
        """The `sgdone.run.result.Traffic` of the last sum, if other processes have the rows."""
        return None

    def keep_sums(self) -> bool:
        """Write the sums so far, from which a run can be resumed; returns whether that was possible."""
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

    def validation_rows(self) -> ValidationRows | None:
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
    """Source for a matrix, its labels and optional sample weights; other options are attributes of `Source`.

    Parameters
    ----------
    X : ndarray, CSR matrix or MixedMatrix of float32 or float64
        C-contiguous if dense. It is neither copied nor modified.
    labels : array of float64
        −1 or 1 for classification, targets for regression.
    sample_weight : array of float64, optional
        Non-negative. Rows of weight 0 are skipped.
    roles : array of int32, optional
        What each column is part of, as in `sgdone.rows.rows.ENTRIES`.

    Examples
    --------
    >>> source = ArraySource(np.eye(3), np.array([1.0, -1.0, 1.0]), shuffle=False)
    >>> [block.order.rows.tolist() for block in source.blocks(np.random.default_rng(0))]
    [[0, 1, 2]]
    """

    in_memory = True

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
        self.rows = Rows.of(X, scaling, feature_names, roles)
        self.is_mixed = self.rows.storage == "mixed"
        self.labels = frozen(labels)
        self.sample_weight = frozen(np.ones(1) if sample_weight is None else sample_weight)
        self.shuffle, self.scaling, self.part_of_stream = shuffle, scaling, part_of_stream
        self.frequency, self.feature_names = frequency, feature_names

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
        check_weights(sample_weight)
    # Not every loss notices: the slope of the hinge at a label of NaN is 0.
    bad = ~np.isfinite(labels)
    if sample_weight is not None:
        bad &= sample_weight != 0
    if bad.any():
        raise label_fault(labels, int(np.argmax(bad)))


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
class HoldOut:
    """Hold out the first rows of a stream as validation rows: their training weight is set to 0."""

    def __init__(self, block: Block, size: int) -> None:
        used = block.used(0, block.order.size)
        if size >= used.size:
            raise ValueError(
                f"a validation set of {size:,} rows leaves no rows for training: the data (or their first block) have "
                f"{used.size:,} rows of positive weight. Give a smaller size"
            )
        self.rows: NDArray[np.uint64] = used[:size]
        self.X: Any = block.rows.matrix(self.rows)
        self.labels = block.labels[self.rows]
        self._of = block.rows
        weights = np.broadcast_to(block.sample_weight, block.labels.shape).copy()
        weights[self.rows] = 0.0
        weights.flags.writeable = False
        self._weights = weights

    def __call__(self, block: Block) -> Block:
        """Return the block without the validation rows, if it belongs to the same matrix."""
        return replace(block, sample_weight=self._weights) if block.rows is self._of else block


@final
class Stream:
    """All passes over a source, block by block; ``rng`` draws the order of the rows, and what is drawn beside it.

    ``begun`` passes with ``rows_read`` rows were those of earlier runs that this one continues.
    """

    def __init__(self, source: Source, rng: np.random.Generator, begun: int = 0, rows_read: int = 0) -> None:
        self.source = source
        # A generator of its own for each use: what is drawn beside it does not change the order of the rows.
        self.rng, self.draws = rng, rng.spawn(1)[0]
        self._blocks: Iterator[Block] = iter(())
        self._waiting: Block | None = None
        self._held_out: HoldOut | None = None
        #: 1 if the first pass that a method makes by itself is the one begun for the current block, already counted.
        self._uncounted = 0
        #: Passes begun, including the pass of the current block.
        self.begun = begun
        self.rows_read = rows_read
        self.position = 0
        #: Blocks taken of the current pass.
        self.blocks_taken = 0
        self.block = Block.without_rows(source.n_features) if source.is_remote else self._next()

    @property
    def n_rows(self) -> int | None:
        """Rows in a pass, if known."""
        return self.source.n_rows

    @property
    def n_used(self) -> int | None:
        """Rows of positive weight in a pass, if known; rows of a source that is not in memory count all."""
        return self.block.n_used if self.source.in_memory else self.n_rows

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows; passes begun if that is not known."""
        return self.rows_read / self.n_rows if self.n_rows else float(self.begun)

    @property
    def in_first_pass(self) -> bool:
        """Whether rows are new, as the rows of a part of a stream always are."""
        return self.source.part_of_stream or self.begun == 1

    @property
    def pass_ended(self) -> bool:
        """Whether the last row read was the last of its pass."""
        return self._waiting is None and self.block_ended

    @property
    def block_ended(self) -> bool:
        """Whether the block is used up."""
        return self.position == self.block.order.size

    def hold_out(self, size: int) -> HoldOut:
        """Keep the first rows from training: they have weight 0 from now on."""
        self._held_out = HoldOut(self.block, size)
        self.block = self._held_out(self.block)
        return self._held_out

    def skip_unused(self) -> None:
        """Move to the first block that has a row of positive weight."""
        while not (self.source.is_remote or self.block.has_used_rows):
            if self._waiting is None:
                raise ValueError("no row has a positive weight: there is nothing to learn from")
            self.rows_read += self.block.order.size
            self.block = self._next()

    def set_aside(self, rows: Rows) -> ValidationRows:
        """Choose validation rows, before any row is read; ``rows`` are those of the block in comparable units.

        They do not depend on the seed: models of all seeds are compared on the same ones. A source that is not in
        memory has chosen them as the rows came, if it can.
        """
        if not self.source.in_memory:
            return self.source.validation_rows() or ValidationRows()
        block = replace(self.block, rows=rows)
        drawn = ValidationRows.drawn(block, self.block.all_used(), np.random.default_rng(FIXED_SEED))
        return replace(drawn, block=self.block)

    def advance(self, position: int, further_reads: int = 0, passes: int = 0) -> NDArray[np.uint64]:
        """Count rows read up to a position, and passes that the method made by itself; the rows just read."""
        # A method that uses no rows of the block, because it makes passes by itself, does not need its order.
        rows = self.block.order.rows[self.position : position] if position > self.position else np.empty(0, np.uint64)
        if passes:
            self.begun += passes - self._uncounted
            self._uncounted = 0
        self.rows_read += position - self.position + further_reads
        self.position = position
        if self.begun == 1 and self.pass_ended and rows.size:
            self.rows_read += self.source.n_held_back
        return rows

    def go_to(
        self, begun: int, blocks_taken: int, rows_read: int, rows: tuple[int, int], position: int | None = None
    ) -> None:
        """Move to a position in the last of ``blocks_taken`` blocks of a pass, or by default to the block after them.

        Another run was there that read the same rows. Those of the first pass are read again without training: what the
        source learns from them is not stored.
        """
        block = self.block
        if begun > 1:
            while self._waiting is not None:
                interruption.check()
                self._next()
            self.source.begin_again_at(begun - 1)
            self.begun = begun - 1
            block = self._next()
        while self.blocks_taken < blocks_taken:
            interruption.check()
            block = self._next()
        if self.source.rows_so_far != rows:
            raise ValueError(
                "the rows differ from those that the checkpoint was written with: start again without resume"
            )
        self.rows_read = rows_read
        self.block, self.position = (self._next(), 0) if position is None else (block, position)

    def begin_own_passes(self) -> None:
        """Add all further passes of a method that makes them by itself to `begun`, including the first one."""
        self._uncounted = 0

    def next_block(self) -> None:
        """Move to the next block, of the next pass if this one has ended."""
        self.block, self.position = self._next(), 0

    def _next(self) -> Block:
        if self._waiting is None:
            self._blocks = iter(self.source.blocks(self.rng))
            self._waiting = next(self._blocks, None)
            self.begun, self.blocks_taken = self.begun + 1, 0
            self._uncounted = 1
        if self._waiting is None:
            raise ValueError("the source has no rows to train on")
        block, self._waiting = self._waiting, next(self._blocks, None)
        self.blocks_taken += 1
        return block if self._held_out is None else self._held_out(block)
