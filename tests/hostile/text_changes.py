"""Texts that stand where a number or a name should."""

from random import Random

_TEXTS = [
    "", " ", "\t", '"', "'", '""', '"a', "a\nb", '"a\nb"', "\0", "\x1a", "\u2028", "é", "\u202e", "１２", "٣", "\ud800"
]  # fmt: skip
_TEXTS += [
    "NA",
    "NaN",
    "null",
    "None",
    "?",
    "-",
    "yes",
    "=1+1",
    "2020-01-01",
    "12:30",
    "#",
    "a:b",
    "1,5",
    "{}",
    "x" * 5000,
]
_NUMBERS = ["nan", "inf", "-inf", "1e400", "1e-400", "5e-324", "1e308", "-1", "+1", "1.", ".5", "1e5", "0x10", "1_000"]
_NUMBERS += [
    "007", "1e", "--1", "18446744073709551616", "9223372036854775808", "1.7976931348623159e308", "-0", "1j", "0b1"
]  # fmt: skip


def odd_text(random: Random) -> str:
    """Any text."""
    return random.choice(_TEXTS)


def numbers_in_text(random: Random) -> list[str]:
    """Texts that are numbers, or nearly, to choose from."""
    return [*_NUMBERS, "9" * random.choice([20, 400, 5000]), f"0.{'0' * 400}1"]
