"""Lines with a row of numbers each, parsed by compiled loops in several threads: svmlight and Vowpal Wabbit."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.instructions import PADDING
from sgdone.kernels.svmlight_text import AT, DOUBTFUL, ENTRIES, FULL, LINES, ROWS
from sgdone.machine.threads import mapped, n_threads
from sgdone.matrices.csr import csr_of
from sgdone.matrices.stacking import ReusedArrays
from sgdone.message_text import counted
from sgdone.readers.byte_streams import opened
from sgdone.readers.locations import Numbers, Place, in_file, numbered
from sgdone.readers.table import ReadOptions, Table, concatenated

#: Bytes of a block; more only if a line is longer.
BLOCK = 1 << 22
#: Bytes of memory per byte of a line that is longer than a block: copies, its numbers, and its text if it is wrong.
_LONG_LINE = 16
_NEWLINE = 10


@final
@dataclass(eq=False)
class LineBlock:
    """Whole lines of a file up to ``end``, lines that were added up to ``used``, and at least `PADDING` zeros."""

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
            self.data = _enlarged(self.data, 2 * (last + PADDING))
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


def _enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.empty(size, dtype=array.dtype)
    larger[: array.size] = array
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


#: First guess at the bytes of a row and of an entry. Memory that is not written to costs nothing.
_ROW_BYTES, _ENTRY_BYTES = 64, 10


class LineError(Exception):
    """Problem of a line, and its number in its block."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem, self.line = problem, line


@final
class RowArrays:
    """The rows of a block of ``n_bytes``: arrays with one item a row, and arrays with one item an entry, by name."""

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

        ``loop`` reads from ``progress`` on to an end, given the bytes and the end, and returns why it stopped.
        ``rewritten`` writes a line that it cannot read in a way that it can, or raises ValueError with what is wrong.
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
                self.rows = {name: _enlarged(array, 2 * array.size) for name, array in self.rows.items()}
                self.indptr = np.concatenate([self.indptr, np.zeros(self.indptr.size - 1, dtype=np.int32)])
            else:
                self.entries = {name: _enlarged(array, 2 * array.size) for name, array in self.entries.items()}


def parsed_blocks(
    files: Sequence[ReadOptions], parse: Callable[[LineBlock], RowArrays]
) -> Iterator[tuple[LineBlock, RowArrays, Place]]:
    """The rows of each block of lines of several files, and their places; ``parse`` is called in several threads.

    An error names the first line that is wrong, whatever the number of threads.
    """
    failures = list[Exception]()

    def blocks() -> Iterator[LineBlock]:
        try:
            yield from line_blocks(files)
        except Exception as error:  # raised after the lines before it, some of which may be wrong
            failures.append(error)

    def parsed(block: LineBlock) -> tuple[LineBlock, RowArrays | LineError]:
        try:
            return block, parse(block)
        except LineError as error:
            return block, error

    current, lines, n_rows = None, 0, 0
    for block, rows in mapped(parsed, blocks(), max(2, n_threads())):  # of two threads one reads the file
        if block.options is not current:
            current, lines = block.options, 0
        if isinstance(rows, LineError):
            raise block.options.error(rows.problem, place=f"line {lines + rows.line + 1:,}") from rows
        first = lines + 1
        lines += rows.n_lines
        n_rows += rows.n_rows
        if rows.n_rows:
            yield block, rows, in_file(block.options.path, numbered("line", _lines(block, rows, first)))
    if failures:
        raise failures[0]
    if n_rows == 0 and not files[0].part_of_table:
        raise files[0].error("contains no rows")


def _lines(block: LineBlock, rows: RowArrays, first: int) -> Numbers:
    """The lines of the rows of a block that begins with a given line: all, but for blank ones and comments."""
    if rows.n_rows == rows.n_lines:
        return range(first, first + rows.n_rows)
    texts = block.data[: block.end].tobytes().split(b"\n")
    return np.array([first + at for at, text in enumerate(texts) if text.partition(b"#")[0].strip()], dtype=np.int64)


def with_index_type(X: Any) -> Any:
    """A CSR matrix with indices of 32 bits, if they suffice."""
    index = np.int32 if max(X.nnz, X.shape[1]) <= np.iinfo(np.int32).max else np.int64
    return csr_of(X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False), X.shape)


#: Bytes per entry and per row: those of the parts, and those of the whole.
_ENTRY, _ROW = 24, 24


def joined(options: ReadOptions, parts: Iterator[Table]) -> Table:
    """The rows of all parts of a file in one table; raises before they outgrow the memory.

    The matrices are CSR, and the widest one is as wide as the result.
    """
    budget = options.budget()
    tables: list[Table] = []
    rows = entries = 0
    for part in parts:
        rows += part.X.shape[0]
        entries += part.X.nnz
        budget.check(_ENTRY * entries + _ROW * rows, f"{counted(rows, 'row')} and {entries:,} values so far")
        tables.append(part)
    return replace(concatenated(tables), place=None)
