"""Columns of numbers of CSV text.

The loop reads numbers as most programs write them, and stops at everything else: words for missing values, numbers in
quotes or with blanks, codes such as ``007``, and rows that are too short or too long. Its caller reads them in another
way.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels.decimal_number import INFINITY, MINUS, NAN, ONE, SIGN, ZERO_DIGIT, read_number
from sgdone.kernels.jit import compiled, inlined

#: In place of a column's number, of one that is not read.
SKIPPED: Final = -1
#: In place of the number of rows, if there is something else among them.
NOT_NUMBERS: Final = -1
NEWLINE, RETURN, QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)
#: Digits of whole numbers that differ from all others as floats.
WHOLE_DIGITS = np.uint64(15)


@inlined
def is_digit(byte: Any) -> Any:
    """Whether a byte is one of the digits 0 to 9."""
    return ZERO_DIGIT <= byte <= ZERO_DIGIT + 9


@inlined
def is_whole(data: Any, at: Any, end: Any) -> Any:
    """Whether there are digits only, and not too many."""
    others = 0
    for k in range(at, end):
        others += not is_digit(data[k])
    return others == 0 and end - at <= WHOLE_DIGITS


@inlined
def after_quoted(data: Any, at: Any, end: Any) -> Any:
    """Where a quoted cell ends that begins at ``at``; a quote in it is doubled."""
    at += ONE
    while at < end:
        if data[at] != QUOTE:
            at += ONE
        elif data[at + ONE] == QUOTE:
            at += ONE + ONE
        else:
            return at + ONE
    return end


@compiled()
def read_rows(data: Any, end: Any, separator: Any, places: Any, whole: Any, table: Any, values: Any) -> int:
    """A loop over the rows of ``data[:end]``, each of which ends with a newline; returns their number.

    At least `PADDING` bytes follow ``end``. ``places`` says which row of ``values`` each column of the text goes to,
    and ``whole`` which of these rows have whole numbers only. ``values`` are the bits of floats; an empty cell is NaN.
    """
    at, rows = np.uint64(0), 0
    last = places.size - 1
    while at < end:
        if data[at] == NEWLINE or (data[at] == RETURN and data[at + ONE] == NEWLINE):
            if last == 0:  # of one column, it could be a missing value
                return NOT_NUMBERS
            at += ONE + np.uint64(data[at] == RETURN)
            continue
        for k in range(places.size):
            place = places[k]
            if place == SKIPPED and data[at] == QUOTE:
                at = after_quoted(data, at, end)
            elif place == SKIPPED:
                while data[at] != separator and data[at] != NEWLINE:
                    at += ONE
            elif data[at] == separator or data[at] == NEWLINE or data[at] == RETURN:
                values[place, rows] = NAN
            else:
                start = at
                first = at + np.uint64(data[at] == MINUS)
                if not is_digit(data[first]) or (data[first] == ZERO_DIGIT and is_digit(data[first + ONE])):
                    return NOT_NUMBERS
                bits, at = read_number(data, start, table)
                if at == start or not is_digit(data[at - ONE]) or bits & ~SIGN >= INFINITY:
                    return NOT_NUMBERS
                if whole[place] and not is_whole(data, first, at):
                    return NOT_NUMBERS
                values[place, rows] = bits
            if k < last:
                if data[at] != separator:
                    return NOT_NUMBERS
            else:
                if data[at] == RETURN:
                    at += ONE
                if data[at] != NEWLINE:
                    return NOT_NUMBERS
            at += ONE
        rows += 1
    return rows
