"""Where levels are in a dictionary, found by their hashes."""

from typing import Any, final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.kernels.words import make_hash_texts
from sgdone.tables.arrow_arrays import numpy_of
from sgdone.tables.string_cells import utf8


@final
class LevelIndex:
    """A dictionary of levels that is made once, for rows that have few of them.

    Arrow's look-up reads all levels of the dictionary: for one row and 100,000 levels that is all the time of a
    prediction.

    Parameters
    ----------
    known : pyarrow.LargeStringArray
        Levels, each once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> LevelIndex(pa.array(["b", "a"], pa.large_string())).positions(pa.array(["a", "x"], pa.large_string()))
    array([ 1, -1])
    """

    def __init__(self, known: Any) -> None:
        self.known = known
        hashes = hashes_of(known)
        self._places = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._places]
        self._is_unique = not np.any(self._hashes[1:] == self._hashes[:-1])

    def positions(self, levels: Any) -> NDArray[np.int64]:
        """Where each level is in the dictionary; −1 if it is not."""
        if not (self._is_unique and self._hashes.size):
            return positions(levels, self.known)
        asked = hashes_of(levels)
        at = np.minimum(np.searchsorted(self._hashes, asked), self._hashes.size - 1)
        # Another level may have the same hash.
        same: NDArray[np.bool_] = numpy_of(pc.equal(self.known.take(self._places[at]), levels))
        return np.where(same, self._places[at], -1)


def positions(levels: Any, known: Any) -> NDArray[np.int64]:
    """Where each level is in the dictionary ``known``; −1 if it is not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> positions(pa.array(["b", "x"], pa.large_string()), pa.array(["a", "b"], pa.large_string()))
    array([ 1, -1])
    """
    found: NDArray[np.int64] = numpy_of(pc.index_in(levels, value_set=known).fill_null(-1)).astype(np.int64)
    return found


def hashes_of(levels: Any) -> NDArray[np.uint64]:
    """A hash of each string."""
    hashes = np.empty(len(levels), dtype=np.uint64)
    make_hash_texts("uint8 int64")(*utf8(levels), hashes)
    return hashes
