"""The order of rows in a pass.

A random order costs twice a sequential one in memory traffic. Windows of 16 runs of 256 neighbouring rows, the
runs drawn at random and the rows permuted within the window, are nearly as fast as reading in order and, on
data sorted by class, as good as a full shuffle.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.shuffle import shuffled_windows

RUN = 256
RUNS_IN_WINDOW = 16
RUNS_IN_BLOCK = 4 * RUNS_IN_WINDOW


class Order(NamedTuple):
    """Rows of a block in the order of their use, and for each a row of the next window, in the order of memory."""

    rows: NDArray[np.uint64]
    upcoming: NDArray[np.uint64]


def shuffled(n_rows: int, rng: np.random.Generator) -> Iterator[Order]:
    """Row numbers of one pass, a few windows at a time; up to 4096 rows this is a full shuffle."""
    runs = rng.permutation(-(-n_rows // RUN))
    for first in range(0, runs.size, RUNS_IN_BLOCK):
        rows = np.empty(RUN * RUNS_IN_BLOCK, dtype=np.uint64)
        upcoming = np.empty_like(rows)
        bits = rng.integers(0, 1 << 32, size=rows.size, dtype=np.uint32)
        near = runs[first : first + RUNS_IN_BLOCK + RUNS_IN_WINDOW]
        filled = shuffled_windows(near, RUNS_IN_WINDOW, RUN, n_rows, bits, rows, upcoming)
        yield Order(rows[:filled], upcoming[:filled])


def in_order(n_rows: int) -> Iterator[Order]:
    """Row numbers of one pass from first to last."""
    size = RUN * RUNS_IN_BLOCK
    for first in range(0, n_rows, size):
        rows = np.arange(first, min(first + size, n_rows), dtype=np.uint64)
        yield Order(rows, rows)
