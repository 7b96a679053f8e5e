"""What is done to every block before it is used: rows held out, units changed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Rows, Scaling
from sgdone.data.source import Block

Preparation = Callable[[Block], Block]


@final
class InUnits:
    """Blocks with their rows in other units."""

    def __init__(self, scaling: Scaling) -> None:
        self._scaling = scaling
        self._known: tuple[Rows, Rows] | None = None

    def __call__(self, block: Block) -> Block:
        """The block in those units; rows that many blocks share are turned once."""
        if self._known is None or self._known[0] is not block.rows:
            self._known = (block.rows, block.rows.in_units(self._scaling))
        return replace(block, rows=self._known[1])


@final
class HoldOut:
    """The first rows of a stream, kept for looking at and never learnt from: their weight becomes 0."""

    def __init__(self, block: Block, size: int) -> None:
        used = block.used(0, block.order.size)
        if size >= used.size:
            raise ValueError(
                f"a validation set of {size:,} rows leaves none to learn from: the data (or their first block) hold "
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
        """The block without those rows, if it is of the same matrix."""
        return replace(block, sample_weight=self._weights) if block.rows is self._of else block
