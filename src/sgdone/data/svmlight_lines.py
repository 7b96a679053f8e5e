"""Lines of svmlight files, and what is wrong with one."""

import io
import re
from collections.abc import Iterator
from typing import IO

import numpy as np

from sgdone.data.memory import MemoryBudget
from sgdone.data.table import ReadOptions, shortened
from sgdone.message_text import counted

#: Largest index: that of a signed 32-bit integer.
LARGEST_INDEX = np.iinfo(np.int32).max
_CHUNK = 1 << 20
#: Bytes per entry and per row while a file is read: arrays that grow, and a copy in other integers.
_ENTRY, _ROW = 24, 24
#: Bytes per character of a line that is split.
_CHARACTER = 16
#: Whole numbers that may differ from the float they are read as: leading zeros, or 16 digits and more.
_DOUBTFUL_LABEL = re.compile(rb"\n[ \t]*([+-]?(?:0[0-9]+|[0-9]{16,}))(?=[\s#])")


class Lines:
    """The lines of a stream. Raises before a matrix of its rows outgrows the memory, and for labels that are no number.

    Parameters
    ----------
    stream : binary stream
        The decompressed file.
    budget : MemoryBudget
        Memory that was available before reading.
    """

    def __init__(self, stream: IO[bytes], budget: MemoryBudget) -> None:
        self._stream, self._budget = stream, budget
        self._rows = self._entries = 0

    def read(self) -> bytes:
        """Rest of the stream; scikit-learn asks for this method but iterates instead."""
        return self._stream.read()

    def __iter__(self) -> Iterator[bytes]:
        for block in self.blocks():
            _check_labels(block)
            yield from io.BytesIO(block)

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines."""
        pieces: list[bytes] = []
        while chunk := self._stream.read(_CHUNK):
            end = chunk.rfind(b"\n") + 1
            pieces.append(chunk[:end] if end else chunk)
            self._check_memory(chunk, sum(map(len, pieces)))
            if end:
                yield b"".join(pieces)
                pieces = [chunk[end:]]
        yield b"".join(pieces)

    def _check_memory(self, chunk: bytes, longest_line: int) -> None:
        self._rows += chunk.count(b"\n")
        self._entries += chunk.count(b":")
        needed = _ENTRY * self._entries + _ROW * self._rows + _CHARACTER * longest_line
        self._budget.check(needed, f"{counted(self._rows, 'row')} and {self._entries:,} values so far")


def _check_labels(lines: bytes) -> None:
    """Raise for the first label that is no number, or not the number that it is read as."""
    for match in _DOUBTFUL_LABEL.finditer(b"\n" + lines + b"\n"):
        problem = next(_label_problems(match[1].decode()), None)
        if problem is not None:
            raise ValueError(problem)


def problems(line: str, options: ReadOptions, last: int | None) -> Iterator[str]:
    """What is wrong with a line; ``last`` is the largest index allowed."""
    label, *rest = line.split("#", 1)[0].split() or [""]
    if label:
        yield from _label_problems(label)
        yield from _feature_problems(rest[1:] if rest and rest[0].startswith("qid:") else rest, options, last)


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
        if not digits.isdecimal() or len(left) > len(digits) + 1 or not right:
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
    try:
        return float(text)
    except ValueError:
        return None
