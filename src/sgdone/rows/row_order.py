"""The order of rows in a pass.

Reading rows in random order costs twice the memory traffic of reading them in sequence. Here the rows are shuffled in
windows of 16 runs of 256 consecutive rows. The runs are drawn at random, and the rows are permuted within a window.
This is nearly as fast as sequential reading and, on data sorted by class, as good as a full shuffle.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.jit import interpreted
from sgdone.kernels.shuffle import shuffled_windows

RUN = 256
RUNS_IN_WINDOW = 16
RUNS_IN_BLOCK = 4 * RUNS_IN_WINDOW
#: Rows up to which plain Python shuffles in less time than Numba takes to be imported.
_FEW_ROWS = 1024


class Order(NamedTuple):
    """Row numbers of a block in the order of use, and rows of the next window to prefetch, in memory order."""

    rows: NDArray[np.uint64]
    upcoming: NDArray[np.uint64]


def shuffled(n_rows: int, rng: np.random.Generator) -> Iterator[Order]:
    """Yield the shuffled row numbers of one pass, a few windows at a time; a full shuffle up to 4096 rows."""
    shuffle = interpreted(shuffled_windows) if n_rows <= _FEW_ROWS else shuffled_windows
    runs = rng.permutation(-(-n_rows // RUN))
    for first in range(0, runs.size, RUNS_IN_BLOCK):
        rows = np.empty(RUN * RUNS_IN_BLOCK, dtype=np.uint64)
        upcoming = np.empty_like(rows)
        bits = rng.integers(0, 1 << 32, size=rows.size, dtype=np.uint32)
        near = runs[first : first + RUNS_IN_BLOCK + RUNS_IN_WINDOW]
        filled = shuffle(near, RUNS_IN_WINDOW, RUN, n_rows, bits, rows, upcoming)
        yield Order(rows[:filled], upcoming[:filled])


def in_order(n_rows: int) -> Iterator[Order]:
    """Yield the row numbers of one pass in ascending order."""
    size = RUN * RUNS_IN_BLOCK
    for first in range(0, n_rows, size):
        rows = np.arange(first, min(first + size, n_rows), dtype=np.uint64)
        yield Order(rows, rows)
