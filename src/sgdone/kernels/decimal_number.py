"""Decimal numbers in bytes as floats, the same to the last bit as Python's ``float``.

Digits are read eight at a time. The nearest float follows from one product of 128 bits (Lemire 2021, "Number parsing at
a gigabyte per second", algorithm 1), which always decides for up to 19 digits (Mushtak and Lemire 2023). Of more digits
the first 19 are used, once as they are and once rounded up: if both give the same float, it is the right one. The few
numbers for which they do not are left to Python.

There is no arithmetic of floats here, only of integers: floats are written as their bits.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.instructions import leading_zeros, product, trailing_zeros, word_at
from sgdone.kernels.jit import inlined

ZERO, ONE, EIGHT, TEN, LAST_BIT = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(10), np.uint64(63)
THREE, SEVEN, EIGHT_DIGITS = np.uint64(3), np.uint64(7), np.uint64(10**8)
PLUS, MINUS, POINT, ZERO_DIGIT, LOWER_CASE = np.uint8(43), np.uint8(45), np.uint8(46), np.uint8(48), np.uint8(32)
LETTER_E = np.uint8(101)

#: Eight times the digit 0; what makes a byte after 9 have its high bit; the high bits.
ZEROS, AFTER_NINE, HIGH_BITS = (
    np.uint64(0x3030303030303030),
    np.uint64(0x7676767676767676),
    np.uint64(0x8080808080808080),
)
#: Lemire's eight digits in three products: pairs, fours, eight.
PAIR_MASK, FIRST_PAIRS, SECOND_PAIRS = (
    np.uint64(0x000000FF000000FF),
    np.uint64(0x000F424000000064),
    np.uint64(0x0000271000000001),
)
WORD_SHIFT, HALF_SHIFT = np.uint64(16), np.uint64(32)

#: Digits that a word of 64 bits always holds.
MOST_DIGITS = np.uint64(19)
#: Powers of ten with which a number of 19 digits is neither zero nor infinite, at the least and at the most.
LEAST_POWER, GREATEST_POWER = -342, 308
#: Reciprocals of powers of five from here on have exact products with words.
EXACT_POWER = -27
#: Where in the table the powers of five begin; before them are the powers of ten from 10⁰ to 10⁸.
FIRST_POWER = 9
#: Exponents are not read further: a number with one beyond is zero or infinite, whatever its digits.
GREATEST_EXPONENT = 1 << 50

SIGN, INFINITY, NAN = np.uint64(1 << 63), np.uint64(0x7FF << 52), np.uint64(0xFFF << 51)
FRACTION_BITS, ROUNDING_BITS = np.uint64(52), np.uint64(9)
#: The bits of a product below those that are kept; all ones if the product may be too small.
UNCERTAIN = np.uint64(0x1FF)
TIE_MASK = np.uint64(3)
LETTERS, THREE_LETTERS = np.uint64(0x2020202020202020), np.uint64(0xFFFFFF)
NAN_WORD, INF_WORD, INFINITY_WORD = (
    np.uint64(int.from_bytes(word, "little")) for word in (b"nan", b"inf", b"infinity")
)


@lru_cache(maxsize=1)
def power_table() -> NDArray[np.uint64]:
    """Powers of ten from 10⁰ to 10⁸, then 128 bits of each power of five: the high word, and the low one.

    The same numbers as in Lemire 2021, section 5.
    """
    words = [10**k for k in range(FIRST_POWER)]
    for exponent in range(LEAST_POWER, GREATEST_POWER + 1):
        power = 5 ** abs(exponent)
        if exponent < 0:
            # As in the paper's table: rounded up in exact arithmetic up to 5⁻²⁷, beyond it rounded up, then cut off.
            bits = power.bit_length()
            significand = (1 << (bits + 127 if exponent >= EXACT_POWER else 2 * bits + 128)) // power + 1
            significand >>= max(0, significand.bit_length() - 128)
        else:
            shift = 128 - power.bit_length()
            significand = power << shift if shift >= 0 else power >> -shift
        words += [significand >> 64, significand & (2**64 - 1)]
    return np.array(words, dtype=np.uint64)


@inlined
def read_digits(data: Any, at: Any, number: Any, table: Any) -> Any:
    """Append the digits from ``at`` on to a number, modulo 2⁶⁴; returns it, and where the digits end."""
    while True:
        word = word_at(data, at) ^ ZEROS
        count = trailing_zeros(((word + AFTER_NINE) | word) & HIGH_BITS) >> THREE
        if count == EIGHT:
            word = word * TEN + (word >> EIGHT)
            word = (word & PAIR_MASK) * FIRST_PAIRS + ((word >> WORD_SHIFT) & PAIR_MASK) * SECOND_PAIRS
            number = number * EIGHT_DIGITS + (word >> HALF_SHIFT)
            at += EIGHT
            continue
        # In two shifts: one by 64 bits is not defined, and whether no digit is left would be hard to predict.
        word = (word << ((SEVEN - count) * EIGHT)) << EIGHT
        word = word * TEN + (word >> EIGHT)
        word = (word & PAIR_MASK) * FIRST_PAIRS + ((word >> WORD_SHIFT) & PAIR_MASK) * SECOND_PAIRS
        number = number * table[count] + (word >> HALF_SHIFT)
        return number, at + count


@inlined
def first_digits(data: Any, at: Any, end: Any) -> Any:
    """The first 19 digits that matter of those between ``at`` and ``end``, and how many digits follow them."""
    number, used, following = ZERO, ZERO, np.int64(0)
    while at < end:
        byte = data[at]
        at += ONE
        if byte == POINT:
            continue
        if used == MOST_DIGITS:
            following += 1
        elif used > ZERO or byte != ZERO_DIGIT:
            number = number * TEN + np.uint64(byte - ZERO_DIGIT)
            used += ONE
    return number, following


@inlined
def nearest_float(number: Any, exponent: Any, table: Any) -> Any:
    """The bits of the float nearest to ``number`` · 10^``exponent``; a tie goes to the even one."""
    if number == ZERO or exponent < LEAST_POWER:
        return ZERO
    if exponent > GREATEST_POWER:
        return INFINITY
    zeros = leading_zeros(number)
    number <<= zeros
    place = np.uint64(2 * (exponent - LEAST_POWER) + FIRST_POWER)
    high, low = product(number, table[place])
    if high & UNCERTAIN == UNCERTAIN:
        more, _ = product(number, table[place + ONE])
        low += more
        if more > low:
            high += ONE
    upper = high >> LAST_BIT
    significand = high >> (upper + ROUNDING_BITS)
    # The exponent of two is ⌊log₂ 10^exponent⌋; 1023 is the bias of floats.
    power = np.int64(((152170 + 65536) * exponent) >> 16) + 63 + 1023 + np.int64(upper) - np.int64(zeros)
    if power <= 0:
        if power <= -63:
            return ZERO
        significand >>= np.uint64(1 - power)
        # A significand that is rounded up to 2⁵² is the least normal float, and has the right bits.
        return (significand + (significand & ONE)) >> ONE
    is_tie = low <= ONE and -4 <= exponent <= 23 and significand & TIE_MASK == ONE
    if is_tie and significand << (upper + ROUNDING_BITS) == high:
        significand -= ONE
    # Rounding up to 2⁵³ carries into the exponent, as it should.
    bits = (np.uint64(power - 1) << FRACTION_BITS) + ((significand + (significand & ONE)) >> ONE)
    return bits if bits < INFINITY else INFINITY


@inlined
def special_word(data: Any, at: Any) -> Any:
    """The bits of the word ``nan``, ``inf`` or ``infinity`` at ``at``, and where it ends; ``at`` if there is none."""
    letters = word_at(data, at) | LETTERS
    if letters == INFINITY_WORD:
        return INFINITY, at + EIGHT
    if letters & THREE_LETTERS == INF_WORD:
        return INFINITY, at + np.uint64(3)
    if letters & THREE_LETTERS == NAN_WORD:
        return NAN, at + np.uint64(3)
    return ZERO, at


@inlined
def read_number(data: Any, at: Any, table: Any) -> Any:
    """The bits of the number that begins at ``at``, and where it ends; ``at`` if there is none, or Python must decide.

    What follows a number is for the caller to check. At least `PADDING` bytes that are no digits follow the text.
    """
    start = at
    sign = SIGN if data[at] == MINUS else ZERO
    if data[at] == MINUS or data[at] == PLUS:
        at += ONE
    first = at
    if data[at] == ZERO_DIGIT and data[at + ONE] == POINT:  # the most common beginning
        number, at = ZERO, at + ONE
    else:
        number, at = read_digits(data, at, ZERO, table)
    count = at - first
    exponent = np.int64(0)
    if data[at] == POINT:
        point = at
        number, at = read_digits(data, at + ONE, number, table)
        exponent -= np.int64(at - point) - 1
        count = at - first - ONE
    if count == ZERO:
        bits, end = special_word(data, first)
        return bits | sign, (end if end > first else start)
    end = at
    if data[at] | LOWER_CASE == LETTER_E:
        at += ONE
        negative = data[at] == MINUS
        if negative or data[at] == PLUS:
            at += ONE
        before, value = at, np.int64(0)
        while ZERO_DIGIT <= data[at] < ZERO_DIGIT + 10:
            if value < GREATEST_EXPONENT:
                value = value * 10 + np.int64(data[at] - ZERO_DIGIT)
            at += ONE
        if at == before:
            return ZERO, start
        exponent += -value if negative else value
    following = np.int64(0)
    if count > MOST_DIGITS:
        number, following = first_digits(data, first, end)
        exponent += following
    bits = nearest_float(number, exponent, table)
    if following > 0 and nearest_float(number + ONE, exponent, table) != bits:
        return ZERO, start
    return bits | sign, at
