"""Theorems and experiments by name: found in the papers' folders, not registered anywhere."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, final

from sgdone import papers
from sgdone.interfaces.method import names
from sgdone.message_text import did_you_mean
from sgdone.papers.experiment import Experiment

_SOURCE = re.compile(r"(?P<paper>.*\(\d{4}\)), (?P<place>.*?)\.?")
_PARAMETER = re.compile(r"(?P<names>\w+(?:, \w+)*) : ")


@final
@dataclass(frozen=True)
class Statement:
    """A theorem as a function, described by its docstring.

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
        """Meaning of the number."""
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
        """Conditions that must hold, whether or not the function can check them."""
        stated = (text for text in self._paragraphs if text.startswith("Assumes "))
        return next(stated, "").removeprefix("Assumes ")

    @property
    def signature(self) -> inspect.Signature:
        """Names, order and defaults of the arguments."""
        return inspect.signature(self.function)

    @property
    def parameters(self) -> dict[str, str]:
        """Descriptions of the parameters, by name."""
        described: dict[str, str] = {}
        section = re.split(r"^[A-Z]\w+\n-+\n", inspect.getdoc(self.function) or "", flags=re.MULTILINE)[1]
        for entry in re.split(r"\n(?=\w)", section.strip()):
            head, _, text = entry.partition("\n")
            found = _PARAMETER.match(head)
            if found:
                described.update(dict.fromkeys(found["names"].split(", "), " ".join(text.split())))
        return {name: described[name] for name in self.signature.parameters}

    @property
    def _paragraphs(self) -> list[str]:
        return [" ".join(text.split()) for text in re.split(r"\n\s*\n", inspect.getdoc(self.function) or "")]

    @property
    def _source(self) -> re.Match[str]:
        found = _SOURCE.fullmatch(self._paragraphs[1])
        if found is None:
            raise ValueError(f"the second paragraph of {self.name}'s docstring names no paper and theorem")
        return found


def _folders() -> Iterator[ModuleType]:
    for folder in pkgutil.iter_modules(papers.__path__, f"{papers.__name__}."):
        if folder.ispkg:
            yield importlib.import_module(folder.name)


def statements() -> dict[str, Statement]:
    """Every statement by its function's name: what the files of each paper's theory list in ``__all__``.

    Examples
    --------
    >>> statements()["angle_bound"].place
    'Theorem 7, eq. (42)'
    """
    found = {}
    for folder in _folders():
        theory = importlib.import_module(f"{folder.__name__}.theory")
        files = [file.name for file in pkgutil.iter_modules(getattr(theory, "__path__", ())) if file.name[0] != "_"]
        for module in (theory, *(importlib.import_module(f"{theory.__name__}.{file}") for file in files)):
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                if inspect.isfunction(thing) and thing.__module__ == module.__name__:
                    found[name] = Statement(thing)
    return found


def all_experiments() -> dict[str, type[Experiment[Any, Any]]]:
    """Every experiment by its name, in alphabetical order."""
    return dict(sorted(item for folder in _folders() for item in names(Experiment, folder).items()))


def find(name: str) -> type[Experiment[Any, Any]]:
    """The experiment of that name; names take ``-`` or ``_``.

    Examples
    --------
    >>> find("termination_sgima")
    Traceback (most recent call last):
        ...
    ValueError: no experiment is called 'termination_sgima'. Did you mean 'termination-sigma'? See --list
    """
    known = all_experiments()
    key = name.lower().replace("_", "-")
    if key not in known:
        raise ValueError(f"no experiment is called {name!r}.{did_you_mean(key, known)} See --list")
    return known[key]
