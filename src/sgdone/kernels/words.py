"""Words in UTF-8 bytes: where they begin and end, their 64-bit hashes, and the buckets of words and pairs of words.

A hash is FNV-1a over the bytes, finished by the mixer of MurmurHash3, whose low bits are as good as its high ones. The
hash of a pair is made of the hashes of its two words. Texts are two arrays as Arrow has them: ``data``, the bytes of
all texts, and ``offsets``, where each text begins and the last one ends.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled, inlined

#: FNV-1a, 64 bits (Fowler, Noll and Vo).
FNV_START, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
#: The finishing step of MurmurHash3 (Appleby).
MIX_FIRST, MIX_SECOND, MIX_SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)
#: 2⁶⁴ divided by the golden ratio: tells the first word of a pair from the second.
PAIR_FACTOR = np.uint64(0x9E3779B97F4A7C15)
#: Columns of the slots of buckets in :func:`learnt_number`.
NUMBER, VOTES, HASH, SLOT_SIZE = 0, 1, 2, 4


@inlined
def mixed(value: Any) -> Any:
    """Spread every bit of a hash over all bits."""
    value = (value ^ (value >> MIX_SHIFT)) * MIX_FIRST
    value = (value ^ (value >> MIX_SHIFT)) * MIX_SECOND
    return value ^ (value >> MIX_SHIFT)


@inlined
def pair_hash(first: Any, second: Any) -> Any:
    """The hash of two adjacent words, from their hashes."""
    return mixed(first * PAIR_FACTOR + second)


@inlined
def extended(value: Any, data: Any, first: Any, last: Any) -> Any:
    """FNV-1a of the bytes before ``first``, continued up to ``last``."""
    for k in range(first, last):
        value = (value ^ np.uint64(data[k])) * FNV_PRIME
    return value


@inlined
def character(data: Any, at: Any, end: Any, in_words: Any) -> Any:
    """Number of bytes of the character at ``at``, and its place in words; never reads beyond ``end``.

    The place is 0 for a character that is not part of words, 1 for a letter or digit, and 2 for a mark, which is part
    of a word after a letter only.
    """
    byte = np.int64(data[at])
    if byte < 128:
        return np.int64(1), np.int64(in_words[byte])
    size = np.int64(1)
    if byte >= 0xC0:
        size = np.int64(2) if byte < 0xE0 else np.int64(3) if byte < 0xF0 else np.int64(4)
    if size == 1 or at + size > end:
        return np.int64(1), np.int64(0)  # not UTF-8
    code = byte & (0x7F >> size)
    for k in range(at + 1, at + size):
        code = (code << 6) | (np.int64(data[k]) & 0x3F)
    return size, np.int64(in_words[code]) if code < in_words.size else np.int64(0)


@inlined
def next_word(data: Any, at: Any, end: Any, in_words: Any) -> Any:
    """Where the first word from ``at`` on begins; ``end`` if there is none."""
    while at < end:
        size, place = character(data, at, end, in_words)
        if place == 1:
            break
        at += size
    return at


@inlined
def hashed_word(data: Any, at: Any, end: Any, in_words: Any) -> Any:
    """Where the word that begins at ``at`` ends, and FNV-1a of its bytes."""
    value = FNV_START
    while at < end:
        byte = data[at]
        if byte < 128:
            if in_words[byte] == 0:
                break
            value = (value ^ np.uint64(byte)) * FNV_PRIME
            at += 1
        else:
            size, place = character(data, at, end, in_words)
            if place == 0:
                break
            value = extended(value, data, at, at + size)
            at += size
    return at, value


@compiled()
def count_words(data: Any, offsets: Any, in_words: Any, enough: Any) -> Any:
    """A loop that counts the words of all texts, and stops where there are ``enough``."""
    count = 0
    for i in range(offsets.size - 1):
        at, end, inside = offsets[i], offsets[i + 1], False
        while at < end:
            size, place = character(data, at, end, in_words)
            if place == 1 and not inside:
                count += 1
            inside = place == 1 or (place == 2 and inside)
            at += size
        if count >= enough:
            break
    return count


@compiled()
def hash_texts(data: Any, offsets: Any, found: Any) -> None:
    """A loop that writes the hash of each text, whole, to ``found``."""
    for i in range(offsets.size - 1):
        found[i] = mixed(extended(FNV_START, data, offsets[i], offsets[i + 1]))


@inlined
def known_number(bucket: Any, value: Any, data: Any, first: Any, second: Any, numbers: Any, memory: Any) -> Any:
    """The number of a bucket, or −1 if no word of it has been learnt."""
    return np.int64(numbers[bucket])


@inlined
def learnt_number(bucket: Any, value: Any, data: Any, first: Any, second: Any, slots: Any, memory: Any) -> Any:
    """The number of a bucket, the next free one if it is new; the bucket's word is chosen by majority vote.

    Boyer and Moore's vote: it finds the word that makes up more than half of a bucket, if there is one. A row of
    ``slots`` is a bucket's number, the votes for its word, half of that word's hash, and nothing: 16 bytes, one access
    to memory. ``memory`` is how many buckets have a number, and the first bytes of their words, by number.
    """
    count, words = memory
    if slots[bucket, NUMBER] < 0:
        slots[bucket, NUMBER] = count[0]
        count[0] += 1
    number = np.int64(slots[bucket, NUMBER])
    half = np.int32(value >> np.uint64(32))
    if slots[bucket, VOTES] == 0:
        slots[bucket, HASH] = half
        width, at = words.shape[1], 0
        for part in (first, second):
            if at > 0 and at < width and part[1] > part[0]:
                words[number, at] = 32
                at += 1
            for k in range(part[0], part[1]):
                if at < width:
                    words[number, at] = data[k]
                    at += 1
        for k in range(at, width):
            words[number, k] = 0
    slots[bucket, VOTES] += 1 if slots[bucket, HASH] == half else -1
    return number


@inlined
def sorted_and_counted(indices: Any, values: Any, first: Any, last: Any) -> Any:
    """Sort ``indices[first:last]``, merge equal ones, write how many there were to ``values``; return the new end."""
    gap = 1
    while gap < (last - first) // 32:
        gap = 3 * gap + 1  # Shell's sort with Knuth's gaps; short rows by insertion
    while gap > 0:
        for i in range(first + gap, last):
            moved, at = indices[i], i
            while at >= first + gap and indices[at - gap] > moved:
                indices[at] = indices[at - gap]
                at -= gap
            indices[at] = moved
        gap //= 3
    end = first
    for i in range(first, last):
        if end > first and indices[end - 1] == indices[i]:
            values[end - 1] += 1.0
        else:
            indices[end], values[end] = indices[i], 1.0
            end += 1
    return end


@inlined
def weigh(values: Any, first: Any, last: Any) -> None:
    """Replace counts by 1 + log(count), and divide by their Euclidean norm."""
    total = 0.0
    for k in range(first, last):
        if values[k] > 1.0:
            values[k] = 1.0 + np.log(values[k])
        total += values[k] * values[k]
    for k in range(first, last):
        values[k] /= np.sqrt(total)


@lru_cache(maxsize=4)
def make_number_words(number_of: Callable[..., Any]) -> Callable[..., int]:
    """A loop that writes the words and pairs of words of each text as rows of a CSR matrix.

    Columns are their numbers, values 1 + log(how often the text has them), divided by the Euclidean norm of the row.
    ``number_of`` is :func:`known_number`, with the number of each bucket in ``numbers``, or :func:`learnt_number`, with
    the slots of the buckets there. The number of buckets is a power of two. ``room`` is for the hashes, starts and ends
    of the words of one text. A text of b bytes has at most b words and pairs. Returns the number of entries.
    """

    @compiled(number_of)
    def number_words(data: Any, offsets: Any, in_words: Any, room: Any, numbers: Any, memory: Any, out: Any) -> Any:
        indptr, indices, values = out
        hashes, starts, ends = room
        last_bucket = np.uint64(numbers.shape[0] - 1)
        position = np.int64(0)
        for i in range(offsets.size - 1):
            row_start = position
            # All words first: then accesses to memory for their buckets overlap.
            count, end = 0, offsets[i + 1]
            start = next_word(data, offsets[i], end, in_words)
            while start < end:
                after, value = hashed_word(data, start, end, in_words)
                hashes[count], starts[count], ends[count] = mixed(value), start, after
                count += 1
                start = next_word(data, after, end, in_words)
            for k in range(count):
                word, span, none = hashes[k], (starts[k], ends[k]), (ends[k], ends[k])
                number = number_of(np.int64(word & last_bucket), word, data, span, none, numbers, memory)
                if number >= 0:
                    indices[position] = number
                    position += 1
            for k in range(1, count):
                pair = pair_hash(hashes[k - 1], hashes[k])
                first, second = (starts[k - 1], ends[k - 1]), (starts[k], ends[k])
                number = number_of(np.int64(pair & last_bucket), pair, data, first, second, numbers, memory)
                if number >= 0:
                    indices[position] = number
                    position += 1
            position = sorted_and_counted(indices, values, row_start, position)
            weigh(values, row_start, position)
            indptr[i + 1] = position
        return position

    return number_words
