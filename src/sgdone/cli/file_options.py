"""How data files are read: options that several commands share."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from sgdone.cli.errors import usage
from sgdone.message_text import did_you_mean
from sgdone.tables.kinds import CHOICES

_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}


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

    def notes(self) -> dict[str, str]:
        """What ``predict`` and ``summary`` must know to read rows alike, for a model file."""
        notes = {"zero_based": json.dumps(self.zero_based)}
        if not self.header:
            notes["header"] = "false"
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
