"""Inner products of successive sparse rows, at a cost proportional to their number of entries.

Entries are numbered from the first row on. For every feature the number of its latest entry is kept: if it is within
the range of the last row, it gives the feature's place in that row. Nothing needs clearing, and two successive rows may
be in different matrices.

``memory`` is these numbers (``marks``, one per feature), the values of the last two rows, and in ``place`` the number
of the last row's first entry, its length, and which of the two it is.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import inlined

#: A mark that no row has made: as far as can be from every number.
UNSEEN: Final = np.uint32(0xFFFFFFFF)
_LARGEST: Final = np.uint32(0x80000000)


def make_memory(n_features: int) -> tuple[Any, ...]:
    """The memory before the first row of ``n_features`` features."""
    return np.full(n_features, UNSEEN), np.zeros((2, n_features + 1)), np.zeros(3, dtype=np.uint32)


@inlined
def swap(memory: Any, length: Any) -> Any:
    """Make room for a row. Returns its array and first number, and those of the last row with its length."""
    marks = memory[0]
    values = memory[1]
    place = memory[2]
    begin = place[0]
    last_length = place[1]
    last = values[place[2]]
    if begin > _LARGEST:
        for j in range(marks.size):
            offset = np.uint32(marks[j] - begin)
            marks[j] = offset if offset < last_length else UNSEEN
        begin = np.uint32(0)
    place[0] = np.uint32(begin + last_length)
    place[1] = np.uint32(length)
    place[2] = np.uint32(1) - place[2]
    values[place[2], length] = 0.0
    return values[place[2]], place[0], last, begin, last_length
