"""Blocks of pass after pass."""

from collections.abc import Iterator
from typing import final

import numpy as np

from sgdone.data.preparation import Preparation
from sgdone.data.source import Block, Source


@final
class Passes:
    """All passes over a source, block by block, with a look ahead to know which block ends its pass."""

    def __init__(self, source: Source, rng: np.random.Generator, begun: int = 0) -> None:
        self._source, self._rng = source, rng
        self._blocks: Iterator[Block] = iter(())
        self._waiting: Block | None = None
        #: Passes begun, that of the last block included.
        self.begun = begun
        self._preparations: list[Preparation] = []
        #: 1 if the pass begun last has not been counted by a method that makes passes by itself.
        self._fresh = 0

    def prepare(self, block: Block, preparation: Preparation) -> Block:
        """Prepare the last block, and from now on every other, in this way too."""
        self._preparations.append(preparation)
        return preparation(block)

    def next(self) -> Block:
        """The next block."""
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
        """Count the passes that a method has made by itself, the first of them being that of the last block."""
        if passes:
            self.begun += passes - self._fresh
            self._fresh = 0

    @property
    def ended(self) -> bool:
        """Whether the last block ended its pass."""
        return self._waiting is None
