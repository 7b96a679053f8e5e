"""Every statement of the folder, read off the functions and their docstrings: nothing is registered."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

_SOURCE = re.compile(r"(?P<paper>.*\(\d{4}\)), (?P<place>.*?)\.?")
_PARAMETER = re.compile(r"(?P<names>\w+(?:, \w+)*) : ")


@final
@dataclass(frozen=True)
class Statement:
    """A function and what its docstring says of it.

    The first paragraph is the meaning, the second the source ("Xu (2011), Lemma 1."), and a later one, which begins
    with "Assumes", the assumptions.
    """

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def meaning(self) -> str:
        """What the number is, in a line."""
        return self._paragraphs[0]

    @property
    def paper(self) -> str:
        """Authors and year."""
        return self._source["paper"]

    @property
    def place(self) -> str:
        """The theorem, lemma or equation."""
        return self._source["place"]

    @property
    def assumptions(self) -> str:
        """What must hold, whether the function can see it or not."""
        told = (text for text in self._paragraphs if text.startswith("Assumes "))
        return next(told, "").removeprefix("Assumes ")

    @property
    def signature(self) -> inspect.Signature:
        """Names, order and defaults of the arguments."""
        return inspect.signature(self.function)

    @property
    def parameters(self) -> dict[str, str]:
        """What each parameter is, by name."""
        told: dict[str, str] = {}
        section = re.split(r"^[A-Z]\w+\n-+\n", inspect.getdoc(self.function) or "", flags=re.MULTILINE)[1]
        for entry in re.split(r"\n(?=\w)", section.strip()):
            head, _, text = entry.partition("\n")
            found = _PARAMETER.match(head)
            if found:
                told.update(dict.fromkeys(found["names"].split(", "), " ".join(text.split())))
        return {name: told[name] for name in self.signature.parameters}

    @property
    def _paragraphs(self) -> list[str]:
        return [" ".join(text.split()) for text in re.split(r"\n\s*\n", inspect.getdoc(self.function) or "")]

    @property
    def _source(self) -> re.Match[str]:
        found = _SOURCE.fullmatch(self._paragraphs[1])
        if found is None:
            raise ValueError(f"the second paragraph of {self.name}'s docstring names no paper and theorem")
        return found


def statements() -> dict[str, Statement]:
    """Every statement by its function's name: what the files of this folder define and list in ``__all__``.

    Examples
    --------
    >>> statements()["angle_bound"].place
    'Theorem 7, eq. (42)'
    """
    package = importlib.import_module("sgdone.theory")
    found = {}
    for file in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if file.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(file.name)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isfunction(thing) and thing.__module__ == module.__name__:
                found[name] = Statement(thing)
    return found
