"""Lines of Vowpal Wabbit's text format: where their features are named, their values, and the hashes of their names.

As in :mod:`sgdone.kernels.svmlight_text`, the loop reads what is common and stops at everything else. A second loop
hashes the names, by the 32 bits of MurmurHash3 (Appleby) that Vowpal Wabbit has.
"""

from typing import Any

import numpy as np

from sgdone.kernels.decimal_number import INFINITY, NAN, ONE, SIGN, ZERO, read_digits, read_number
from sgdone.kernels.instructions import float_of, word_at
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.svmlight_text import AT, DOUBTFUL, ENTRIES, FINISHED, FULL, LINES, ROWS

#: Arithmetic of 32 bits, in words of 64.
LOW_BITS, FOUR, EIGHT = np.uint64(0xFFFFFFFF), np.uint64(4), np.uint64(8)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xCC9E2D51), np.uint64(0x1B873593)
STEP_FACTOR, STEP_TERM = np.uint64(5), np.uint64(0xE6546B64)
LAST_FACTOR, VERY_LAST_FACTOR = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)


@inlined
def rotated(word: Any, bits: Any) -> Any:
    """The 32 bits of a word rotated to the left."""
    return ((word << np.uint64(bits)) | (word >> np.uint64(32 - bits))) & LOW_BITS


@inlined
def scrambled(word: Any) -> Any:
    """Four bytes before they are added to the hash."""
    return (rotated((word * FIRST_FACTOR) & LOW_BITS, 15) * SECOND_FACTOR) & LOW_BITS


@inlined
def murmur(data: Any, first: Any, last: Any, seed: Any) -> Any:
    """MurmurHash3_x86_32 of the bytes from ``first`` up to ``last``."""
    value, length = seed & LOW_BITS, last - first
    while last - first >= FOUR:
        value = rotated(value ^ scrambled(word_at(data, first) & LOW_BITS), 13)
        value = (value * STEP_FACTOR + STEP_TERM) & LOW_BITS
        first += FOUR
    if last > first:
        value ^= scrambled(word_at(data, first) & ((ONE << (EIGHT * (last - first))) - ONE))
    value ^= length & LOW_BITS
    value = ((value ^ (value >> np.uint64(16))) * LAST_FACTOR) & LOW_BITS
    value = ((value ^ (value >> np.uint64(13))) * VERY_LAST_FACTOR) & LOW_BITS
    return value ^ (value >> np.uint64(16))


@inlined
def name_hash(data: Any, first: Any, last: Any, seed: Any, table: Any) -> Any:
    """Vowpal Wabbit's hash of a name (``--hash strings``): of digits, their number plus the seed; else `murmur`."""
    while first < last and data[first] <= SPACE:
        first += ONE
    while first < last and data[last - ONE] <= SPACE:
        last -= ONE
    number, after = read_digits(data, first, ZERO, table)
    return number + seed if after == last else murmur(data, first, last, seed)


TAB, NEWLINE, RETURN, SPACE, QUOTE, COLON, BAR = (np.uint8(code) for code in b"\t\n\r ':|")
#: The bits of 1.0.
UNIT = np.uint64(0x3FF << 52)
#: In place of a namespace's position: the namespace without a name.
NO_NAME = -1


@inlined
def is_blank(byte: Any) -> Any:
    """Whether a byte separates features."""
    return byte == SPACE or byte == TAB or byte == RETURN  # `in` is slower


@inlined
def ends_token(byte: Any) -> Any:
    """Whether a byte ends a label, a tag or a value."""
    return byte == SPACE or byte == BAR or byte == NEWLINE or byte == TAB or byte == RETURN  # `in` is slower


@inlined
def skip_blanks(data: Any, at: Any) -> Any:
    """Where the next token, namespace or end of a line begins."""
    while is_blank(data[at]):
        at += ONE
    return at


@inlined
def token_end(data: Any, at: Any) -> Any:
    """Where the token ends that begins at ``at``."""
    while not ends_token(data[at]):
        at += ONE
    return at


@inlined
def name_end(data: Any, at: Any) -> Any:
    """Where the name of a namespace or a feature ends that begins at ``at``."""
    while data[at] != COLON and not ends_token(data[at]):
        at += ONE
    return at


