"""Lines of VW files that the compiled reader does not take: what is wrong with one, or the same in others."""

import re
from typing import NoReturn

import numpy as np

from sgdone.readers.table import ReadOptions, reads_as_number, shortened

_BLANKS = re.compile(r"[ \t\r]+")


def rewritten(line: bytes, options: ReadOptions) -> bytes:
    """A line as the compiled reader takes it; raises ValueError if something is wrong with it.

    A feature without a name, such as ``:2``, is named by its place among these in its namespace: ``0``, ``1``, …, which
    have the same hashes in Vowpal Wabbit.

    Examples
    --------
    >>> from pathlib import Path
    >>> rewritten(b"+1 2 0 'a_tag|f:0.5 a :2 :3e1 b:1", ReadOptions(Path("t.vw")))
    b'1.0 2.0 |f:0.5 a 0:2.0 1:30.0 b:1.0'
    """
    # Names that are not UTF-8 keep their bytes.
    text = line.decode("utf-8", "surrogateescape").strip(" \t\r\n")
    head, bar, rest = text.partition("|")
    if not bar:
        raise ValueError(
            f"has no '|' between the label and the features ({_shown(text)}): write '1 | name:value name:value'"
        )
    numbers = _label(head, options)
    spaces = [_namespace(space, options) for space in rest.split("|")]
    return " ".join([*map(repr, numbers), *spaces]).encode("utf-8", "surrogateescape")


def _label(head: str, options: ReadOptions) -> list[float]:
    """The label and the weight, if given."""
    words = _BLANKS.split(head)
    # As in Vowpal Wabbit: what is directly before the bar is a tag.
    tag = words.pop() or (words.pop() if len(words) > 1 and words[-1].startswith("'") else "")
    words = [word for word in words if word]
    if not words:
        if options.require_label and not options.skip_unlabelled:
            hint = f": {_shown(tag)} directly before '|' is a tag. Write '{tag} |'" if reads_as_number(tag) else ""
            raise ValueError(f"has no label{hint or ': write a number before the first |'}")
        return []
    if len(words) > 3:
        raise ValueError(f"has {len(words)} words before the first '|': a label, a weight and a tag are allowed")
    kinds = ("label", "weight", "initial prediction")
    numbers = [_number(word, f"the {kind} {_shown(word)}") for word, kind in zip(words, kinds, strict=False)]
    for word, number, kind in zip(words, numbers, kinds, strict=False):
        if not np.isfinite(number):
            raise ValueError(f"the {kind} is {_shown(word)}: drop the row")
    if len(numbers) > 1 and numbers[1] < 0:
        raise ValueError(f"the weight {words[1]} is negative: weights are at least 0")
    if len(numbers) > 2 and numbers[2] != 0:
        raise ValueError(f"has an initial prediction ({words[2]}), which is not supported: remove the third number")
    return numbers[:2]


def _namespace(text: str, options: ReadOptions) -> str:
    """A namespace with its features, in the common form."""
    name, *features = _BLANKS.split(text)
    space, colon, weight = name.partition(":")
    if colon and not space:
        raise ValueError(f"'|{_cut(name)}' has no name of a namespace before ':'")
    scale = _number(weight, f"the value {_shown(weight)} of the namespace {_shown(space)}") if colon else 1.0
    if not np.isfinite(scale):
        raise ValueError(f"the value of the namespace {_shown(space)} is {_shown(weight)}: write a finite number")
    words, unnamed = [f"|{space}:{scale!r}" if colon else f"|{space}"], 0
    for feature in features:
        if not feature:
            continue
        label, colon, value = feature.partition(":")
        if not label:
            label, unnamed = str(unnamed), unnamed + 1
        number = _number(value, f"feature {_shown(label)}: {_shown(value)}") if colon else 1.0
        if not (options.allow_missing or np.isfinite(number * scale)):
            _raise_not_finite(label, value, number)
        words.append(f"{label}:{number!r}" if colon else label)
    return " ".join(words)


def _raise_not_finite(label: str, value: str, number: float) -> NoReturn:
    if np.isnan(number):
        raise ValueError(f"feature {_shown(label)}: missing value ({value}): impute or drop it")
    raise ValueError(f"feature {_shown(label)}: infinite value ({_cut(value)}): clip or drop it")


def _number(text: str, what: str) -> float:
    if not (text.isascii() and reads_as_number(text)):
        raise ValueError(f"{what} is not a number")
    return float(text)


def _shown(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return shortened(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
