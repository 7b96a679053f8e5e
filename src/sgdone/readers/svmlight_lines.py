"""Lines of svmlight files that the compiled reader does not take: what is wrong with one, or the same in others."""

import re
from collections.abc import Iterator

import numpy as np

from sgdone.message_text import counted
from sgdone.readers.table import ReadOptions, reads_as_number, shortened

#: Largest index: that of a signed 32-bit integer.
LARGEST_INDEX = np.iinfo(np.int32).max
#: White space within a line.
_BLANKS = re.compile(r"[ \t\r\v\f\n]+")


def rewritten(line: bytes, options: ReadOptions, last: int | None) -> bytes:
    """A line as the compiled reader takes it; raises ValueError if something is wrong with it.

    Parameters
    ----------
    line : bytes
        A line that is rare: an index with a sign, or a number with more digits than the loop can decide on.
    options : ReadOptions
        Those of the file.
    last : int or None
        Largest index allowed.

    Examples
    --------
    >>> from pathlib import Path
    >>> rewritten(b"1e1 qid:7 +1:0.10 # a comment", ReadOptions(Path("t.svm")), last=None)
    b'10.0 1:0.1'
    """
    text = line.decode("utf-8", "backslashreplace")
    for problem in problems(text, options, last):
        raise ValueError(problem)
    label, entries = _tokens(text)
    pairs = [entry.split(":") for entry in entries]
    return " ".join([repr(float(label)), *(f"{int(left)}:{float(right)!r}" for left, right in pairs)]).encode()


def problems(line: str, options: ReadOptions, last: int | None) -> Iterator[str]:
    """What is wrong with a line; ``last`` is the largest index allowed."""
    label, entries = _tokens(line)
    if label:
        yield from _label_problems(label)
        yield from _feature_problems(entries, options, last)


def _tokens(line: str) -> tuple[str, list[str]]:
    """The label and the entries of a line, without its comment and ``qid:``."""
    label, *entries = _BLANKS.split(line.split("#", 1)[0].strip(" \t\r\v\f\n"))
    return label, entries[1:] if entries and entries[0].startswith("qid:") else entries


def _label_problems(label: str) -> Iterator[str]:
    value, shown = _number(label), shortened(label)
    digits = label.lstrip("+-")
    if ":" in label:
        yield f"starts with {shown!r} instead of a label: put a number first (0 if unknown)"
    elif value is None and all(_number(part) is not None for part in label.split(",")):
        yield f"has several labels ({shown}): keep one per row"
    elif value is None:
        yield f"the label {shown!r} is not a number: encode the classes as numbers"
    elif digits.isdecimal() and len(digits) > 1 and digits.startswith("0"):
        number = digits.lstrip("0") or "0"
        yield f"the label {shown!r} has leading zeros: write {shortened(number)}, or keep it as text in a CSV file"
    elif not np.isfinite(value) and not digits.isdecimal():
        yield f"the label is {shown!r}: drop the row"
    elif digits.isdecimal() and not (np.isfinite(value) and int(digits) == abs(value)):
        yield f"the label {shown!r} has too many digits for a float: number the classes 0, 1, 2, …"


def _feature_problems(entries: list[str], options: ReadOptions, last: int | None) -> Iterator[str]:
    first = 0 if options.zero_based else 1
    previous = -1
    for entry in entries:
        left, _, right = entry.partition(":")
        digits = left.lstrip("+-")
        if not (digits.isascii() and digits.isdecimal()) or len(left) > len(digits) + 1 or not right:
            yield f"{shortened(entry)!r} does not have the form index:value"
            return
        # Python does not convert more than 4,300 digits.
        index, value = int(left) if len(digits) < 20 else LARGEST_INDEX + 1, _number(right)
        if index == 0 and first == 1:
            yield "index 0: indices start at 0 in this file; read it and its test files with zero_based=True"
        elif index < 0:
            yield f"index {index} is negative"
        elif index > LARGEST_INDEX:
            yield f"index {shortened(left)} is too large: indices up to {LARGEST_INDEX:,} are supported"
        elif last is not None and index > last:
            yield (
                f"index {index} is too large: the last of {counted(last - first + 1, 'feature')}, starting at "
                f"{first}, is {last}. Read training and test files with the same n_features and zero_based"
            )
        elif index == previous:
            yield f"index {index} appears twice: keep one value per feature"
        elif index < previous:
            yield f"index {index} comes after {previous}: sort the indices of each line"
        if value is None:
            yield f"index {index}: {shortened(right)!r} is not a number"
        elif options.allow_missing:
            pass
        elif np.isnan(value):
            yield f"index {index}: missing value ({right}): impute or drop it"
        elif np.isinf(value):
            yield f"index {index}: infinite value ({shortened(right)}): clip or drop it"
        previous = index


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and reads_as_number(text) else None
