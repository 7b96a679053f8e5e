"""Iteration over the blocks of successive passes."""

from collections.abc import Iterator
from typing import final

import numpy as np

from sgdone.data.preparation import Preparation
from sgdone.data.source import Block, Source


@final
class Passes:
    """Blocks of all passes over a source. One block is read ahead, to know which block ends a pass."""

    def __init__(self, source: Source, rng: np.random.Generator, begun: int = 0) -> None:
        self._source, self._rng = source, rng
        self._blocks: Iterator[Block] = iter(())
        self._waiting: Block | None = None
        #: Number of passes begun, including the pass of the last block.
        self.begun = begun
        self._preparations: list[Preparation] = []
        #: 1 if the pass begun last has not been passed to `count` yet.
        self._fresh = 0

    def prepare(self, block: Block, preparation: Preparation) -> Block:
        """Apply a preparation to the last block and to all later blocks."""
        self._preparations.append(preparation)
        return preparation(block)

    def next(self) -> Block:
        """Return the next block; start a new pass after the last block of a pass."""
        if self._waiting is None:
            self._blocks = iter(self._source.blocks(self._rng))
            self._waiting = next(self._blocks)
            self.begun += 1
            self._fresh = 1
        block, self._waiting = self._waiting, next(self._blocks, None)
        for preparation in self._preparations:
            block = preparation(block)
        return block

    def count(self, passes: int) -> None:
        """Add passes made by the method itself. The first of them is the pass of the last block."""
        if passes:
            self.begun += passes - self._fresh
            self._fresh = 0

    @property
    def ended(self) -> bool:
        """Whether the last block ended its pass."""
        return self._waiting is None
