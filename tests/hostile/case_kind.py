"""What a kind of case is, and which kinds there are."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

#: Says what the case is about to do, so that it is known if the process dies.
Note = Callable[[str], None]


class Kind(NamedTuple):
    """A kind of case: its share of a run, how to prepare, and one case.

    ``prepare(folder, few_forms)`` returns what all cases use; with ``few_forms`` it keeps to losses, methods and
    storages that few compiled loops can serve. ``run(material, random, folder, note)`` returns if the input was
    accepted, raises `Refused` if it was refused as it should be, and anything else if there is a defect.
    """

    name: str
    share: int
    run: Callable[[Any, Random, Path, Note], None]
    prepare: Callable[[Path, bool], Any] = lambda folder, few_forms: None


class Case(NamedTuple):
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}/{self.number}"

    @classmethod
    def parse(cls, text: str) -> "Case":
        kind, _, number = text.partition("/")
        if kind not in kinds() or not number.isdecimal():
            raise ValueError(f"{text!r} is no case: write one of {', '.join(kinds())}, a slash and a number")
        return cls(kind, int(number))

    @property
    def random(self) -> Random:
        return Random(str(self))


@lru_cache(maxsize=1)
def kinds() -> dict[str, Kind]:
    """The ``KIND`` of every file in `kinds`, by name."""
    return {module.KIND.name: module.KIND for module in modules_of("kinds")}


def modules_of(folder: str) -> list[Any]:
    """All modules of a folder beside this file."""
    package = importlib.import_module(f".{folder}", __package__)
    return [
        importlib.import_module(f"{package.__name__}.{file.name}") for file in pkgutil.iter_modules(package.__path__)
    ]
