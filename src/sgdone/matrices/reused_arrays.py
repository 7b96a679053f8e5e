"""Arrays whose memory is used again once nobody has them any more."""

import sys
import threading
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Arrays below this size are left to the allocator, which keeps their memory by itself.
_SMALL = 1 << 20
#: Arrays that are kept although they are free.
_MOST_FREE = 64
#: References to an array that nobody else has: that of the list, and that of the count itself.
_OWN = 2


@final
class ReusedArrays:
    """Large arrays that are needed again and again, a few at a time.

    The system clears new memory before a process may use it, which takes as long as filling it. An array made here is a
    view of memory that is kept, and given out again when no view of it is left.

    Examples
    --------
    >>> arrays = ReusedArrays()
    >>> first = arrays.empty(1 << 18, np.float64)
    >>> address = first.ctypes.data
    >>> arrays.empty(1 << 18, np.float64).ctypes.data == address
    False
    >>> del first
    >>> arrays.empty(1 << 18, np.float64).ctypes.data == address
    True
    """

    def __init__(self) -> None:
        self._kept: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def empty(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of one dimension, with any contents."""
        n_bytes = size * np.dtype(dtype).itemsize
        if n_bytes < _SMALL:
            return np.empty(size, dtype=dtype)
        with self._lock:
            return self._memory(n_bytes)[:n_bytes].view(dtype)

    def made(self, array: NDArray[Any]) -> bool:
        """Whether an array lies in memory that was given out here."""
        return any(array.base is kept for kept in self._kept)

    def _memory(self, n_bytes: int) -> NDArray[np.uint8]:
        """Memory that is free, and at most twice as much as is needed; others that are free are given up if many."""
        found, free = None, list[int]()
        for place in range(len(self._kept)):
            if sys.getrefcount(self._kept[place]) == _OWN:
                if found is None and n_bytes <= self._kept[place].size <= 2 * n_bytes:
                    found = place
                else:
                    free.append(place)
        made = np.empty(n_bytes + n_bytes // 8, dtype=np.uint8) if found is None else self._kept[found]
        for place in free[_MOST_FREE:][::-1]:
            del self._kept[place]
        if found is None:
            self._kept.append(made)
        return made
