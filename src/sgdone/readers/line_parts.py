"""Blocks of lines parsed in several threads, in the order of the files."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from sgdone.readers.line_blocks import LineBlock, line_blocks
from sgdone.readers.row_arrays import LineError, RowArrays
from sgdone.readers.row_places import Numbers, Place, in_file, numbered
from sgdone.readers.table import ReadOptions


def parsed_blocks(
    files: Sequence[ReadOptions], parse: Callable[[LineBlock], RowArrays]
) -> Iterator[tuple[LineBlock, RowArrays, Place]]:
    """The rows of each block of lines of several files, and the places of the rows.

    An error names the first line that is wrong, whatever the number of threads.

    Parameters
    ----------
    files : sequence of ReadOptions
        The files.
    parse : callable
        Reads the rows of a block. It is called in several threads.
    """
    threads = n_threads()
    pool = ThreadPoolExecutor(threads)
    blocks = line_blocks(files)
    waiting = deque[tuple[LineBlock, Future[RowArrays]]]()
    current, lines, n_rows = None, 0, 0
    failure: Exception | None = None
    try:
        more = True
        while more or waiting:
            while more and len(waiting) <= threads:
                try:
                    block = next(blocks)
                except StopIteration:
                    more = False
                except Exception as error:  # after the lines before it, some of which may be wrong
                    more, failure = False, error
                else:
                    waiting.append((block, pool.submit(parse, block)))
            if waiting:
                block, future = waiting.popleft()
                if block.options is not current:
                    current, lines = block.options, 0
                try:
                    rows = future.result()
                except LineError as error:
                    place = f"line {lines + error.line + 1:,}"
                    raise block.options.error(error.problem, place=place) from error
                first = lines + 1
                lines += rows.n_lines
                n_rows += rows.n_rows
                if rows.n_rows:
                    yield block, rows, in_file(block.options.path, numbered("line", _lines(block, rows, first)))
        if failure is not None:
            raise failure
        if n_rows == 0 and not files[0].part_of_table:
            raise files[0].error("contains no rows")
    finally:
        pool.shutdown(cancel_futures=True)
        blocks.close()


def _lines(block: LineBlock, rows: RowArrays, first: int) -> Numbers:
    """The lines of the rows of a block that begins with a given line: all, but for blank ones and comments."""
    if rows.n_rows == rows.n_lines:
        return range(first, first + rows.n_rows)
    texts = block.data[: block.end].tobytes().split(b"\n")
    return np.array([first + at for at, text in enumerate(texts) if text.partition(b"#")[0].strip()], dtype=np.int64)


def n_threads() -> int:
    """Threads that parse: as many as there are processors for this process, at most four."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, 4)
