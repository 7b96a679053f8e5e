"""Inner products of successive sparse rows in as many operations as they have entries.

The last row is kept by value, and for every feature the number of the entry that last spoke of it, entries being
counted from the first row on: a number within the last row's range says where in the last row the feature stands.
Nothing needs clearing, and no two rows need be in the same matrix.

``memory`` holds the numbers (``marks``, one a feature), the values of the last two rows, and in ``place`` the number
at which the last row begins, its length, and which of the two it is.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import inlined

#: A mark that no row has made: as far as can be from every number.
UNSEEN: Final = np.uint32(0xFFFFFFFF)
_LARGEST: Final = np.uint32(0x80000000)


def make_memory(n_features: int) -> tuple[Any, ...]:
    """A place for rows of so many features, with none in it."""
    return np.full(n_features, UNSEEN), np.zeros((2, n_features + 1)), np.zeros(3, dtype=np.uint32)


@inlined
def swap(memory: Any, length: Any) -> Any:
    """Make room for a row; returns where it is to be put and where the last one is, with its beginning and length."""
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
