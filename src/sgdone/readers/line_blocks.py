"""Text files in blocks of whole lines, a few megabytes each."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.machine_words import PADDING
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.readers.compressed_files import opened
from sgdone.readers.table import ReadOptions

#: Bytes of a block; more only if a line is longer.
BLOCK = 1 << 22
#: Bytes of memory per byte of a line that is longer than a block: copies, its numbers, and its text if it is wrong.
_LONG_LINE = 16
_NEWLINE = 10


@final
@dataclass(eq=False)
class LineBlock:
    """Whole lines of a file.

    Attributes
    ----------
    options : ReadOptions
        Those of the file.
    data : ndarray of uint8
        The lines, and at least `PADDING` zeros.
    end : int
        Number of bytes of the lines, the last of which is a newline.
    used : int
        Number of bytes that are in use, with the lines that were added.
    """

    options: ReadOptions
    data: NDArray[np.uint8]
    end: int
    used: int

    def line(self, at: int) -> bytes:
        """The line that begins at a position, with its newline."""
        size = 1 << 10
        while True:
            piece = self.data[at : min(at + size, self.end)].tobytes()
            end = piece.find(b"\n")
            if end >= 0:
                return piece[: end + 1]
            size *= 8

    def add(self, line: bytes) -> tuple[int, int]:
        """Add a line after the others; returns where it begins and ends."""
        first, last = self.used, self.used + len(line) + 1
        if last + PADDING > self.data.size:
            self.data = _enlarged(self.data, 2 * last + PADDING)
        self.data[first : last - 1] = np.frombuffer(line, dtype=np.uint8)
        self.data[last - 1] = _NEWLINE
        self.data[last : last + PADDING] = 0
        self.used = last
        return first, last


def line_blocks(files: Sequence[ReadOptions]) -> Generator[LineBlock, None, None]:
    """The lines of several files, in blocks; a block is of one file."""
    for options in files:
        with opened(options.path, options.on_bytes) as stream:
            for data, end in _blocks(stream, options):
                yield LineBlock(options, data, end, end)


def _blocks(stream: IO[bytes], options: ReadOptions) -> Iterator[tuple[NDArray[np.uint8], int]]:
    budget, arrays = options.budget(), ReusedArrays()
    data, filled = _room(BLOCK, arrays), 0
    while True:
        read = _fill(stream, data, filled)
        if read == 0:
            break
        end = _last_newline(data, filled, filled + read) + 1
        filled += read
        if end == 0:
            budget.check(_LONG_LINE * filled, f"the {filled:,} bytes of a line")
            if filled == data.size - 1 - PADDING:
                data = _enlarged(data, 4 * data.size)
            continue
        following = _room(max(BLOCK, 2 * (filled - end)), arrays)
        following[: filled - end] = data[end:filled]
        yield _padded(data, end), end
        data, filled = following, filled - end
    if filled:
        data[filled] = _NEWLINE
        yield _padded(data, filled + 1), filled + 1


def _room(size: int, arrays: ReusedArrays) -> NDArray[np.uint8]:
    # One byte for a newline that the file's last line may lack.
    return arrays.empty(size + 1 + PADDING, np.uint8)


def _padded(data: NDArray[np.uint8], end: int) -> NDArray[np.uint8]:
    data[end : end + PADDING] = 0
    return data


def _enlarged(data: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    larger = _room(size, ReusedArrays())
    larger[: data.size] = data
    return larger


def _fill(stream: Any, data: Any, filled: int) -> int:
    """Read until a block is full or the file ends; returns the number of bytes."""
    room = memoryview(data)[filled : data.size - 1 - PADDING]
    total = 0
    while total < len(room):
        read = stream.readinto(room[total:])
        if not read:
            break
        total += read
    return total


def _last_newline(data: NDArray[np.uint8], first: int, last: int) -> int:
    """Position of the last newline, or -1."""
    size = 1 << 12
    while last > first:
        start = max(first, last - size)
        found = data[start:last].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found
        last, size = start, 8 * size
    return -1
