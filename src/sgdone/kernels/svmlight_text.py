"""Lines of svmlight text as rows of a CSR matrix.

The loop reads what is common and stops at everything else: a line that is wrong, or right in a rare way. The caller has
the words to say what is wrong with it, or writes it in the common way.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels.decimal_number import INFINITY, MINUS, ONE, PLUS, SIGN, ZERO, ZERO_DIGIT, read_digits, read_number
from sgdone.kernels.instructions import word_at
from sgdone.kernels.jit import compiled, inlined

#: Why the loop stopped: all lines are read; an array is full; it cannot read a line. The last two at the line's start.
FINISHED: Final = 0
FULL: Final = 1
DOUBTFUL: Final = 2
#: Where the loop keeps its progress: the position in the text, and the numbers of rows, entries and lines.
AT, ROWS, ENTRIES, LINES = 0, 1, 2, 3

TAB, NEWLINE, RETURN, SPACE, HASH, COLON = (np.uint8(code) for code in b"\t\n\r #:")
QID, FOUR_BYTES = np.uint64(int.from_bytes(b"qid:", "little")), np.uint64(0xFFFFFFFF)
#: Digits of the largest index, and of whole numbers that differ from all others as floats.
INDEX_DIGITS, LABEL_DIGITS = np.uint64(10), np.uint64(15)


@inlined
def is_blank(byte: Any) -> Any:
    """Whether a byte is white space that does not end a line."""
    return byte == SPACE or (TAB <= byte <= RETURN and byte != NEWLINE)


@inlined
def ends_token(byte: Any) -> Any:
    """Whether a byte ends a label or an entry."""
    return byte == SPACE or TAB <= byte <= RETURN or byte == HASH  # `in` is slower


@inlined
def skip_blanks(data: Any, at: Any) -> Any:
    """Where the next token, comment or end of a line begins."""
    while is_blank(data[at]):
        at += ONE
    return at


@inlined
def doubtful_label(data: Any, at: Any, end: Any) -> Any:
    """Whether a label is a whole number with leading zeros, or with more digits than a float holds."""
    if data[at] == PLUS or data[at] == MINUS:
        at += ONE
    if end - at <= ONE or (data[at] != ZERO_DIGIT and end - at <= LABEL_DIGITS):
        return False
    others = 0
    for k in range(at, end):
        others += data[k] < ZERO_DIGIT or data[k] > ZERO_DIGIT + 9
    return others == 0


@compiled()
def read_lines(data: Any, end: Any, progress: Any, table: Any, limits: Any, finite: Any, out: Any) -> int:
    """A loop over the lines of ``data[progress[AT]:end]``, each of which ends with a newline.

    At least `PADDING` bytes follow ``end``. ``limits`` are the first index, the last one and the bits to keep:
    ``indices`` are those of the file minus the first, which must rise. ``labels`` and ``values`` are the bits of
    floats, which are finite unless ``finite`` is false.
    """
    first, last, mask = limits
    labels, indptr, indices, values = out
    at = np.uint64(progress[AT])
    rows, entries = np.uint64(progress[ROWS]), np.uint64(progress[ENTRIES])
    most_rows, most_entries = np.uint64(labels.size), np.uint64(indices.size)
    lines = progress[LINES]
    stopped = FINISHED
    while at < end:
        position, at = at, skip_blanks(data, at)
        if data[at] != NEWLINE and data[at] != HASH:
            if rows == most_rows:
                stopped = FULL
                break
            bits, after = read_number(data, at, table)
            wrong = after == at or not ends_token(data[after]) or bits & ~SIGN >= INFINITY
            if wrong or doubtful_label(data, at, after):
                stopped = DOUBTFUL
            labels[rows] = bits
            at = skip_blanks(data, after)
            if word_at(data, at) & FOUR_BYTES == QID:
                while not ends_token(data[at]):
                    at += ONE
                at = skip_blanks(data, at)
            entry, previous = entries, np.int64(-1)
            while stopped == FINISHED and data[at] != NEWLINE and data[at] != HASH:
                if entry == most_entries:
                    stopped = FULL
                    break
                number, colon = read_digits(data, at, ZERO, table)
                index = np.int64(number)
                if colon == at or colon - at > INDEX_DIGITS or data[colon] != COLON:
                    stopped = DOUBTFUL
                    break
                bits, after = read_number(data, colon + ONE, table)
                wrong = index < first or index > last or index <= previous or after == colon + ONE
                if wrong or not ends_token(data[after]) or (finite and bits & ~SIGN >= INFINITY):
                    stopped = DOUBTFUL
                    break
                indices[entry], values[entry] = (index - first) & mask, bits
                entry += ONE
                previous = index
                at = skip_blanks(data, after)
            if stopped != FINISHED:
                at = position
                break
            entries = entry
            rows += ONE
            indptr[rows] = entries
        while data[at] != NEWLINE:
            at += ONE
        at += ONE
        lines += 1
    progress[AT], progress[ROWS], progress[ENTRIES], progress[LINES] = at, rows, entries, lines
    return stopped
