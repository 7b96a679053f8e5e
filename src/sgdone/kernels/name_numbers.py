"""Numbers for the names of features, in the order in which they first appear.

A hash table keeps, for each name, 64 bits of its hash (FNV-1a over ``namespace^name``, as in
:mod:`sgdone.kernels.words`) and not the name: of ten million names, two have the same hash in three of a million files.
"""

from typing import Any

import numpy as np

from sgdone.kernels.decimal_number import ONE
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.vw_text import NO_NAME, name_end
from sgdone.kernels.words import FNV_PRIME, FNV_START, extended, mixed

#: A slot of the table: a hash, the number of its name plus one (0 if the slot is free), the last row that has it, and
#: where in the output. All are next to each other: one access to memory.
HASH, NUMBER, ROW, PLACE, SLOT = 0, 1, 2, 3, 4
#: Kept between calls: the names that have a number, those of them in the table, the rows so far (of all
#: blocks before), the names before this block, and of this block the rows and the entries that are done.
KNOWN, PLACED, ALL_ROWS, KNOWN_BEFORE, DONE_ROWS, DONE_ENTRIES = 0, 1, 2, 3, 4, 5
#: Between a namespace and a name.
CARET = np.uint64(ord("^"))


@inlined
def find_slot(slots: Any, value: Any) -> Any:
    """Where in the table a hash is, or the free slot where it belongs."""
    last = np.uint64(slots.size // SLOT - 1)
    slot = value & last
    while slots[np.uint64(SLOT) * slot + ONE] != 0 and slots[np.uint64(SLOT) * slot] != value:
        slot = (slot + ONE) & last
    return np.uint64(SLOT) * slot


@compiled()
def number_names(entries: Any, fixed: Any, state: Any, hashes: Any, slots: Any, new: Any, out: Any) -> bool:
    """A loop over the rows of a block that replaces names by numbers, and adds the values of names that repeat.

    Entries are as in :func:`sgdone.kernels.vw_text.make_read_vw_lines`. ``indices``, ``sums`` and ``sum_indptr`` become
    the rows of a CSR matrix. ``hashes`` are those of all names by number; at most half of ``slots`` are in use. Names
    without a number are left out if ``fixed``; otherwise ``new`` is the first entry of each. Returns whether all rows
    are done; if not, ``hashes`` is too short for the next row.
    """
    data, indptr, names, name_ends, spaces, values = entries
    sum_indptr, indices, sums = out
    for k in range(state[PLACED], state[KNOWN]):
        slot = find_slot(slots, hashes[k])
        slots[slot], slots[slot + ONE] = hashes[k], np.uint64(k + 1)
    known, position = state[KNOWN], state[DONE_ENTRIES]
    row, finished = state[DONE_ROWS], True
    previous, start = np.int64(NO_NAME), FNV_START
    while row < indptr.size - 1:
        if not fixed and known + indptr[row + 1] - indptr[row] > hashes.size:
            finished = False
            break
        stamp = np.uint64(state[ALL_ROWS] + row + 1)
        for k in range(indptr[row], indptr[row + 1]):
            space = np.int64(spaces[k])
            if space != previous:
                previous, start = space, FNV_START
                if space != NO_NAME:
                    first = np.uint64(space)
                    start = (extended(start, data, first, name_end(data, first)) ^ CARET) * FNV_PRIME
            value = mixed(extended(start, data, np.uint64(names[k]), np.uint64(name_ends[k])))
            slot = find_slot(slots, value)
            if slots[slot + ONE] == 0:
                if fixed:
                    continue
                new[known - state[KNOWN_BEFORE]] = k
                hashes[known] = value
                known += 1
                slots[slot], slots[slot + ONE] = value, np.uint64(known)
            if slots[slot + np.uint64(ROW)] == stamp:
                sums[slots[slot + np.uint64(PLACE)]] += values[k]
                continue
            slots[slot + np.uint64(ROW)], slots[slot + np.uint64(PLACE)] = stamp, np.uint64(position)
            indices[position], sums[position] = np.int64(slots[slot + ONE]) - 1, values[k]
            position += 1
        row += 1
        sum_indptr[row] = position
    state[KNOWN], state[PLACED], state[DONE_ROWS], state[DONE_ENTRIES] = known, known, row, position
    return finished
