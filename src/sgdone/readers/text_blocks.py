"""Text of a file in blocks of whole rows, each with the number of its first line."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.machine.memory import size_text
from sgdone.readers.table import ReadOptions

#: Bytes of text, decompressed, that decide the types of the columns of files that are read in parts.
HEAD = 2**26
#: Bytes of a block. Arrow parses several pieces of it at the same time.
BLOCK = 2**23
#: Bytes of the longest row; a longer one is a file whose quotes are not closed.
LONGEST_ROW = 2**26
#: The longest line of a piece, in bytes, times the number of its lines.
_LONGEST_TIMES_LINES = 2**27
#: What a file in UTF-8 may begin with.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'


class TextBlock(NamedTuple):
    """Whole rows of a file, the number of the line that they begin with, and how many line feeds they have."""

    text: bytes
    line: int
    n_lines: int


def whole_rows(
    stream: IO[bytes], start: bytes, separator: str | None, options: ReadOptions, *, size: int
) -> Iterator[TextBlock]:
    """Cut a text into blocks of about ``size`` bytes that end where rows end.

    ``start`` has been read from the stream. Line breaks in quoted cells do not end rows; without a ``separator`` of
    cells each line is a row.
    """
    text, line = start.removeprefix(BYTE_ORDER_MARK), 1
    piece = start
    while piece:
        end, _ = _last_row_end(text, separator)
        if end:
            block = TextBlock(text[:end], line, text.count(b"\n", 0, end))
            yield block
            line += block.n_lines
            text = text[end:]
        elif len(text) > LONGEST_ROW:
            raise options.error(
                f'the row is longer than {size_text(LONGEST_ROW)}: is a quote (") not closed?', place=f"line {line:,}"
            )
        piece = stream.read(max(size, len(text)))
        text += piece
    if text:
        _, opening = _last_row_end(text, separator)
        if opening is not None:
            where = line + text.count(b"\n", 0, opening)
            raise options.error('a quote (") is not closed: correct the line', place=f"line {where:,}")
        yield TextBlock(text, line, text.count(b"\n"))


def first_blocks(blocks: Iterator[Any]) -> list[Any]:
    """The blocks of the first `HEAD` bytes, which decide the types of columns."""
    head, size = list[Any](), 0
    for rows in blocks:
        head.append(rows)
        size += len(rows.block.text)
        if size >= HEAD:
            break
    return head


def drained(items: list[Any]) -> Iterator[Any]:
    """The items of a list, each of which can go when it has been used."""
    items.reverse()
    while items:
        yield items.pop()


def pieces_of(block: TextBlock, most_lines: Callable[[], int]) -> Iterator[TextBlock]:
    """Cut a block of lines into pieces of at most ``most_lines()`` lines.

    A line that is much longer than others is in a piece of few lines: what it has, the others may lack, and a table of
    them would be large.
    """
    text = block.text
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _LINE_FEED) + 1
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    begins = np.append(0, ends[:-1])
    first = 0
    while first < ends.size:
        lines = slice(first, first + max(1, most_lines()))
        longest = np.maximum.accumulate(ends[lines] - begins[lines])
        fits = longest * np.arange(1, longest.size + 1) <= _LONGEST_TIMES_LINES
        last = first + max(1, longest.size if fits.all() else int(np.argmin(fits)))
        piece = text[begins[first] : ends[last - 1]]
        yield TextBlock(piece, block.line + first, piece.count(b"\n"))
        first = last


def row_lines(block: TextBlock, n_rows: int, separator: str | None) -> range | NDArray[np.int64] | None:
    """The lines at which the rows of a block begin; None if they are not as many as it has rows.

    Without a ``separator`` of cells each line is a row; otherwise line breaks in quoted cells do not end rows.
    """
    text = block.text
    if n_rows == block.n_lines + (not text.endswith(b"\n")):
        return range(block.line, block.line + n_rows)
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _LINE_FEED)
    starts, lines = np.append(0, ends + 1), block.line + np.arange(ends.size + 1)
    lengths = np.append(ends, len(text)) - starts
    is_row = lengths > 0
    if separator is None:  # of blanks
        is_row &= [bool(text[start : start + length].strip()) for start, length in zip(starts, lengths, strict=True)]
    elif b'"' in text:
        begins, cell_ends = _quoted(text, separator)
        cell = np.searchsorted(begins, starts - 1) - 1  # the last quoted cell that begins before the line break
        is_row &= (cell < 0) | (starts - 1 >= cell_ends[np.maximum(cell, 0)])
    if separator is not None:
        is_row &= ~((lengths == 1) & (np.frombuffer(text + b"\0", dtype=np.uint8)[starts] == _RETURN))
    found = lines[is_row]
    return found if found.size == n_rows else None


def _last_row_end(text: bytes, separator: str | None) -> tuple[int, int | None]:
    """Where the last row ends that ends in a text, 0 if none does; and where a quote opens that is not closed."""
    if separator is None or b'"' not in text:
        return text.rfind(b"\n") + 1, None
    begins, ends = _quoted(text, separator)
    at = text.rfind(b"\n")
    while at >= 0:
        cell = int(np.searchsorted(begins, at)) - 1
        if cell < 0 or at >= ends[cell]:
            break
        at = text.rfind(b"\n", 0, int(begins[cell]))
    opening = int(begins[-1]) if len(begins) and ends[-1] > len(text) else None
    return at + 1, opening


def _quoted(text: bytes, separator: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where quoted cells begin and end; one that is not closed ends beyond the text.

    A quote opens a cell where the cell begins, and is a character like others elsewhere. If all stand where they open
    or close cells, or are doubled, then every other one opens; this is seen without a look at each of them.
    """
    data = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    marks = np.zeros(256, dtype=bool)
    marks[[*separator.encode(), _LINE_FEED, _RETURN, _QUOTE]] = True
    before = data[opening[opening > 0] - 1]
    after = data[closing[closing < len(text) - 1] + 1]
    if marks[before].all() and marks[after].all():
        is_open = len(opening) > len(closing)
        return opening, np.append(closing, len(text)) + 1 if is_open else closing + 1
    spans = [match.span(1) for match in _quoted_cells(separator).finditer(text)]
    begins, ends = np.array(spans, dtype=np.intp).reshape(-1, 2).T
    is_closed = (ends > begins + 1) & (data[ends - 1] == _QUOTE)
    return begins, np.where(is_closed, ends, len(text) + 1)


@lru_cache
def _quoted_cells(separator: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?:\A|[\n\r" + re.escape(separator.encode()) + rb'])("[^"]*(?:""[^"]*)*(?:"|\Z))')
