"""MurmurHash3 of 32 bits (Appleby), and the hash that Vowpal Wabbit gives to the name of a feature."""

from typing import Any

import numpy as np

from sgdone.kernels.decimal_number import ONE, ZERO, read_digits
from sgdone.kernels.jit import inlined
from sgdone.kernels.machine_words import word_at

#: Arithmetic is that of 32 bits, in words of 64.
LOW_BITS, FOUR, EIGHT = np.uint64(0xFFFFFFFF), np.uint64(4), np.uint64(8)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xCC9E2D51), np.uint64(0x1B873593)
STEP_FACTOR, STEP_TERM = np.uint64(5), np.uint64(0xE6546B64)
LAST_FACTOR, VERY_LAST_FACTOR = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
SPACE = np.uint8(32)


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
