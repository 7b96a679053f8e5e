"""Blocks of pass after pass, the position in them, and rows set aside for validation."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.machine import interruption
from sgdone.rows.rows import Rows
from sgdone.rows.source import Block, Source
from sgdone.rows.validation_rows import ValidationRows


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
    """All passes over a source, block by block.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    rng : numpy.random.Generator
        Source of all randomness: the order of the rows, and what is drawn beside it.
    begun : int
        Passes begun by earlier runs that this one continues.
    rows_read : int
        Rows read by them.
    """

    def __init__(self, source: Source, rng: np.random.Generator, begun: int = 0, rows_read: int = 0) -> None:
        self.source = source
        # A generator of its own for each use: drawing validation rows does not change the order of the rows.
        self._order, self.draws = rng, rng.spawn(1)[0]
        self._blocks: Iterator[Block] = iter(())
        self._waiting: Block | None = None
        self._held_out: HoldOut | None = None
        #: 1 if the pass begun last has not been counted by a method that makes passes by itself.
        self._uncounted = 0
        #: Passes begun, that of the current block included.
        self.begun = begun
        self.rows_read = rows_read
        self.position = 0
        #: Blocks taken of the current pass.
        self.blocks_taken = 0
        self._unread = np.ones(0, dtype=bool)
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
        """Whether rows are new: those of a part of a stream always are."""
        return self.source.part_of_stream or self.begun == 1

    @property
    def pass_ended(self) -> bool:
        """Whether the last row read was the last of its pass."""
        return self._waiting is None and self.position == self.block.order.size

    @property
    def block_ended(self) -> bool:
        """Whether the block is used up."""
        return self.position == self.block.order.size

    def hold_out(self, size: int) -> HoldOut:
        """Keep the first rows from training for good; they have weight 0 from now on."""
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
        """Draw validation rows among the rows not read yet; ``rows`` are those of the block in comparable units.

        A source that is not in memory has chosen them as the rows came, if it can.
        """
        if not self.source.in_memory:
            return self.source.validation_rows() or ValidationRows()
        block = replace(self.block, rows=rows)
        unread = self._unread if self._unread.size else np.ones(rows.n_rows, dtype=bool)
        if self.block.sample_weight.size > 1:
            unread = unread & (self.block.sample_weight != 0)
        self._unread = np.ones(0, dtype=bool)
        drawn = ValidationRows.drawn(block, np.flatnonzero(unread).view(np.uint64), self.draws)
        return replace(drawn, block=self.block)

    def advance(self, position: int, further_reads: int = 0, passes: int = 0) -> NDArray[np.uint64]:
        """Count rows read up to a position, and passes that the method made by itself; the rows just read."""
        # A method that uses no rows of the block, because it makes passes by itself, does not need its order.
        rows = self.block.order.rows[self.position : position] if position > self.position else np.empty(0, np.uint64)
        if passes:
            self.begun += passes - self._uncounted
            self._uncounted = 0
        if self._unread.size:
            self._unread[rows] = False
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

    def count_readings(self) -> None:
        """Count the passes that a method makes by itself from now on beside those begun so far."""
        self._uncounted = 0

    def remember_unread(self) -> None:
        """Keep track of which rows were read, so that validation rows can be drawn among the others."""
        if self.source.in_memory:
            self._unread = np.ones(self.block.rows.n_rows, dtype=bool)

    def next_block(self) -> None:
        """Move to the next block, of the next pass if this one has ended."""
        self.block, self.position = self._next(), 0

    def _next(self) -> Block:
        if self._waiting is None:
            self._blocks = iter(self.source.blocks(self._order))
            self._waiting = next(self._blocks, None)
            self.begun, self.blocks_taken = self.begun + 1, 0
            self._uncounted = 1
        if self._waiting is None:
            raise ValueError("the source has no rows to train on")
        block, self._waiting = self._waiting, next(self._blocks, None)
        self.blocks_taken += 1
        return block if self._held_out is None else self._held_out(block)
