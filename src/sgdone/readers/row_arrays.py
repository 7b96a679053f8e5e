"""Arrays that a compiled loop fills with the rows of a block of lines, and the lines that it leaves to Python."""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.svmlight_text import AT, DOUBTFUL, ENTRIES, FULL, LINES, ROWS
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.readers.line_blocks import LineBlock

#: First guess at the bytes of a row and of an entry. Memory that is not written to costs nothing.
_ROW_BYTES, _ENTRY_BYTES = 64, 10


class LineError(Exception):
    """What is wrong with a line, and its number in its block."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem, self.line = problem, line


@final
class RowArrays:
    """The rows of a block: arrays with one item a row, and arrays with one item an entry, by name.

    Parameters
    ----------
    n_bytes : int
        Size of the block.
    rows, entries : mapping of str to dtype
        The names and types of the arrays.
    arrays : ReusedArrays
        Makes them.
    """

    def __init__(self, n_bytes: int, rows: Mapping[str, Any], entries: Mapping[str, Any], arrays: ReusedArrays) -> None:
        n_rows, n_entries = n_bytes // _ROW_BYTES + 16, n_bytes // _ENTRY_BYTES + 16
        self.rows = {name: np.empty(n_rows, dtype=dtype) for name, dtype in rows.items()}
        self.entries = {name: arrays.empty(n_entries, dtype) for name, dtype in entries.items()}
        self.indptr: NDArray[np.int32] = np.zeros(n_rows + 1, dtype=np.int32)
        #: The position in the block, and the numbers of rows, entries and lines.
        self.progress = np.zeros(4, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return int(self.progress[ROWS])

    @property
    def n_entries(self) -> int:
        """Number of entries so far."""
        return int(self.progress[ENTRIES])

    @property
    def n_lines(self) -> int:
        """Number of lines so far, blank lines and comments included."""
        return int(self.progress[LINES])

    def fill(self, block: LineBlock, loop: Callable[[Any, Any], int], rewritten: Callable[[bytes], bytes]) -> None:
        """Read all lines of a block.

        Parameters
        ----------
        block : LineBlock
            The lines.
        loop : callable
            Reads lines from ``progress`` on to an end, given the bytes and the end, and returns why it stopped.
        rewritten : callable
            Writes a line that the loop cannot read in a way that it can, or raises ValueError with what is wrong.
        """
        while self._run(block, block.end, loop) == DOUBTFUL:
            at = int(self.progress[AT])
            line = block.line(at)
            try:
                first, last = block.add(rewritten(line))
            except ValueError as error:
                raise LineError(str(error), self.n_lines) from error
            self.progress[AT] = first
            if self._run(block, last, loop) == DOUBTFUL:
                raise LineError("cannot be read", self.n_lines)
            self.progress[AT] = at + len(line)

    def _run(self, block: LineBlock, end: int, loop: Callable[[Any, Any], int]) -> int:
        while True:
            stopped = loop(block.data, np.uint64(end))
            if stopped != FULL:
                return stopped
            if self.n_rows == self.indptr.size - 1:
                self.rows = {name: _doubled(array) for name, array in self.rows.items()}
                self.indptr = np.concatenate([self.indptr, np.zeros(self.indptr.size - 1, dtype=np.int32)])
            else:
                self.entries = {name: _doubled(array) for name, array in self.entries.items()}


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty(2 * array.size, dtype=array.dtype)
    larger[: array.size] = array
    return larger