@inlined
def read_label(data: Any, at: Any, table: Any) -> Any:
    """The bits of the label and of the weight, where the bar after them is, and whether this part of the line is valid.

    The bits are those of NaN if there is no label. A blank line ends at its newline instead of a bar. A token directly
    before the bar is a tag, as in Vowpal Wabbit, even if it is a number.
    """
    label, weight, count = NAN, UNIT, 0
    at = skip_blanks(data, at)
    while data[at] != BAR and data[at] != NEWLINE:
        end = token_end(data, at)
        if data[end] == BAR or data[at] == QUOTE:
            at = skip_blanks(data, end)
            return label, weight, at, data[at] == BAR
        bits, after = read_number(data, at, table)
        if after != end or count == 2 or bits & ~SIGN >= INFINITY or (count == 1 and bits > SIGN):
            return label, weight, at, False
        if count == 0:
            label = bits
        else:
            weight = bits & ~SIGN
        count += 1
        at = skip_blanks(data, end)
    return label, weight, at, count == 0 or data[at] == BAR


@compiled()
def read_vw_lines(data: Any, end: Any, progress: Any, table: Any, labelled: Any, finite: Any, out: Any) -> int:
    """A loop over the lines of ``data[progress[AT]:end]``, each of which ends with a newline.

    At least `PADDING` bytes follow ``end``. ``labels`` and ``weights`` are the bits of floats. Of each feature,
    ``names`` and ``name_ends`` are where its name begins and ends, ``spaces`` where the name of its namespace begins,
    or `NO_NAME`, and ``values`` its value times that of the namespace. Lines without a label are left to the caller
    if ``labelled``, and values that are not finite if ``finite``.
    """
    labels, weights, indptr, names, name_ends, spaces, values = out
    at = np.uint64(progress[AT])
    rows, entries = np.uint64(progress[ROWS]), np.uint64(progress[ENTRIES])
    most_rows, most_entries = np.uint64(labels.size), np.uint64(names.size)
    lines = progress[LINES]
    stopped = FINISHED
    while at < end:
        position = at
        label, weight, at, fine = read_label(data, at, table)
        is_row = data[at] == BAR
        if not fine:
            stopped = DOUBTFUL
        elif is_row:
            if labelled and label == NAN:
                stopped = DOUBTFUL
            elif rows == most_rows:
                stopped = FULL
            else:
                labels[rows], weights[rows] = label, weight
        entry = entries
        while stopped == FINISHED and data[at] == BAR:
            at += ONE
            space, scale = np.int64(NO_NAME), 1.0
            if not ends_token(data[at]):
                space = np.int64(at)
                at = name_end(data, at)
                if np.int64(at) == space:
                    stopped = DOUBTFUL
                if data[at] == COLON:
                    bits, after = read_number(data, at + ONE, table)
                    if after == at + ONE or not ends_token(data[after]) or bits & ~SIGN >= INFINITY:
                        stopped = DOUBTFUL
                    scale, at = float_of(bits), after
            at = skip_blanks(data, at)
            while stopped == FINISHED and data[at] != BAR and data[at] != NEWLINE:
                if entry == most_entries:
                    stopped = FULL
                    break
                last = name_end(data, at)
                bits, after = UNIT, last
                if data[last] == COLON:
                    bits, after = read_number(data, last + ONE, table)
                    if after == last + ONE or not ends_token(data[after]):
                        stopped = DOUBTFUL
                value = scale * float_of(bits)
                if last == at or (finite and not np.isfinite(value)):
                    stopped = DOUBTFUL
                names[entry], name_ends[entry], spaces[entry], values[entry] = at, last, space, value
                entry += ONE
                at = skip_blanks(data, after)
        if stopped != FINISHED:
            at = position
            break
        if is_row:
            entries = entry
            rows += ONE
            indptr[rows] = entries
        at += ONE
        lines += 1
    progress[AT], progress[ROWS], progress[ENTRIES], progress[LINES] = at, rows, entries, lines
    return stopped


@compiled()
def hash_names(data: Any, table: Any, names: Any, name_ends: Any, spaces: Any, mask: Any, indices: Any) -> None:
    """A loop that writes Vowpal Wabbit's hash of each feature to ``indices``, and keeps the bits in ``mask``."""
    previous, seed = np.int64(NO_NAME), ZERO
    for k in range(names.size):
        space = np.int64(spaces[k])
        if space != previous:
            previous, seed = space, ZERO
            if space != NO_NAME:
                first = np.uint64(space)
                seed = name_hash(data, first, name_end(data, first), ZERO, table)
        value = name_hash(data, np.uint64(names[k]), np.uint64(name_ends[k]), seed, table)
        indices[k] = np.int64(value & mask)
