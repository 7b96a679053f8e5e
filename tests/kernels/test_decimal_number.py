"""Decimal numbers in bytes: the same bits as Python's float."""

import random
import struct

import numpy as np
import pytest

from sgdone.kernels.decimal_number import power_table, read_number
from sgdone.kernels.instructions import PADDING
from sgdone.kernels.jit import compiled


@compiled("test_decimal_number")
def read_numbers(data, starts, table, bits, ends):
    for k in range(starts.size):
        bits[k], ends[k] = read_number(data, starts[k], table)


def read(texts):
    """The floats of texts, and the number of bytes that were read of each."""
    encoded = [text.encode() for text in texts]
    data = np.frombuffer(b" ".join(encoded) + b"\n" + bytes(PADDING), dtype=np.uint8)
    lengths = np.array([len(text) for text in encoded], dtype=np.uint64)
    starts = np.concatenate([[0], np.cumsum(lengths + 1)[:-1]]).astype(np.uint64)
    bits, ends = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    read_numbers(data, starts, power_table(), bits, ends)
    return bits, ends - starts


HARD = [
    *("0", "-0", "+0", "1", "-1", "+1", ".5", "5.", "-.5e1", "1e0", "1E+2", "1e-02", "00012", "0.0000", "-0e999999999"),
    *("9007199254740993", "9007199254740992", "9007199254740991", "9007199254740995", "1e23", "8.5e22", "1e22"),
    *("5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "4.9e-324", "2.47e-324", "7.4e-324", "1e-400"),
    *("2.2250738585072011e-308", "2.2250738585072014e-308", "2.2250738585072012e-308", "2.225073858507201e-308"),
    *("1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309", "-2e308"),
    *("nan", "NaN", "-nan", "+NAN", "inf", "-inf", "Infinity", "-INFINITY", "+inf", "iNf"),
    *("1e99999999999999999999999", "1e-99999999999999999999999", "0e99999999999999999999999"),
    *("0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "1" * 400, "0" * 50 + "1", "1." + "0" * 300 + "1"),
    *("0.1000000000000000055511151231257827021181583404541015625", "0.10000000000000000555111512312578"),
    *("1" + "0" * 19, "18446744073709551615", "18446744073709551616"),
    *("9999999999999999999", "99999999999999999999", "12345678", "123456789"),
]  # fmt: skip

#: Halfway between two floats, or next to it, in more than 19 digits: undecided without exact arithmetic.
HALFWAY = [
    "9007199254740993.0000000000",
    "9007199254740993" + "0" * 20 + "1",
    "2.4703282292062327208299896433841300e-324",
    "2.470328229206232720882843964341106861825299013071623822127928412503377536e-324",
    str(2**1024 - 2**970),
]


def test_hard_numbers():
    bits, lengths = read(HARD)
    expected = np.array([float(text) for text in HARD])
    np.testing.assert_array_equal(bits, expected.view(np.uint64))
    np.testing.assert_array_equal(lengths, [len(text) for text in HARD])


def test_numbers_that_python_must_decide_are_left_to_it():
    bits, lengths = read(HALFWAY)
    assert np.all((lengths == 0) | (bits == np.array([float(text) for text in HALFWAY]).view(np.uint64)))
    assert np.count_nonzero(lengths == 0) >= 3


@pytest.mark.parametrize(
    ("text", "length"),
    [
        *((text, 0) for text in ("", "x", "-", ".", "e5", "1e", "1e+", "--1", "na", "in", "+-1")),
        *((text, 1) for text in ("1x", "1_000", "0x10", "1:2")),
        *((text, 3) for text in ("1.5.2", "infinit", "1e5e5", "nano")),
    ],
)
def test_where_a_number_ends(text, length):
    assert read([text])[1] == [length]


def random_number(source):
    """A number in one of many forms."""
    kind = source.randrange(8)
    if kind == 0:
        return repr(struct.unpack("<d", source.randbytes(8))[0])
    if kind == 1:
        return f"{source.gauss(0, 1):.{source.randrange(1, 25)}f}"
    if kind == 2:
        return f"{source.random():.{source.randrange(1, 30)}e}"
    if kind == 3:
        return str(source.randrange(10 ** source.randrange(1, 25)))
    if kind == 4:
        # Halfway between two floats of up to 2⁶⁴: all digits are in a word.
        return str((2 * source.randrange(2**52, 2**53) + 1) << source.randrange(0, 10))
    if kind == 5:
        whole = "".join(source.choices("0123456789", k=source.randrange(1, 12)))
        part = "".join(source.choices("0009", k=source.randrange(40)))
        return f"{source.choice(['', '-', '+'])}{whole}.{part}{source.choice(['e', 'E'])}{source.randrange(-360, 330)}"
    if kind == 6:
        return f"{source.randrange(1, 10 ** source.randrange(1, 20))}e{source.randrange(-345, 310)}"
    # Subnormal numbers.
    return repr(struct.unpack("<d", struct.pack("<Q", source.randrange(1, 1 << source.randrange(1, 54))))[0])


def check_random(count):
    source = random.Random(count)
    texts = [random_number(source) for _ in range(count)]
    bits, lengths = read(texts)
    expected = np.array([float(text) for text in texts])
    wrong = np.flatnonzero((lengths > 0) & (bits != expected.view(np.uint64)) & ~np.isnan(expected))
    assert not wrong.size, [texts[k] for k in wrong[:5]]
    full = np.array([len(text) for text in texts])
    assert np.all((lengths == full) | (lengths == 0))
    # Python decides about numbers of more than 19 digits only, and rarely.
    assert np.count_nonzero(lengths == 0) < count / 100
    assert all(sum(map(str.isdigit, texts[k])) > 19 for k in np.flatnonzero(lengths == 0))


def test_twenty_thousand_random_numbers():
    check_random(20_000)


@pytest.mark.slow
def test_a_million_random_numbers():
    check_random(1_000_000)
