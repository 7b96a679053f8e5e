"""Preparations applied to every block before use: scaling, and holding out validation rows."""

from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.rows.rows import Rows, Scaling
from sgdone.rows.source import Block


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
