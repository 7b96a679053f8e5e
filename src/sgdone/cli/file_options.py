"""How data files are read: options that several commands share."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from sgdone.cli.errors import usage
from sgdone.message_text import did_you_mean
from sgdone.readers.row_input import MAX_MEMORY, checked_memory
from sgdone.tables.kinds import CHOICES

_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
#: Bits of a hash of features at most.
_MOST_BITS = 31


@final
@dataclass(frozen=True)
class FileOptions:
    """Options for reading files; ``types`` are kinds of columns by name."""

    label: str | None = None
    drop: Sequence[str] = ()
    weight: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    header: bool = True
    zero_based: bool = False
    n_features: int | None = None
    bits: int | None = None
    #: Bytes that buffers may take: rows that need more than a quarter are read in parts.
    max_memory: int = MAX_MEMORY
    #: Folder for the encoded rows of a fit that reads them several times.
    cache: Path | None = None

    def reading(self, as_strings: Iterable[str] = ()) -> dict[str, Any]:
        """The parameters of `ReadOptions` that these options decide; columns of other strings stay strings too."""
        return {
            "label": self.label,
            "weight": self.weight,
            "drop": self.drop,
            "as_strings": [*self.types, *as_strings],
            "separator": self.separator,
            "header": self.header,
            "zero_based": self.zero_based,
            "bits": self.bits,
        }

    def notes(self) -> dict[str, str]:
        """What ``predict`` and ``summary`` must know to read rows alike, for a model file."""
        notes = {"zero_based": json.dumps(self.zero_based)}
        if not self.header:
            notes["header"] = "false"
        if self.bits is not None:
            notes["bits"] = str(self.bits)
        return notes | ({} if self.separator is None else {"separator": self.separator})

    def like_training_data(self, notes: Mapping[str, str]) -> "FileOptions":
        """These options, and where they say nothing, those of the training data."""
        return replace(
            self,
            label=self.label or notes.get("label"),
            weight=notes.get("weight"),
            separator=self.separator or notes.get("separator"),
            header=self.header and notes.get("header") != "false",
            zero_based=notes.get("zero_based") == "true",
            bits=int(notes["bits"]) if "bits" in notes else None,
        )


def parsed_separator(text: str | None) -> str | None:
    r"""The value of ``--separator``: one character, or its name.

    Examples
    --------
    >>> parsed_separator("tab"), parsed_separator("|")
    ('\t', '|')
    """
    if text is None:
        return None
    with usage("--separator"):
        found = _SEPARATORS.get(text, text)
        if len(found) != 1 or found in '"\r\n' or not found.isascii():
            raise ValueError(f"{text!r} is neither one character nor {', '.join(_SEPARATORS)}")
    return found


def parsed_memory(text: str | None) -> int:
    """The value of ``--max-memory``: a number of bytes, or as in 500MB and 2GB.

    Examples
    --------
    >>> parsed_memory("500MB"), parsed_memory("1.5 GiB"), parsed_memory("2000000"), parsed_memory(None)
    (500000000, 1610612736, 2000000, 1000000000)
    """
    if text is None:
        return MAX_MEMORY
    with usage("--max-memory"):
        found = _SIZE.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not a size such as 500MB, 2GB or 2000000000")
        number, power, binary = found.groups()
        return checked_memory(float(number) * (1024 if binary else 1000) ** _POWERS[power.lower()])


def parsed_bits(bits: int | None) -> int | None:
    """The value of ``--bits``."""
    with usage("--bits"):
        if bits is not None and not 1 <= bits <= _MOST_BITS:
            raise ValueError(f"{bits} is not between 1 and {_MOST_BITS}")
    return bits


def parsed_types(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``--types``.

    Examples
    --------
    >>> parsed_types(["zip=category,height, in cm=number", "id=drop"])
    {'zip': 'category', 'height, in cm': 'number', 'id': 'drop'}
    """
    with usage("--types"):
        types = dict(pair for text in texts for pair in pairs(text, "zip=category"))
        for name, kind in types.items():
            if kind not in CHOICES:
                known = ", ".join(sorted(CHOICES))
                raise ValueError(
                    f"unknown kind {kind!r} of column {name!r}.{did_you_mean(kind, map(str, CHOICES))} Known: {known}"
                )
    return types


def pairs(text: str, example: str) -> list[tuple[str, str]]:
    """Names and values as in ``a=1,b=2``; a name may contain commas and equals signs.

    Examples
    --------
    >>> pairs("no, thanks=1,a=b=2", "a=1")
    [('no, thanks', '1'), ('a=b', '2')]
    """
    found: list[tuple[str, str]] = []
    begun = ""
    for part in text.split(","):
        name, equals, value = f"{begun}{part}".rpartition("=")
        if equals:
            found.append((name.strip(), value.strip()))
        begun = "" if equals else f"{begun}{part},"
    if begun or not found or not all(name and value for name, value in found):
        raise ValueError(f"{text!r} is not a list like {example}")
    return found
