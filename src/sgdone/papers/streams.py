"""Generated rows as a source."""

from collections.abc import Callable, Iterator
from typing import final

import numpy as np

from sgdone.papers.tables import Array, Points
from sgdone.rows.rows import Block, Rows
from sgdone.rows.source import Source

#: Draws that number of rows, and their labels or responses.
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]

_ROWS_IN_BLOCK = 1024


@final
class GeneratedStream(Source):
    """Rows drawn as they are needed, without end or up to the last of ``ends``.

    Parameters
    ----------
    n_features : int
        Entries of a row.
    draw : callable
        Draws a number of rows and their labels.
    ends : array of int, optional
        Numbers of rows, rising, at which a block ends; the last one ends the pass.

    Examples
    --------
    >>> stream = GeneratedStream(1, lambda rng, n_rows: (rng.random((n_rows, 1)), np.ones(n_rows)), np.array([2, 5]))
    >>> [block.labels.size for block in stream.blocks(np.random.default_rng(0))]
    [2, 3]
    """

    def __init__(self, n_features: int, draw: Draw, ends: Points | None = None) -> None:
        self._n_features, self._draw, self._ends = n_features, draw, ends

    @property
    def n_features(self) -> int:
        """Entries of a row."""
        return self._n_features

    @property
    def n_rows(self) -> int | None:
        """Rows of a pass; ``None`` if it never ends."""
        return None if self._ends is None else int(self._ends[-1])

    def arrays(self, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
        """Rows and labels of one pass, block by block."""
        while self._ends is None:
            yield self._draw(rng, _ROWS_IN_BLOCK)
        drawn = 0
        for end in self._ends.tolist():
            while drawn < end:
                X, y = self._draw(rng, min(_ROWS_IN_BLOCK, end - drawn))
                drawn += len(y)
                yield X, y

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """One pass."""
        for X, y in self.arrays(rng):
            yield Block.of(Rows.of(X), y, None)
